public import ArgumentParser
public import Imaging
import PhotoPipeline

struct Process: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Puts a filtered copy of each photo into a folder.",
        discussion: """
            Files appear completely or not at all, whatever stops the program. An existing file is \
            replaced only by a result of the same photo, unless --overwrite is given; a hidden \
            file in the folder records the photo behind each result. Exit codes: 0 if every photo \
            was written; 1 if a photo, the timeline or the output could not be written; 2 if the \
            work could not start; 130 if it was interrupted.
            """)

    @Argument(help: "A folder, a list or a picture: a path or a URL.")
    var source: String

    @OptionGroup var filtering: FilterOptions

    @Option(name: .shortAndLong, help: "The folder for the results; created if necessary.")
    var out: String

    @Flag(help: "Also replace files in that folder that are not results of the same photo.")
    var overwrite = false

    @Option(
        help:
            "The side, in pixels, of the square that pictures shrink to fit; default: full size.")
    var size: Int?

    @Option(help: "The file format: jpeg, png, webp, tiff or gif; default: each photo's own.")
    var format: ImageFormat?

    @Option(help: "The quality of JPEG and WebP files, 1 to 100.")
    var quality: Int = 88

    @OptionGroup var downloading: DownloadOptions

    @Option(
        help: """
            The maximum memory for pictures, in megabytes; default: a quarter of the machine's, \
            at most 1024.
            """)
    var memory: Int?

    @OptionGroup var timelineOption: TimelineOption

    func validate() throws {
        if let memory, !(64...1_048_576).contains(memory) {
            throw ValidationError("--memory must be between 64 and 1048576 megabytes.")
        }
        if let size, !(1...30_000).contains(size) {
            throw ValidationError("--size must be between 1 and 30000 pixels.")
        }
        guard (1...100).contains(quality) else {
            throw ValidationError("--quality must be between 1 and 100.")
        }
        if let format, !format.canEncode {
            throw ValidationError("--format \(format.rawValue) can be read, but not written.")
        }
        guard !out.isEmpty else { throw ValidationError("--out must name a folder.") }
        _ = try filtering.filters()
    }

    func run() async throws {
        let folder = RawArguments.bytes(of: out)
        let (failures, isInterrupted) = try await stopping {
            // Check the folder first: if it is unusable, nothing should be downloaded.
            try OutputFolder.check(folder)
            return try await PhotoDownloader.run(allowing: downloading.allowedHosts) { downloader in
                let loaded = try await LoadedSource(source, with: downloader)
                return try await process(loaded, into: folder, with: downloader)
            }
        }
        if isInterrupted { throw ExitCode(130) }
        if failures > 0 { throw ExitCode(1) }
    }

    private func process(
        _ loaded: LoadedSource, into folder: [UInt8], with downloader: PhotoDownloader
    ) async throws -> (failures: Int, isInterrupted: Bool) {
        let folder = try OutputFolder(path: folder, overwrites: overwrite)
        let records = try folder.recordsWithoutResults(of: loaded.list.records)
        for note in notes(on: loaded, folder, records) { Terminal.writeError("\(note)\n") }
        var options = PhotoBatch.Options(
            filters: try filtering.filters(),
            size: size.map { PixelSize(width: $0, height: $0) }, format: format, quality: quality,
            folder: folder)
        if let memory { options.capacity = PixelCapacity(bytes: memory << 20) }
        return try await timelineOption.recording { timeline in
            let batch = PhotoBatch(options: options, downloader: downloader, timeline: timeline)
            let report = ProgressReport(total: records.count, remark: loaded.remark)
            let (failure, isInterrupted) = await Interrupt.run {
                await batch.run(records) { record, result in await report.add(record, result) }
            }
            let ending: ProgressReport.Ending =
                isInterrupted ? .interrupted : failure == nil ? .complete : .stopped
            return await (report.finish(folder: folder.description, ending), isInterrupted)
        }
    }

    /// The notes that a person should see before the work starts.
    private func notes(
        on loaded: LoadedSource, _ folder: OutputFolder, _ records: [PhotoRecord]
    ) -> [String] {
        var notes = loaded.unsupportedFileLines
        let count = loaded.list.records.count - records.count
        let isInSource = loaded.folder.map { folder.isInside($0) } ?? false
        let results =
            count == 1 ? "1 result of an earlier run" : "\(count) results of earlier runs"
        switch (isInSource, count) {
        case (true, 0):
            notes.append(
                "Note: \(folder) is inside the source. Results there are not processed again.")
        case (true, _):
            notes.append("Note: \(folder) is inside the source. Skipping \(results).")
        case (false, 0): break
        case (false, _): notes.append("Note: Skipping \(results) in \(folder).")
        }
        return notes
    }
}

extension ImageFormat: ExpressibleByArgument {}
