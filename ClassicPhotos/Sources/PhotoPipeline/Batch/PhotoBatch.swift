import FoundationEssentials
public import Imaging
import Operations
public import OperationsInsight

/// Processes a whole list of photos and writes the results into a folder.
public struct PhotoBatch: Sendable {
    /// How a batch processes photos.
    public struct Options: Sendable {
        /// The filters, applied in order.
        public var filters: [ImageFilter]
        /// The box that pictures are shrunk to fit; nil keeps the original size.
        public var size: PixelSize?
        /// The format of the files; nil keeps the format of each photo if it can be written.
        public var format: ImageFormat?
        /// The quality for JPEG and WebP, from 1 to 100.
        public var quality: Int
        /// The limits that a picture must meet before it is decoded.
        public var limits: ImageLimits
        /// The folder for the results.
        public var folder: OutputFolder
        /// The limits on simultaneous work, by number of photos and by memory.
        public var capacity = PixelCapacity.shared

        /// Creates options.
        public init(
            filters: [ImageFilter], size: PixelSize?, format: ImageFormat?, quality: Int,
            limits: ImageLimits = .standard, folder: OutputFolder
        ) {
            self.filters = filters
            self.size = size
            self.format = format
            self.quality = quality
            self.limits = limits
            self.folder = folder
        }
    }

    /// The result of the work on one photo.
    public enum Result: Sendable {
        /// The result was written into the folder.
        case written(OutputFile)
        /// The photo failed, for the given reason.
        case failed(PhotoFailure)
        /// The batch was cancelled before the photo was done.
        case cancelled
    }

    private let options: Options
    private let downloader: PhotoDownloader
    private let downloadQueue = OperationQueue()
    private let pixelQueue = OperationQueue()
    private let writeQueue = OperationQueue()
    // The queues in which photos wait for memory: first for their files, then for their pixels.
    private let fileQueue = OperationQueue()
    private let memoryQueue = OperationQueue()

    /// Creates a batch; no work starts before ``run(_:report:)``.
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
        downloadQueue.name = "Download queue"
        downloadQueue.maxConcurrentOperationCount = 6
        pixelQueue.name = "Image Filtration queue"
        // The width equals the number of processors, so that priorities decide: photos in progress
        // finish before new ones start.
        pixelQueue.maxConcurrentOperationCount = options.capacity.processors.permits
        for (queue, name) in [(fileQueue, "Files in memory"), (memoryQueue, "Pixels in memory")] {
            queue.name = name
            queue.maxConcurrentOperationCount = Self.photosInMemory
        }
        writeQueue.name = "Write queue"
        for queue in [downloadQueue, pixelQueue, writeQueue, options.folder.publishing] {
            timeline?.record(queue)
        }
    }

    /// Processes the list; returns when every photo is done, the task is cancelled, or a problem
    /// affects every photo.
    ///
    /// A full disk or a read-only file system is such a problem. Only a few photos are in memory at
    /// a time, however long the list is.
    ///
    /// - Parameters:
    ///   - records: the photos, as in a ``PhotoList``.
    ///   - report: called with each photo's result, one call at a time, in the order of completion.
    /// - Returns: the failure that stopped the batch; nil if no failure stopped it.
    @discardableResult
    public func run(
        _ records: [PhotoRecord], report: @Sendable (PhotoRecord, Result) async -> Void
    ) async -> PhotoFailure? {
        let names = OutputNames(
            of: records, writtenAs: options.format, in: options.folder.path)
        return await withTaskGroup(of: (PhotoRecord, Result).self) { group in
            var begun = 0
            var stop: PhotoFailure?
            func beginNext() {
                guard begun < records.count else { return }
                let position = begun
                begun += 1
                group.addTask {
                    let record = records[position]
                    return await (record, process(record, at: position, names))
                }
            }
            for _ in 0..<Self.photosInMemory { beginNext() }
            while let (record, result) = await group.next() {
                await report(record, result)
                if stop == nil, let problem = options.folder.problem {
                    stop = problem.failure
                    group.cancelAll()
                }
                if stop == nil, !Task.isCancelled { beginNext() }
            }
            return stop
        }
    }

    private static let photosInMemory = 12

    private func process(
        _ record: PhotoRecord, at position: Int, _ names: OutputNames
    ) async -> Result {
        if let failure = record.state.failure { return .failed(failure) }
        guard let url = record.url else {
            preconditionFailure("\(record.name) has no URL, so it should have failed already")
        }
        let file = options.capacity.file(downloader.maximumSize(of: url))
        let result = await holding(file, in: fileQueue, named: record.name) {
            await process(url, of: record, at: position, names)
        }
        return result ?? .cancelled
    }

    /// Runs download → inspect and, once enough memory is available, decode → filter → encode →
    /// write.
    private func process(
        _ url: URL, of record: PhotoRecord, at position: Int, _ names: OutputNames
    ) async -> Result {
        let capacity = options.capacity
        let download = DownloadOperation(url: url, with: downloader)
        let inspect = InspectOperation(after: download, limits: options.limits)
        let decode = DecodeOperation(
            after: download, fitting: options.size, limits: options.limits, capacity: capacity)
        let filter = FilterOperation(options.filters, after: decode, capacity: capacity)
        let encode = EncodeOperation(
            after: filter, quality: options.quality, capacity: capacity
        ) { Self.format(of: inspect, options) }
        let write = WriteOperation(after: encode, of: url, into: options.folder) { format in
            names.path(of: record, at: position, writtenAs: format)
        }
        // Later stages have higher priority, so that few photos are in memory.
        for (operation, priority) in zip(
            [decode, filter, encode] as [Operation], [.low, .normal, .high] as [Priority])
        {
            operation.queuePriority = priority
        }
        return await withTaskCancellationHandler {
            downloadQueue.addOperation(download)
            await pixelQueue.addOperations([inspect], waitUntilFinished: true)
            guard case .produced(let info) = inspect.outcome else {
                return Self.result(of: inspect)
            }
            let need = PixelCapacity.bytesNeeded(
                for: info, fitting: options.size, filters: options.filters,
                format: Self.format(of: inspect, options))
            _ = await holding(capacity.memory(need), in: memoryQueue, named: record.name) {
                await pixelQueue.addOperations([decode, filter, encode], waitUntilFinished: false)
                writeQueue.addOperation(write)
                await write.finished()
            }
            return Self.result(of: write)
        } onCancel: {
            // Writing is not cancelled: it runs only if all of these stages succeeded, and it
            // always runs to its end. So every file in the folder is reported.
            for operation in [download, inspect, decode, filter, encode] { operation.cancel() }
        }
    }

    private typealias Priority = Operation.QueuePriority

    private static func result(of write: WriteOperation) -> Result {
        switch write.outcome {
        case .produced(let file): .written(file)
        case .failed(let failure): .failed(failure)
        case .cancelled, .pending: .cancelled
        }
    }

    /// The result of a stage that did not succeed.
    private static func result(of stage: InspectOperation) -> Result {
        if case .failed(let failure) = stage.outcome { .failed(failure) } else { .cancelled }
    }

    /// The requested format, otherwise the photo's own format, or JPEG if that format is read-only.
    private static func format(of inspect: InspectOperation, _ options: Options) -> ImageFormat {
        if let format = options.format { return format }
        guard case .produced(let info) = inspect.outcome, info.format.canEncode else {
            return .jpeg
        }
        return info.format
    }
}
