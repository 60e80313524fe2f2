import FoundationEssentials
import Imaging
import Operations
public import OperationsInsight

/// Processes a whole list of photos and writes the results into a folder.
///
/// A photo whose result is up to date is left out: the result is in the folder, was made with the
/// same recipe, and the photo has not changed since. A photo on the web is then asked for with the
/// validator of its last download.
public struct PhotoBatch: Sendable {
    /// How a batch processes photos.
    public struct Options: Sendable {
        /// What to make of each photo.
        public var recipe: PhotoRecipe
        /// The limits that a picture must meet before it is decoded.
        public var limits = SourceLimits()
        /// The folder for the results.
        public var folder: OutputFolder
        /// The limits on simultaneous work, by number of photos and by memory.
        public var capacity = PixelCapacity.shared
        /// The maximum number of simultaneous downloads.
        public var downloads = 6
        /// Whether to process photos whose results are up to date, too.
        public var redoesAll = false

        /// Creates options.
        public init(recipe: PhotoRecipe, folder: OutputFolder) {
            self.recipe = recipe
            self.folder = folder
        }
    }

    /// The result of the work on one photo.
    public enum Result: Sendable {
        /// The result was written into the folder.
        case written(OutputFile)
        /// The result of an earlier run is up to date.
        case unchanged(OutputPath)
        /// The photo failed, for the given reason.
        case failed(PhotoFailure)
        /// The batch was cancelled before the photo was done.
        case cancelled
    }

    private let options: Options
    private let fingerprint: UInt64
    private let downloader: PhotoDownloader
    private let downloadQueue = OperationQueue()
    private let pixelQueue = OperationQueue()
    private let writeQueue = OperationQueue()
    // The queues in which photos wait for memory: first for their files, then for their pixels.
    private let fileQueue = OperationQueue()
    private let memoryQueue = OperationQueue()

    /// Creates a batch; no work starts before ``run(_:only:report:)``.
    ///
    /// - Parameters:
    ///   - options: how to process each photo, and where to write the results.
    ///   - downloader: downloads the photos; the batch does not shut it down.
    ///   - timeline: records the batch's queues; nil for no recording.
    public init(
        options: Options, downloader: PhotoDownloader, timeline: OperationTimeline? = nil
    ) {
        self.options = options
        self.downloader = downloader
        fingerprint = options.recipe.fingerprint
        downloadQueue.name = "Download queue"
        downloadQueue.maxConcurrentOperationCount = options.downloads
        pixelQueue.name = "Image Filtration queue"
        // The width equals the number of processors, so that priorities decide: photos in progress
        // finish before new ones start.
        pixelQueue.maxConcurrentOperationCount = options.capacity.processors.permits
        for (queue, name) in [(fileQueue, "Files in memory"), (memoryQueue, "Pixels in memory")] {
            queue.name = name
            queue.maxConcurrentOperationCount = photosInMemory
        }
        writeQueue.name = "Write queue"
        for queue in [downloadQueue, pixelQueue, writeQueue, options.folder.publishing] {
            timeline?.record(queue)
        }
    }

    /// The photos that are under way at a time: enough for all processors and downloads.
    private var photosInMemory: Int {
        max(12, options.downloads + 2 * options.capacity.processors.permits)
    }

    /// Processes the list; returns when every photo is done, the task is cancelled, or a problem
    /// affects every photo.
    ///
    /// A full disk or a read-only file system is such a problem. Only a few photos are in memory at
    /// a time, however long the list is.
    ///
    /// - Parameters:
    ///   - records: the photos, as in a ``PhotoList``.
    ///   - positions: the indices of the photos to process; nil for all. The names of the results
    ///     follow from the whole list.
    ///   - report: called with each photo's result, one call at a time, in the order of completion.
    /// - Returns: the failure that stopped the batch; nil if no failure stopped it.
    @discardableResult
    public func run(
        _ records: [PhotoRecord], only positions: [Int]? = nil,
        report: @escaping @Sendable (PhotoRecord, Result) async -> Void
    ) async -> PhotoFailure? {
        let names = names(of: records)
        let photos = OperationQueue()
        // A photo that waits for a download or for memory takes one of these slots, but no thread.
        photos.maxConcurrentOperationCount = photosInMemory
        let reports = OperationQueue()
        reports.maxConcurrentOperationCount = 1
        do {
            try await photos.add(each: positions ?? Array(records.indices), within: photosInMemory)
            { position in
                let record = records[position]
                let result = await process(record, at: position, names)
                // The photo stays under way until it has been reported, so a slow report slows the
                // batch instead of filling the memory.
                await reports.add { await report(record, result) }.finished()
                if let problem = options.folder.problem { throw problem.failure }
            }
        } catch let failure as PhotoFailure {
            return failure
        } catch {
            // The task was cancelled.
        }
        return nil
    }

    private func names(of records: [PhotoRecord]) -> OutputNames {
        OutputNames(of: records, writtenAs: options.recipe.format, in: options.folder.path)
    }

    // MARK: One photo

    private func process(
        _ record: PhotoRecord, at position: Int, _ names: OutputNames
    ) async -> Result {
        if let failure = record.state.failure { return .failed(failure) }
        guard !Task.isCancelled else { return .cancelled }
        let earlier = earlierResult(of: record, at: position, names)
        if let earlier, earlier.isCurrent { return .unchanged(earlier.path) }
        let url = Self.url(of: record)
        let file = options.capacity.file(downloader.maximumSize(of: url))
        let result = await holding(file, in: fileQueue, named: record.name) {
            await process(record, at: position, names, earlier)
        }
        return result ?? .cancelled
    }

    private static func url(of record: PhotoRecord) -> URL {
        guard let url = record.url else {
            preconditionFailure("\(record.name) has no URL, so it should have failed already")
        }
        return url
    }

    /// Runs download → inspect and, once enough memory is available, decode → filter → encode →
    /// write.
    private func process(
        _ record: PhotoRecord, at position: Int, _ names: OutputNames, _ earlier: EarlierResult?
    ) async -> Result {
        let (recipe, capacity, url) = (options.recipe, options.capacity, Self.url(of: record))
        let limits = options.limits.limits(for: url)
        let download = DownloadOperation(url: url, with: downloader, unless: earlier?.photo)
        let inspect = InspectOperation(after: download, limits: limits)
        return await withTaskCancellationHandler {
            downloadQueue.addOperation(download)
            await pixelQueue.addOperations([inspect], waitUntilFinished: true)
            if download.isUnchanged, let earlier { return .unchanged(earlier.path) }
            guard case .produced(let info) = inspect.outcome else {
                return Self.result(of: inspect)
            }
            let format = recipe.format(of: info)
            let stages = Stages(
                download: download, recipe: recipe, format: format, limits: limits,
                capacity: capacity)
            let write = WriteOperation(after: stages.encode, into: options.folder) { format in
                let path = names.path(of: record, at: position, writtenAs: format)
                let version = download.version
                return (path, ResultOrigin(url: url, version: version, recipe: fingerprint))
            }
            let need = PixelCapacity.bytesNeeded(
                for: info, fitting: recipe.size, filters: recipe.filters, format: format,
                keeping: recipe.parts(writtenAs: format))
            return await withTaskCancellationHandler {
                _ = await holding(capacity.memory(need), in: memoryQueue, named: record.name) {
                    await pixelQueue.addOperations(stages.all, waitUntilFinished: false)
                    writeQueue.addOperation(write)
                    await write.finished()
                }
                let frames = stages.frames
                return Self.result(
                    of: write, PhotoRemark.remarks(on: info, frames: frames, recipe: recipe))
            } onCancel: {
                // Writing is not cancelled: it runs only if all of these stages succeeded, and it
                // always runs to its end. So every file in the folder is reported.
                for operation in stages.all { operation.cancel() }
            }
        } onCancel: {
            download.cancel()
            inspect.cancel()
        }
    }

    private static func result(of write: WriteOperation, _ remarks: [PhotoRemark]) -> Result {
        switch write.outcome {
        case .produced(var file):
            file.remarks = remarks
            return .written(file)
        case .failed(let failure): return .failed(failure)
        case .cancelled, .pending: return .cancelled
        }
    }

    /// The result of a stage that did not succeed.
    private static func result(of stage: InspectOperation) -> Result {
        if case .failed(let failure) = stage.outcome { .failed(failure) } else { .cancelled }
    }
}

/// The pixel stages of one photo.
private struct Stages {
    let decode: DecodeOperation
    let filter: FilterOperation
    let encode: EncodeOperation

    init(
        download: DownloadOperation, recipe: PhotoRecipe, format: ImageFormat, limits: ImageLimits,
        capacity: PixelCapacity
    ) {
        decode = DecodeOperation(
            after: download, fitting: recipe.size, keeping: recipe.parts(writtenAs: format),
            limits: limits, acceptingDamage: recipe.acceptsDamage, capacity: capacity)
        filter = FilterOperation(recipe.filters, after: decode, capacity: capacity)
        encode = EncodeOperation(after: filter, quality: recipe.quality, capacity: capacity) {
            format
        }
        // Later stages have higher priority, so that few photos are in memory.
        decode.queuePriority = .low
        encode.queuePriority = .high
    }

    var all: [Operation] { [decode, filter, encode] }

    /// The number of decoded frames.
    var frames: Int {
        if case .produced(let bitmap) = decode.outcome { bitmap.frames } else { 1 }
    }
}

// MARK: Earlier results

extension PhotoBatch {
    /// A result of the same recipe that is in the folder.
    private struct EarlierResult {
        let path: OutputPath
        /// The version of the photo that the result was made of.
        let photo: String
        /// Whether the photo certainly still has that version; a photo on the web has to be asked
        /// for.
        let isCurrent: Bool
    }

    private func earlierResult(
        of record: PhotoRecord, at position: Int, _ names: OutputNames
    ) -> EarlierResult? {
        guard !options.redoesAll, let url = record.url else { return nil }
        let format = options.recipe.format
        for path in names.possiblePaths(of: record, at: position, writtenAs: format) {
            guard let photo = options.folder.madeOf(path, from: url, recipe: fingerprint) else {
                continue
            }
            let file = url.isFileURL ? LocalPath(url) : nil
            let version = file.flatMap { LocalFiles.version(of: $0) }
            if file != nil, version?.text != photo { return nil }
            return EarlierResult(path: path, photo: photo, isCurrent: file != nil)
        }
        return nil
    }

    /// What a run would do with a photo.
    public enum Plan: Sendable, Hashable {
        /// The photo would be processed. If it is written, the result probably gets this path. The
        /// version is nil for a photo on the web.
        case process(OutputPath, PhotoVersion?)
        /// A server would be asked whether the photo has changed.
        case ask(OutputPath)
        /// The result is up to date.
        case unchanged(OutputPath)
        /// The entry of the list has no usable URL.
        case failed(PhotoFailure)
    }

    /// What ``run(_:only:report:)`` would do with each photo of a list, as far as the disk tells;
    /// nothing is downloaded or written.
    ///
    /// Blocks for two queries of the disk a photo.
    public func plan(_ records: [PhotoRecord]) -> [Plan] {
        let names = names(of: records)
        return records.enumerated().map { position, record in
            if let failure = record.state.failure { return .failed(failure) }
            if let earlier = earlierResult(of: record, at: position, names) {
                return earlier.isCurrent ? .unchanged(earlier.path) : .ask(earlier.path)
            }
            let paths = names.possiblePaths(
                of: record, at: position, writtenAs: options.recipe.format)
            let file = record.url.flatMap { $0.isFileURL ? LocalPath($0) : nil }
            return .process(paths[0], file.flatMap { LocalFiles.version(of: $0) })
        }
    }
}
