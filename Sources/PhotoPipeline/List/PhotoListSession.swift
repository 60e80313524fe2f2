public import Imaging
public import Operations

/// One page's list of photos: a controller that decides, queues that work, and the pictures made.
///
/// Each page has a session of its own, so one person's scrolling never stops another's list. Call
/// it from anywhere; it takes one event after the other.
public actor PhotoListSession {
    /// How a session works on photos.
    public struct Options: Sendable {
        /// Applied in order.
        public var filters: [ImageFilter]
        /// Pictures are shrunk to fit.
        public var size: PixelSize
        /// What is refused before it is decoded.
        public var limits: ImageLimits
        /// How many downloads run at the same time.
        public var downloads: Int
        /// How many stages on pixels of this page run at the same time; nil for as many as the
        /// capacity allows.
        public var filtrations: Int?
        /// What the page shares with others: processors, and memory for decoding.
        public var capacity = PixelCapacity.shared
        /// Bytes of pictures that are kept in memory.
        public var pictureBytes: Int
        /// Records the session's queues, if there is one.
        public var timeline: OperationTimeline?

        /// Makes options: sepia at 0.8, 320 × 320 pixels, 6 downloads, 256 MiB.
        public init(
            filters: [ImageFilter] = [.sepia(intensity: 0.8)],
            size: PixelSize = PixelSize(width: 320, height: 320), limits: ImageLimits = .standard,
            downloads: Int = 6, filtrations: Int? = nil, pictureBytes: Int = 256 << 20
        ) {
            self.filters = filters
            self.size = size
            self.limits = limits
            self.downloads = downloads
            self.filtrations = filtrations
            self.pictureBytes = pictureBytes
        }
    }

    private let options: Options
    private let downloader: PhotoDownloader
    private var controller: PhotoListController
    private var pending: PendingOperations
    private var downloadTally = QueueTally()
    private var filtrationTally = QueueTally()
    private var pictures: PictureStore
    private var changedRows: Set<Row> = []
    private var bell: AsyncStream<Void>.Continuation?

    /// Makes the session of a page that has not said yet what it shows.
    public init(records: [PhotoRecord], options: Options, downloader: PhotoDownloader) {
        self.options = options
        self.downloader = downloader
        self.controller = PhotoListController(records: records)
        self.pending = PendingOperations(
            downloads: options.downloads,
            filtrations: options.filtrations ?? options.capacity.processors.units)
        for queue in [pending.downloadQueue, pending.filtrationQueue] {
            options.timeline?.record(queue)
        }
        self.pictures = PictureStore(byteLimit: options.pictureBytes)
    }

    deinit {
        // Dropped without having been closed; suspended queues would keep their operations for
        // ever.
        pending.cancelAll()
    }

    // MARK: What the person does

    /// The page scrolled, was resized, or came to rest.
    ///
    /// While it is dragged or runs on, nothing new is started. When it has settled, what is not
    /// visible is cancelled, what is visible is worked on, and the queues go on.
    public func scrolled(to rows: Range<Row>, _ phase: ScrollPhase) {
        switch phase {
        case .dragging:
            perform(controller.dragBegan())
            perform(controller.viewportChanged(to: rows))
        case .decelerating:
            // A page may skip the drag, when the wheel was flung between two of its reports.
            perform(controller.dragBegan())
            perform(controller.dragEnded(willDecelerate: true))
            perform(controller.viewportChanged(to: rows))
        case .settled:
            perform(controller.viewportChanged(to: rows))
            perform(controller.dragEnded(willDecelerate: false))
        }
        for row in controller.visibleRows { pictures.touch(row) }
    }

    /// A failed row is to be tried again.
    public func retryRequested(_ row: Row) { perform(controller.retryRequested(row)) }

    /// The page is gone: everything is cancelled.
    public func close() {
        perform(controller.pageClosed())
        pictures.removeAll()
        bell?.finish()
    }

    // MARK: What the page wants to know

    /// Rings after something has changed; then call ``takeNews()``.
    ///
    /// Rings that nobody has heard yet become one, so a slow page costs no memory. There is one
    /// listener: a new one ends the stream of the one before. Closing the session ends it too.
    public func listen() -> AsyncStream<Void> {
        bell?.finish()
        let (stream, continuation) = AsyncStream<Void>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        bell = controller.isClosed ? nil : continuation
        if controller.isClosed { continuation.finish() }
        return stream
    }

    /// Rings without anything having changed, so that a listener can tell that it is still heard.
    public func ring() { bell?.yield() }

    /// How one row looks, and whether something is being done for it.
    public struct RowNews: Sendable, Hashable {
        /// The row's photo, state and version.
        public let change: PhotoRowChange
        /// Whether an operation is in progress or queued for it.
        public let isActive: Bool
    }

    /// What a page has not been told yet.
    public struct News: Sendable {
        /// Rows that have changed, in order.
        public let rows: [RowNews]
        /// How many photos are in each state.
        public let counts: PhotoStateCounts
        /// The download queue, then the filtration queue.
        public let queues: [QueueGauge]
    }

    /// What has changed since the last call.
    public func takeNews() -> News {
        let rows = changedRows.sorted()
        changedRows = []
        return news(of: rows)
    }

    /// Everything that a page needs which knows nothing: all rows that are not as at the beginning.
    ///
    /// - Complexity: O(n) in the length of the list.
    public func allNews() -> News {
        changedRows = []
        let rows = controller.records.indices.filter { index in
            controller.records[index].state != .new || controller.work[Row(index)] != nil
        }
        return news(of: rows.map { Row($0) })
    }

    /// A picture of a row, and which version of the row it belongs to.
    public func picture(
        _ row: Row, _ stage: PictureStage
    ) -> (image: EncodedImage, version: PictureVersion)? {
        guard let kept = pictures[row], let look = controller.currentLook(of: row) else {
            return nil
        }
        let image = stage == .filtered ? kept.filtered : kept.downloaded
        return image.map { ($0, look.version) }
    }

    /// Which of a row's pictures.
    public enum PictureStage: String, Sendable, CaseIterable {
        /// As it was downloaded, shrunk.
        case downloaded
        /// Filtered.
        case filtered
    }

    private func news(of rows: [Row]) -> News {
        var news: [RowNews] = []
        for row in rows {
            guard let change = controller.currentLook(of: row) else { continue }
            news.append(RowNews(change: change, isActive: controller.work[row] != nil))
        }
        return News(
            rows: news, counts: controller.counts,
            queues: [
                downloadTally.gauge(of: pending.downloadQueue),
                filtrationTally.gauge(of: pending.filtrationQueue),
            ])
    }

    // MARK: What the controller orders

    private func perform(_ actions: [PhotoListAction]) {
        for action in actions {
            switch action {
            case .suspendQueues: pending.isSuspended = true
            case .resumeQueues: pending.isSuspended = false
            case .cancel(let row, let generation):
                pending.cancel(row, generation: generation)
                changedRows.insert(row)
            case .start(let row, let generation, .download, let record):
                download(row, generation, record)
                changedRows.insert(row)
            case .start(let row, let generation, .filtration, _):
                filter(row, generation)
                changedRows.insert(row)
            case .show(let change):
                changedRows.insert(change.row)
            }
        }
        bell?.yield()
    }

    /// Download → decode → encode, and from the pixels on: filter → encode.
    private func download(_ row: Row, _ generation: Generation, _ record: PhotoRecord) {
        guard let url = record.url else {
            preconditionFailure("\(record.name) has no URL, so it should have failed already")
        }
        let download = DownloadOperation(url: url, with: downloader)
        let capacity = options.capacity
        let decode = DecodeOperation(
            after: download, fitting: options.size, limits: options.limits, capacity: capacity)
        let encode = EncodeOperation(after: decode, quality: Self.quality, capacity: capacity)
        // A person sees any picture sooner than a filtered one.
        decode.queuePriority = .high
        encode.queuePriority = .high
        tell(decode) { await $0.filtrationLeft(decode) }
        tell(encode) { await $0.downloaded(row, generation, encode, decode) }

        pending.startDownload(
            row, .init(generation: generation, operations: [download, decode, encode]))
        let filter = FilterOperation(options.filters, after: decode, capacity: capacity)
        let stages = [decode, encode] + filtration(row, generation, filter)
        // What the decoding costs is known only then, and has to be said before it is in a queue.
        tell(download, first: { decode.reserveMemory() }) {
            await $0.downloadLeft(download, before: stages)
        }
        pending.downloadQueue.addOperation(download)
    }

    /// Pixels that are there already → filter → encode.
    private func filter(_ row: Row, _ generation: Generation) {
        guard let bitmap = pictures[row]?.bitmap else {
            preconditionFailure("\(row) was downloaded, but its pixels are gone without notice")
        }
        let filter = FilterOperation(options.filters, of: bitmap, capacity: options.capacity)
        let filtration = filtration(row, generation, filter)
        pending.filtrationQueue.addOperations(filtration, waitUntilFinished: false)
    }

    private func filtration(
        _ row: Row, _ generation: Generation, _ filter: FilterOperation
    ) -> [Operation] {
        let encode = EncodeOperation(
            after: filter, quality: Self.quality, capacity: options.capacity)
        tell(filter) { await $0.filtrationLeft(filter) }
        tell(encode) { await $0.filtered(row, generation, encode) }
        pending.startFiltration(row, .init(generation: generation, operations: [filter, encode]))
        return [filter, encode]
    }

    private static let quality = 82

    /// - Parameter work: done on the thread that has run the operation.
    private func tell(
        _ operation: Operation, first work: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable (PhotoListSession) async -> Void
    ) {
        operation.completionBlock = { [weak self] in
            guard let self else { return }
            work()
            Task { await body(self) }
        }
    }

    // MARK: What the operations report

    /// What follows is added also if there was nothing to download: so it ends, and says that it
    /// has.
    private func downloadLeft(_ operation: Operation, before stages: [Operation]) {
        noticeFailure(of: operation)
        downloadTally.left(isCancelled: operation.isCancelled)
        pending.filtrationQueue.addOperations(stages, waitUntilFinished: false)
        bell?.yield()
    }

    /// A failure of a row that shows another photo by now is nobody's business.
    private func noticeFailure(of operation: Operation) { _ = operation.error }

    private func filtrationLeft(_ operation: Operation) {
        noticeFailure(of: operation)
        filtrationTally.left(isCancelled: operation.isCancelled)
        bell?.yield()
    }

    func downloaded(
        _ row: Row, _ generation: Generation, _ encode: EncodeOperation, _ decode: DecodeOperation
    ) {
        filtrationLeft(encode)
        pending.downloadEnded(row, generation: generation)
        guard isCurrent(row, generation) else {
            // The end of the filtration has overtaken it; the picture is wanted all the same.
            if pictures[row]?.generation == generation, case .produced(let image) = encode.outcome {
                keep(row) { $0.downloaded = image }
            }
            return
        }
        switch (encode.outcome, decode.outcome) {
        case (.produced(let image), .produced(let bitmap)):
            keep(row) {
                $0.downloaded = image
                $0.bitmap = bitmap
            }
            perform(controller.rowDownloaded(row, generation: generation))
        case (.failed(let failure), _):
            fail(row, generation, failure)
        default:
            perform(controller.rowCancelled(row, generation: generation))
        }
    }

    func filtered(_ row: Row, _ generation: Generation, _ encode: EncodeOperation) {
        filtrationLeft(encode)
        pending.filtrationEnded(row, generation: generation)
        guard isCurrent(row, generation) else { return }
        switch encode.outcome {
        case .produced(let image):
            keep(row) {
                $0.filtered = image
                $0.bitmap = nil
                $0.generation = generation
            }
            perform(controller.rowFiltered(row, generation: generation))
        case .failed(let failure):
            fail(row, generation, failure)
        case .cancelled, .pending:
            perform(controller.rowCancelled(row, generation: generation))
        }
    }

    private func fail(_ row: Row, _ generation: Generation, _ failure: PhotoFailure) {
        pending.cancel(row, generation: generation)
        pictures.remove(row)
        perform(controller.rowFailed(row, generation: generation, failure))
    }

    private func isCurrent(_ row: Row, _ generation: Generation) -> Bool {
        controller.work[row]?.generation == generation
    }

    private func keep(_ row: Row, _ change: (inout PictureStore.Pictures) -> Void) {
        let dropped = pictures.update(row, keeping: controller.visibleRows, change)
        for row in dropped { perform(controller.rowEvicted(row)) }
    }
}
