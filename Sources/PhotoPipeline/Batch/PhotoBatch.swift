import FoundationEssentials
public import Imaging
public import Operations

/// Works through a whole list of photos and puts the results into a folder.
public struct PhotoBatch: Sendable {
    /// How a batch works on photos.
    public struct Options: Sendable {
        /// Applied in order.
        public var filters: [ImageFilter]
        /// Pictures are shrunk to fit; nil keeps their size.
        public var size: PixelSize?
        /// The format of the files; nil keeps each photo's own where it can be written.
        public var format: ImageFormat?
        /// 1 to 100 for JPEG and WebP.
        public var quality: Int
        /// What is refused before it is decoded.
        public var limits: ImageLimits
        /// Where the results go.
        public var folder: OutputFolder
        /// How many photos are worked on at a time, by their number and by their memory.
        public var capacity = PixelCapacity.shared

        /// Makes options.
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

    /// What became of one photo.
    public enum Result: Sendable {
        /// It is in the folder.
        case written(OutputFile)
        /// It is not, and why.
        case failed(PhotoFailure)
        /// The batch was cancelled before it was done.
        case cancelled
    }

    private let options: Options
    private let downloader: PhotoDownloader
    private let downloadQueue = OperationQueue()
    private let pixelQueue = OperationQueue()
    private let writeQueue = OperationQueue()
    // Where photos wait for memory: one for their files, then for their pixels.
    private let fileQueue = OperationQueue()
    private let memoryQueue = OperationQueue()

    /// Makes a batch; nothing happens yet.
    ///
    /// - Parameters:
    ///   - options: what is made of each photo, and where it goes.
    ///   - downloader: gets the photos; the batch does not close it.
    ///   - timeline: records the batch's queues; nil for none.
    public init(
        options: Options, downloader: PhotoDownloader, timeline: OperationTimeline? = nil
    ) {
        self.options = options
        self.downloader = downloader
        downloadQueue.name = "Download queue"
        downloadQueue.maxConcurrentOperationCount = 6
        pixelQueue.name = "Image Filtration queue"
        // As many as there are processors: so what is begun is ended first, by its priority.
        pixelQueue.maxConcurrentOperationCount = options.capacity.processors.units
        for (queue, name) in [(fileQueue, "Files in memory"), (memoryQueue, "Pixels in memory")] {
            queue.name = name
            queue.maxConcurrentOperationCount = Self.photosInMemory
        }
        writeQueue.name = "Write queue"
        for queue in [downloadQueue, pixelQueue, writeQueue, options.folder.publishing] {
            timeline?.record(queue)
        }
    }

    /// Works through the list; returns when every photo is done, or the task was cancelled, or a
    /// problem came up that every other photo would have too: the disk is full, or nothing may be
    /// written to it any more.
    ///
    /// Only a few photos are in memory at a time, however long the list is.
    ///
    /// - Parameters:
    ///   - records: the photos to work on, as a ``PhotoList`` has them.
    ///   - report: called with each photo's result, one at a time, in the order in which they are
    ///     done.
    /// - Returns: the failure after which the batch stopped; nil if it did not.
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
        let file = options.capacity.file(downloader.sizeInAdvance(of: url))
        let result = await holding(file, in: fileQueue, named: record.name) {
            await process(url, of: record, at: position, names)
        }
        return result ?? .cancelled
    }

    /// Download → inspect, and once there is enough memory for it: decode → filter → encode →
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
        // What is begun is ended first, so that few photos are in memory.
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
            // Not the writing: it runs only if all of these have succeeded, and then to its end, so
            // that each file in the folder is one that is reported.
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

    /// Of a stage that has not succeeded.
    private static func result(of stage: InspectOperation) -> Result {
        if case .failed(let failure) = stage.outcome { .failed(failure) } else { .cancelled }
    }

    /// What is asked for, or the photo's own format, or JPEG where that is only read.
    private static func format(of inspect: InspectOperation, _ options: Options) -> ImageFormat {
        if let format = options.format { return format }
        guard case .produced(let info) = inspect.outcome, info.format.canEncode else {
            return .jpeg
        }
        return info.format
    }
}
