public import ArgumentParser
public import Imaging
import PhotoPipeline

struct Process: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Puts a filtered copy of each photo into a folder.",
        discussion: """
            Files appear complete or not at all, whatever stops the program. One that exists in the \
            folder is replaced. Exit codes: 0 if every photo was written, 1 if some were not, or \
            the timeline was not, 2 if nothing could be started, 130 if it was interrupted.
            """)

    @Argument(help: "A folder, a list or a picture: a path or a URL.")
    var source: String

    @OptionGroup var filtering: FilterOptions

    @Option(name: .shortAndLong, help: "The folder for the results; made if need be.")
    var out: String

    @Option(
        help:
            "The side of the square that pictures are shrunk to fit in, in pixels; else full size.")
    var size: Int?

    @Option(help: "The format of the files: jpeg, png, webp, tiff or gif; else each photo's own.")
    var format: ImageFormat?

    @Option(help: "The quality of JPEG and WebP files, 1 to 100.")
    var quality: Int = 88

    @OptionGroup var downloading: DownloadOptions

    @OptionGroup var timelineOption: TimelineOption

    func validate() throws {
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
        let (failures, isInterrupted) = try await stopping {
            try await PhotoDownloader.run(allowing: downloading.allowedHosts) { downloader in
                let loaded = try await LoadedSource(source, with: downloader)
                return try await process(loaded, with: downloader)
            }
        }
        if isInterrupted { throw ExitCode(130) }
        if failures > 0 { throw ExitCode(1) }
    }

    private func process(
        _ loaded: LoadedSource, with downloader: PhotoDownloader
    ) async throws -> (failures: Int, isInterrupted: Bool) {
        let folder = try OutputFolder(out)
        let records = try folder.recordsToProcess(of: loaded.list.records)
        let options = PhotoBatch.Options(
            filters: try filtering.filters(),
            size: size.map { PixelSize(width: $0, height: $0) }, format: format, quality: quality,
            folder: folder.path)
        return try await timelineOption.recording { timeline in
            let batch = PhotoBatch(options: options, downloader: downloader, timeline: timeline)
            let report = ProgressReport(total: records.count, remark: loaded.remark)
            let isInterrupted = await Interrupt.run {
                await batch.run(records) { record, result in await report.add(record, result) }
            }
            return await (
                report.finish(folder: folder.path, isInterrupted: isInterrupted), isInterrupted
            )
        }
    }
}

extension ImageFormat: ExpressibleByArgument {}
