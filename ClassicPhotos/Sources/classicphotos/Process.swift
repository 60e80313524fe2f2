import ArgumentParser
import DurableJobs
import PhotoImaging
import PhotoJobs
import PhotoLibrary
import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct Process: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "process",
        abstract: "Writes a filtered copy of each photo into a folder.",
        discussion: """
            A copy keeps the metadata, the color depth, the frames and the file time of its \
            photo, as far as its format can hold them. A file appears in the folder only when it \
            is complete, even if the program is killed. The program replaces its own earlier \
            results of the same photos, and no other file unless --overwrite is given.

            With --queue, the photos become jobs in a database, which any number of "classicphotos \
            work" share. Ctrl-C then detaches: the jobs stay in the queue, workers go on, and the \
            same command attaches again. This program works on the queue, too, unless --no-work is \
            given. Results of workers that do not see the folder wait in the queue until this \
            program writes them to the folder.

            A hidden file in the folder records the photo and the options of each result. The \
            next run skips photos whose results are up to date.

            In a local text file, a line without http:// or https:// is a path, relative to the \
            folder of that file.

            \(ExitCodes.description)
            """)

    @Argument(
        help: ArgumentHelp(
            "Folders, lists or pictures: paths or URLs. \"-\" reads a list from standard input.",
            valueName: "source"),
        completion: .file())
    var sources: [String]

    @Flag(
        name: [.customShort("0"), .customLong("null")],
        help: "With \"-\": entries end with a zero byte, as find -print0 writes them.")
    var isZeroSeparated = false

    @Option(
        name: .shortAndLong, help: "The folder for the results, created if necessary.",
        completion: .directory)
    var out: String

    @OptionGroup(title: "What to make") var recipeOptions: RecipeOptions

    @OptionGroup(title: "Which photos") var selection: SelectionOptions

    @Flag(help: "Also replace files that are not earlier results of the same photo.")
    var overwrite = false

    @Flag(help: "Also process photos whose results are up to date.")
    var again = false

    @Flag(name: .customLong("dry-run"), help: "Print what would be done, and write nothing.")
    var isDryRun = false

    @Flag(
        name: .customLong("watch"),
        help: "Keep running, and process new and changed photos as they appear, until Ctrl-C.")
    var watches = false

    @Flag(name: .customLong("json"), help: "Print one line of JSON for each photo.")
    var printsJSON = false

    @OptionGroup var capacity: CapacityOptions

    @OptionGroup(title: "Downloads and limits") var downloading: DownloadOptions

    @OptionGroup(title: "Work shared with other processes") var queueing: QueueOption

    @Flag(
        name: .customLong("no-work"),
        help: "With --queue: only store the photos and wait. Workers process them.")
    var isIdle = false

    @OptionGroup var timelineOption: TimelineOption

    func validate() throws {
        guard !out.isEmpty else { throw ValidationError("--out must name a folder.") }
        if sources.count(where: { $0 == "-" }) > 1 {
            throw ValidationError("\"-\" can be given only once.")
        }
        if isZeroSeparated, !sources.contains("-") {
            throw ValidationError("-0 needs \"-\", a list on standard input.")
        }
        let queue = try queueing.address()
        if isIdle, queue == nil { throw ValidationError("--no-work needs --queue.") }
        guard watches else { return }
        if queue != nil {
            throw ValidationError(
                "--watch cannot be combined with a queue. Use --queue none if "
                    + "\(QueueOption.variable) is set.")
        }
        if isDryRun { throw ValidationError("--watch cannot be combined with --dry-run.") }
        if sources.contains("-") {
            throw ValidationError("--watch cannot be combined with \"-\", which can be read once.")
        }
    }

    func run() async throws {
        let folder = RawArguments.bytes(of: out)
        let (failures, isInterrupted) = try await stopping {
            let recipe = try recipeOptions.makeRecipe()
            // Check the folder first: if it is unusable, nothing should be downloaded.
            try OutputFolder.check(folder)
            return try await PhotoDownloader.run(
                limits: downloading.downloadLimits, allowing: downloading.allowedHosts
            ) { downloader in
                let loaded = try await load(with: downloader)
                for line in loaded.skippedFileLines { Terminal.writeError("\(line)\n") }
                if isDryRun {
                    // A dry run stores nothing, either.
                    return (
                        try await dryRun(
                            loaded, recipe, folder: folder, downloader,
                            asking: try queueing.address()), false
                    )
                }
                if let address = try queueing.address() {
                    return try await process(
                        loaded, recipe, into: folder, with: downloader, sharing: address)
                }
                return try await process(loaded, recipe, into: folder, with: downloader)
            }
        }
        if isInterrupted, !watches { throw ExitCode(ExitCodes.interrupted) }
        if failures > 0 { throw ExitCode(ExitCodes.failure) }
    }

    private func load(with downloader: PhotoDownloader) async throws -> LoadedSource {
        try await LoadedSource(
            all: sources, enteringSubfolders: selection.recursive,
            followingLinks: selection.follow, skippingRaw: selection.raw.skips,
            excluding: selection.exclude,
            isZeroSeparated: isZeroSeparated, with: downloader)
    }

    func options(_ recipe: PhotoRecipe, _ folder: OutputFolder) -> PhotoBatch.Options {
        var options = PhotoBatch.Options(recipe: recipe, folder: folder)
        options.limits = downloading.limits
        options.downloads = downloading.downloads
        options.redoesAll = again
        options.capacity = capacity.pixels
        return options
    }

    private func process(
        _ loaded: LoadedSource, _ recipe: PhotoRecipe, into path: [UInt8],
        with downloader: PhotoDownloader
    ) async throws -> (failures: Int, isInterrupted: Bool) {
        let folder = try OutputFolder(path: path, overwrites: overwrite)
        let records = try folder.recordsWithoutResults(of: loaded.list.records)
        for note in notes(on: loaded, folder, records) { Terminal.writeError("\(note)\n") }
        return try await timelineOption.recording { timeline in
            let batch = PhotoBatch(
                options: options(recipe, folder), downloader: downloader, timeline: timeline)
            let style: ProgressReport.Style =
                printsJSON ? .json : Terminal.canRewriteLines ? .bar : .lines
            let report = ProgressReport(
                total: records.count, remark: loaded.remark, folder: folder.description,
                style: style)
            let (failure, isInterrupted) = await Interrupt.run {
                // Before the run: a photo that fails while it is copied changes afterwards.
                let seen = watches ? Self.versions(of: records, batch) : [:]
                let failure = await batch.run(records) { await report.add($0, $1) }
                guard watches, failure == nil, !Task.isCancelled else { return failure }
                await report.beginWatching()
                return await watch(batch, folder, report, downloader, after: seen)
            }
            let ending: ProgressReport.Ending =
                isInterrupted
                ? watches ? .watched : .interrupted
                : failure == nil ? .complete : .stopped
            return await (report.finish(ending), isInterrupted)
        }
    }

    /// The notes that a person should see before the work starts.
    func notes(
        on loaded: LoadedSource, _ folder: OutputFolder, _ records: [PhotoRecord]
    ) -> [String] {
        let count = loaded.list.records.count - records.count
        let isInSource = loaded.folders.contains { folder.isInside($0) }
        let results =
            count == 1 ? "1 result of an earlier run" : "\(count) results of earlier runs"
        switch (isInSource, count) {
        case (true, 0):
            return ["Note: \(folder) is inside the source. Results there are not processed again."]
        case (true, _): return ["Note: \(folder) is inside the source. Skipping \(results)."]
        case (false, 0): return []
        case (false, _): return ["Note: Skipping \(results) in \(folder)."]
        }
    }

    // MARK: Dry run

    /// Says what a run would do; returns the number of photos that would certainly fail.
    private func dryRun(
        _ loaded: LoadedSource, _ recipe: PhotoRecipe, folder path: [UInt8],
        _ downloader: PhotoDownloader, asking address: PhotoQueueAddress?
    ) async throws -> Int {
        let folder = try OutputFolder(readingOnly: path)
        let records = try folder.recordsWithoutResults(of: loaded.list.records)
        let batch = PhotoBatch(options: options(recipe, folder), downloader: downloader)
        var states: [Int: JobState] = [:]
        if let address {
            try checkForQueue(recipe)
            states = try await jobStates(of: records, batch, folder, in: address)
        }
        var (current, failures) = (0, 0)
        for (position, plan) in batch.plan(records).enumerated() {
            let record = records[position]
            switch plan {
            case .process(let path, _) where states[position] != nil,
                .ask(let path) where states[position] != nil:
                let state = states[position].map { ", whose job is \($0)" } ?? ""
                StandardOutput.writeLine(
                    "Would wait for \(ProgressReport.line(path.description))\(state)")
            case .process(let path, _):
                StandardOutput.writeLine(
                    "Would write \(ProgressReport.line(path.description))")
            case .ask(let path):
                StandardOutput.writeLine(
                    "Would ask whether \(ProgressReport.line(record.name)) has changed, for "
                        + "\(ProgressReport.line(path.description))")
            case .unchanged: current += 1
            case .failed(let failure):
                failures += 1
                let reason = ProgressReport.line(failure.reasonWithFlag)
                Terminal.writeError("\(ProgressReport.line(record.name)): \(reason)\n")
            }
        }
        let count = records.count - current - failures - states.count
        var sentence = "Would process \(count) of \(records.count) "
        sentence += records.count == 1 ? "photo." : "photos."
        if let remark = loaded.remark { sentence += " \(remark)" }
        if current > 0 { sentence += " \(current) up to date." }
        if !states.isEmpty { sentence += " \(states.count) in the queue already." }
        if failures > 0 { sentence += " \(failures) would fail; the reasons are above." }
        StandardOutput.writeLine(sentence + " Nothing was written.")
        return failures
    }
}

// MARK: Watching

extension Process {
    /// Looks for new and changed photos after changes in the folders of the photos, and once a
    /// minute, until the task is cancelled.
    ///
    /// While files change, a look follows two seconds after the previous one. A photo on the web is
    /// not asked for again. A photo that failed is tried again when it has changed. A file that was
    /// changed within the last second may still be incomplete, so it waits for the next look.
    ///
    /// - Parameter versions: the versions for which photos were processed, by name.
    /// - Returns: the failure that stopped the batch; nil after a cancellation.
    private func watch(
        _ batch: PhotoBatch, _ folder: OutputFolder, _ report: ProgressReport,
        _ downloader: PhotoDownloader, after versions: [String: PhotoVersion]
    ) async -> PhotoFailure? {
        var seen = versions
        var failure: PhotoFailure?
        await FolderWatch.look(pause: .seconds(2)) { changes in
            // A source that is missing for a moment, or has no photos, is an empty list.
            let loaded = try? await load(with: downloader)
            let coverage = loaded.map { changes.watch($0.list) } ?? .incomplete
            let records = (try? folder.recordsWithoutResults(of: loaded?.list.records ?? [])) ?? []
            var changed: [Int] = []
            var isWaiting = coverage != .complete
            for (position, plan) in batch.plan(records).enumerated() {
                guard case .process(_, let version?) = plan else { continue }
                let name = records[position].name
                guard !version.isFresh() else {
                    isWaiting = isWaiting || seen[name] != version
                    continue
                }
                if seen.updateValue(version, forKey: name) != version { changed.append(position) }
            }
            await report.expect(changed.map { records[$0].name })
            failure = await batch.run(records, only: changed) { await report.add($0, $1) }
            return failure == nil ? isWaiting : nil
        }
        return failure
    }

    /// The versions of the files that a run would process, by the photos' names.
    private static func versions(
        of records: [PhotoRecord], _ batch: PhotoBatch
    ) -> [String: PhotoVersion] {
        var versions: [String: PhotoVersion] = [:]
        for (record, plan) in zip(records, batch.plan(records)) {
            if case .process(_, let version?) = plan { versions[record.name] = version }
        }
        return versions
    }
}

/// The options that decide what is made of a photo.
struct RecipeOptions: ParsableArguments {
    @OptionGroup var filtering: FilterOptions

    @Option(
        help:
            "Shrink pictures to fit into a square with this side, in pixels; default: full size.")
    var size: Int?

    @Option(
        help: ArgumentHelp(
            """
            The format of the results, or its file name extension; default: the format of each \
            photo, or JPEG if that format cannot be written.
            """,
            valueName: "format"))
    var format: ImageFormat?

    @Option(help: "The quality of JPEG, WebP, HEIC and AVIF files, 1 to 100; default: 88.")
    var quality: Int?

    @Flag(
        help: """
            Remove metadata (EXIF, XMP, IPTC and profiles), which may contain the place where a \
            photo was taken.
            """)
    var strip = false

    @Flag(help: "Process incomplete and damaged files as far as they can be read.")
    var acceptDamaged = false

    @Option(
        help: ArgumentHelp(
            """
            A file in YAML or JSON with the options above, for example {"filters": ["sepia=0.8"], \
            "size": 1600}. Options on the command line replace those of the file.
            """,
            valueName: "file"),
        completion: .file(extensions: ["json", "yaml", "yml"]))
    var recipe: String?

    func validate() throws {
        try Self.check(size: size, quality: quality, format: format) { ValidationError("--\($0)") }
    }

    private static func check(
        size: Int?, quality: Int?, format: ImageFormat?, _ error: (String) -> any Error
    ) throws {
        if let size, !(1...30_000).contains(size) {
            throw error("size must be between 1 and 30000 pixels.")
        }
        if let quality, !(1...100).contains(quality) {
            throw error("quality must be between 1 and 100.")
        }
        if let format, !format.canEncode {
            throw error("format \(format.rawValue) can be read, but there is no encoder for it.")
        }
    }

    /// The options, after the values of a recipe file.
    func makeRecipe() throws -> PhotoRecipe {
        let file = try recipe.map { try RecipeFile(path: $0) } ?? RecipeFile()
        try Self.check(size: file.size, quality: file.quality, format: file.format) {
            Stop("The recipe \(recipe ?? "") is not valid: \($0)")
        }
        let size = size ?? file.size
        return PhotoRecipe(
            filters: try filtering.filters() ?? file.filters ?? [],
            size: size.map { PixelSize(width: $0, height: $0) }, format: format ?? file.format,
            quality: quality ?? file.quality ?? 88, keepsMetadata: !(strip || file.strip ?? false),
            acceptsDamage: acceptDamaged || file.acceptDamaged ?? false)
    }
}

/// The options that select photos of the sources.
struct SelectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Skip photos and folders whose names match a pattern such as '*.gif' or 'raw/*'. This \
            option can be repeated.
            """,
            valueName: "pattern"))
    var exclude: [String] = []

    @Flag(inversion: .prefixedNo, help: "Also search in subfolders.")
    var recursive = true

    @Flag(help: "Also follow links that lead out of a folder.")
    var follow = false

    @OptionGroup var raw: RawOption
}
