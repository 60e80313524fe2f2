import Operations
public import OperationsInsight
public import PhotoImaging
@_spi(ClassicPhotos) public import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One page's list of photos: a controller for the decisions, queues for the work, and the names of
/// the pictures.
///
/// The pictures themselves are in the memory of the ``PhotoLoader``, which all pages share and
/// which has one limit. A picture that is no longer there is made again for the page that asks for
/// it.
///
/// Each page has its own session, so one person's scrolling never stops another person's list. The
/// session is an actor: call it from any thread or task; it handles one event at a time.
public actor PhotoListSession {
    /// How a session processes photos.
    public struct Options: Sendable {
        /// The filters, applied in order.
        public var filters: [ImageFilter]
        /// The box that pictures are shrunk to fit.
        public var size: PixelSize
        /// The limits that a picture must meet before it is decoded.
        public var limits: SourceLimits
        /// The maximum number of simultaneous downloads.
        public var downloads: Int
        /// The maximum number of simultaneous pixel stages of this page; nil for as many as the
        /// capacity allows.
        public var filtrations: Int?
        /// The processors and the memory for decoding that the page shares with other pages.
        public var capacity = PixelCapacity.shared
        /// The maximum size of what is kept in memory for all pages together, in bytes.
        ///
        /// One half is for the ``PhotoLoader``: the pictures of the list, decoded pixels, and
        /// downloads. The other half is for the ``PhotoViewer``: originals, and files made of them.
        public var pictureBytes: Int
        /// The cache of downloads on the disk; nil for none.
        public var diskCache: PhotoDiskCache?
        /// The cache of the list's pictures of files, on the disk; nil for none.
        public var thumbnails: PhotoDiskCache?
        /// What is known of the photos; all sessions with these options share it.
        public var index = PhotoIndex()
        /// Records the session's queues; nil for no recording.
        public var timeline: OperationTimeline?

        /// Creates options; the defaults are sepia at 0.8, 320 × 320 pixels, 6 downloads and 256
        /// MiB.
        public init(
            filters: [ImageFilter] = [.sepia(intensity: 0.8)],
            size: PixelSize = PixelSize(width: 320, height: 320),
            limits: SourceLimits = SourceLimits(),
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
    let loader: PhotoLoader
    var controller: PhotoListController
    var pending: PendingOperations
    private var downloadTally = QueueTally()
    private var filtrationTally = QueueTally()
    var engine: Engine
    private var pictures: [Row: RowPictures] = [:]
    var changedRows: Set<Row> = []
    private var revisions = RowRevisions()
    private var changeSignal: AsyncStream<Void>.Continuation?
    let progress = ProgressTable()
    private var contents: ListSummary

    /// Creates the session of a page that has not reported its visible rows yet.
    ///
    /// - Parameters:
    ///   - records: the photos; rows are indices in this list.
    ///   - options: how the session processes photos.
    ///   - loader: loads the photos. Pages with the same loader share downloads, decoded and
    ///     rendered pictures. Its limits and its capacity apply.
    public init(records: [PhotoRecord], options: Options, loader: PhotoLoader) {
        self.init(contents: PhotoCatalog.Contents(records), options: options, loader: loader)
    }

    /// Creates the session of a page that shows the contents of a catalog.
    public init(
        contents: PhotoCatalog.Contents, options: Options, loader: PhotoLoader
    ) {
        self.options = options
        self.loader = loader
        self.controller = PhotoListController(records: contents.records)
        _ = controller.listChanged(to: contents, changed: contents.emptyRows)
        self.contents = ListSummary(contents)
        self.pending = PendingOperations(
            downloads: options.downloads,
            filtrations: options.filtrations ?? options.capacity.processors.permits)
        self.engine = Engine(timeline: options.timeline)
        for queue in pending.queues { engine.timeline.record(queue) }
    }

    /// Creates the session of a page that shares nothing with other pages.
    public init(records: [PhotoRecord], options: Options, downloader: PhotoDownloader) {
        self.init(
            records: records, options: options,
            loader: PhotoLoader(downloader: downloader, options: options.forLoader))
    }

    deinit {
        // Released without close(): suspended queues would keep their operations forever.
        pending.cancelAll()
    }

    // MARK: Events from the person

    /// The page scrolled, was resized, or settled.
    ///
    /// While the list is dragged or decelerates, no new work starts. When the list has settled,
    /// work on invisible rows is cancelled, visible rows are processed, and the queues resume.
    public func scrolled(to rows: Range<Row>, _ phase: ScrollPhase) {
        scrolled(phase) { $0.viewportChanged(to: rows) }
    }

    /// The page scrolled, was resized, or settled, and shows the list in another order, or only a
    /// part of it.
    ///
    /// - Parameters:
    ///   - rows: the visible rows in the order in which they are shown.
    ///   - phase: whether the page is dragged, decelerates, or has settled.
    public func scrolled(to rows: [Row], _ phase: ScrollPhase) {
        scrolled(phase) { $0.viewportChanged(to: rows) }
    }

    private func scrolled(
        _ phase: ScrollPhase,
        _ changeViewport: (inout PhotoListController) -> [PhotoListAction]
    ) {
        switch phase {
        case .dragging:
            perform(controller.dragBegan())
            perform(changeViewport(&controller))
        case .decelerating:
            // A page may omit the drag if a wheel scroll began and ended between two of its
            // reports.
            perform(controller.dragBegan())
            perform(controller.dragEnded(willDecelerate: true))
            perform(changeViewport(&controller))
        case .settled:
            perform(changeViewport(&controller))
            perform(controller.dragEnded(willDecelerate: false))
        }
    }

    /// A person asked to retry a failed row.
    public func retryRequested(_ row: Row) { perform(controller.retryRequested(row)) }

    /// A person asked to retry all failed rows; those that no retry can help stay as they are.
    public func retryOfAllRequested() { perform(controller.retryOfAllRequested()) }

    /// Photos were added to the catalog, changed or deleted; see ``PhotoCatalog/update(to:)``.
    public func listChanged(_ change: PhotoCatalog.Change) {
        contents = ListSummary(change.contents)
        for row in change.changedRows { pictures[Row(row)] = nil }
        perform(controller.listChanged(to: change.contents, changed: change.changedRows))
    }

    /// Tells the page what the index has found out about photos on its screen; see
    /// ``PhotoIndex/takeChanges()``.
    public func factsFound(_ photos: Set<PhotoID>) {
        for row in controller.visibleRows where controller.records.indices.contains(row.index) {
            if photos.contains(controller.records[row.index].id) { changedRows.insert(row) }
        }
        if !changedRows.isEmpty { changeSignal?.yield() }
    }

    /// The page listens no more, but may come back; its work is cancelled.
    ///
    /// The pictures stay, and the page's next report of its visible rows starts the work again.
    public func pageLeft() {
        // Naive mode would go on with the rest of the list. A page that returns switches it on
        // again.
        setNaive(false)
        scrolled(to: [Row](), .settled)
    }

    /// The page was closed; all work is cancelled.
    public func close() {
        perform(controller.pageClosed())
        pending.close()
        engine.ticks?.cancel()
        pictures = [:]
        changeSignal?.finish()
    }

    // MARK: Queries from the page

    /// Returns a stream that yields after each change; then call ``takeUpdate()``.
    ///
    /// Unread signals are merged into one, so a slow page costs no memory. There is one subscriber:
    /// a new stream ends the previous stream. Closing the session ends the stream too.
    public func subscribe() -> AsyncStream<Void> {
        changeSignal?.finish()
        let (stream, continuation) = AsyncStream<Void>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        changeSignal = controller.isClosed ? nil : continuation
        if controller.isClosed { continuation.finish() }
        return stream
    }

    /// Yields to the stream without a change, so that the subscriber can send a heartbeat.
    public func signalHeartbeat() { signalChange() }

    func signalChange() { changeSignal?.yield() }

    /// The state of one row, and whether work on it is in progress.
    public struct RowUpdate: Sendable, Hashable {
        /// The photo, state and version of the row.
        public let change: PhotoRowChange
        /// Whether an operation for the row is running or queued.
        public let isActive: Bool
        /// What is known of the photo's contents; nil before its file was read or it was decoded.
        public let facts: PhotoFacts?
        /// The name of the picture of the row's state; nil if there is none.
        public let picture: PictureName?
    }

    /// The changes that a page has not received yet.
    public struct Update: Sendable {
        /// The changed rows, in order.
        public let rows: [RowUpdate]
        /// The number of photos in each state.
        public let counts: PhotoStateCounts
        /// The state of the download queue, then of the filtration queue.
        public let queues: [QueueGauge]
        /// The number of the state of the rows; it grows with each update that has rows.
        public let revision: Int
        /// The progress of the downloads that have made progress since the last update.
        public let progress: [RowProgress]
        /// The list that the rows belong to.
        public let list: ListSummary
    }

    /// What a page must know of a list to show it.
    public struct ListSummary: Sendable, Hashable {
        /// The number of changes of the list so far.
        public let revision: Int
        /// The number of photos.
        public let count: Int
        /// Whether the photos are shown in the order of their rows, without gaps.
        public let isInRowOrder: Bool

        init(_ contents: PhotoCatalog.Contents) {
            revision = contents.revision
            count = contents.rows.count
            isInRowOrder = contents.isInRowOrder
        }
    }

    /// Returns the changes since the last call.
    public func takeUpdate() -> Update {
        let rows = changedRows.sorted()
        noteChanges()
        return update(of: rows)
    }

    /// Returns the changes since an earlier update, for a page that may have missed later ones.
    ///
    /// The next ``takeUpdate()`` returns only the changes after this call.
    ///
    /// - Parameter revision: the revision of the last update that the page has received.
    /// - Returns: nil if this session has made no such revision.
    public func takeUpdate(since revision: Int) -> Update? {
        noteChanges()
        return revisions.rows(since: revision).map { update(of: $0) }
    }

    private func noteChanges() {
        revisions.note(changedRows)
        changedRows = []
    }

    /// Returns the complete state for a new page: all rows that differ from their initial state,
    /// and all rows whose photos were decoded.
    ///
    /// The next ``takeUpdate()`` returns only the changes after this call.
    ///
    /// - Complexity: O(n) in the length of the list.
    public func takeSnapshot() -> Update {
        noteChanges()
        let decoded = options.index.decoded
        let rows = controller.records.indices.filter { index in
            guard !controller.records.emptyRows.contains(index) else { return false }
            let record = controller.records[index]
            return record.state != .new || controller.work[Row(index)] != nil
                || decoded.contains(record.id)
        }
        return update(of: rows.map { Row($0) })
    }

    /// The state of each photo, in the order of the list.
    ///
    /// - Complexity: O(n) in the length of the list.
    public var states: [PhotoState] { controller.records.map(\.state) }

    private func update(of rows: [Row]) -> Update {
        var updates: [RowUpdate] = []
        for row in rows {
            guard let change = controller.currentState(of: row) else { continue }
            updates.append(
                RowUpdate(
                    change: change, isActive: controller.work[row] != nil,
                    facts: options.index[change.id], picture: pictureName(row, change.state)))
        }
        return Update(
            rows: updates, counts: controller.counts, queues: gauges,
            revision: revisions.latest, progress: progress.take(), list: contents)
    }

    func pictureName(_ row: Row, _ state: PhotoState) -> PictureName? {
        switch state {
        case .new, .failed: nil
        case .downloaded: pictures[row]?.downloaded
        case .filtered: pictures[row]?.filtered
        }
    }

    /// The state of the download queue, then of the filtration queue.
    public var gauges: [QueueGauge] {
        [
            downloadTally.gauge(of: pending.downloadQueue),
            filtrationTally.gauge(of: pending.filtrationQueue),
        ]
    }

    // MARK: Actions of the controller

    func perform(_ actions: [PhotoListAction]) {
        for action in actions {
            switch action {
            case .suspendQueues: pending.isScrolling = true
            case .resumeQueues: pending.isScrolling = false
            case .cancel(let row, let generation):
                pending.cancel(row, generation: generation)
                changedRows.insert(row)
            case .start(let row, let generation, .download, let record):
                download(row, generation, record)
                changedRows.insert(row)
            case .start(let row, let generation, .filtration, let record):
                engine.hits += 1
                filter(row, generation, record)
                changedRows.insert(row)
            case .show(let change):
                changedRows.insert(change.row)
            }
        }
        changeSignal?.yield()
    }

    /// Runs download → decode → encode, and from the decoded pixels filter → encode.
    ///
    /// A row's pixels are encoded and filtered before the next row's are decoded, so that few
    /// pixels are in memory however many rows are visible.
    private func download(_ row: Row, _ generation: Generation, _ record: PhotoRecord) {
        guard let request = options.request(for: record) else {
            preconditionFailure("\(record.name) has no URL, so it should have failed already")
        }
        let watch = progressWatch(request.url, of: row)
        let index = options.index
        // In naive mode each row does all its work.
        let canBeKept = !controller.isNaive
        let download = TypedOperation { [loader, filters, thumbnails = options.thumbnails] in
            let end = watch()
            defer { _ = end() }
            let original = try await loader.original(for: request)
            let kept =
                canBeKept
                ? await loader.keptListPictures(
                    of: request, original.version, filters, facts: index[record.id],
                    in: thumbnails)
                : nil
            return RowSource(original: original, kept: kept)
        }
        download.name = "Download \(PhotoURL.name(of: request.url))"
        let decode = TypedOperation(after: download) { [loader] source in
            let photo = try await loader.photo(from: source.original, for: request)
            if let found = photo.facts { index.decoded(record.id, found) }
            return photo
        }
        decode.name = "Decode"
        // Without filters, this picture is the last one, too, and is kept as such.
        let encode = encoding(after: decode, keptFor: filters.isEmpty ? nil : request)
        onCompletion(of: decode) { await $0.decoded(row, $1) }
        onCompletion(of: encode) { await $0.downloaded(row, generation, $1, decode) }

        pending.startDownload(
            row, .init(generation: generation, operations: [download, decode, encode]))
        let filter = TypedOperation(after: decode) { [loader, filters] photo in
            try await loader.processed(photo, by: filters)
        }
        let stages = [decode, encode] + filtration(row, generation, filter, request)
        for operation in [download, decode, encode] { limitIfNaive(operation) }
        if let last = stages.last { chainIfNaive(download, last: [encode, last]) }
        onCompletion(of: download) {
            await $0.downloadFinished($1, of: record, in: row, generation, before: stages)
        }
        pending.downloadQueue.addOperation(download)
    }

    /// Runs filter → encode on the pixels that are in memory, or are decoded again.
    private func filter(_ row: Row, _ generation: Generation, _ record: PhotoRecord) {
        guard let request = options.request(for: record) else {
            preconditionFailure("\(record.name) has no URL, so it should have failed already")
        }
        let decoded = pictures[row]?.decoded
        let filter = TypedOperation { [loader, filters] in
            let photo =
                if let photo = decoded.flatMap({ loader.photoInMemory(for: request, $0) }) {
                    photo
                } else {
                    try await loader.photo(for: request)
                }
            return try await loader.processed(photo, by: filters)
        }
        let filtration = filtration(row, generation, filter, request)
        if let last = filtration.last { chainIfNaive(filter, last: [last]) }
        pending.filtrationQueue.addOperations(filtration, waitUntilFinished: false)
    }

    private func filtration(
        _ row: Row, _ generation: Generation, _ filter: TypedOperation<Photo>,
        _ request: PhotoRequest
    ) -> [Operations.Operation] {
        filter.name = "Filter"
        filter.queuePriority = .high
        let encode = encoding(after: filter, keptFor: request)
        for operation in [filter, encode] { limitIfNaive(operation) }
        onCompletion(of: filter) { await $0.pixelStageFinished($1) }
        onCompletion(of: encode) { await $0.filtered(row, generation, $1) }
        pending.startFiltration(row, .init(generation: generation, operations: [filter, encode]))
        return [filter, encode]
    }

    private var filters: [PhotoProcessor] { options.processors }

    /// - Parameter request: the request whose pictures are kept on the disk; nil to keep none.
    private func encoding(
        after photo: TypedOperation<Photo>, keptFor request: PhotoRequest?
    ) -> TypedOperation<NamedPicture> {
        let encode = TypedOperation(after: photo) {
            [loader, filters, thumbnails = options.thumbnails] photo in
            let picture = try await loader.listPicture(photo)
            // Either of a photo's two pictures may be the last one.
            if let request, let thumbnails {
                loader.keepListPictures(of: photo, for: request, filters, in: thumbnails)
            }
            return picture
        }
        encode.name = "Encode"
        encode.queuePriority = .high
        return encode
    }

    /// Calls the session after an operation has finished.
    ///
    /// If the session is released before a download has ended, the later stages are never added and
    /// never finish. So their completion blocks are never dropped, and must not retain them.
    ///
    /// - Parameter body: runs on the session.
    private func onCompletion<Stage: Operations.Operation>(
        of operation: Stage, _ body: @escaping @Sendable (PhotoListSession, Stage) async -> Void
    ) {
        operation.completionBlock = { [weak self, weak operation] in
            guard let self, let operation else { return }
            Task { await body(self, operation) }
        }
    }

    // MARK: Results of the operations

    /// The later stages are added even if the download failed: they then finish and report that.
    ///
    /// Pictures that were kept need no stages. These are then never added.
    private func downloadFinished(
        _ operation: TypedOperation<RowSource>, of record: PhotoRecord, in row: Row,
        _ generation: Generation, before stages: [Operations.Operation]
    ) {
        downloadTally.operationFinished(operation)
        if case .produced(let source) = operation.outcome {
            engine.found(source.original)
            if let kept = source.kept {
                pending.downloadEnded(row, generation: generation)
                pending.filtrationEnded(row, generation: generation)
                if isCurrent(row, generation) { show(kept, of: record, in: row, generation) }
                return
            }
        }
        pending.filtrationQueue.addOperations(stages, waitUntilFinished: false)
        changeSignal?.yield()
    }

    private func show(
        _ kept: KeptListPictures, of record: PhotoRecord, in row: Row, _ generation: Generation
    ) {
        options.index.decoded(record.id, kept.facts)
        pictures[row] = RowPictures(
            downloaded: kept.downloaded.name, filtered: kept.filtered.name, generation: generation)
        engine.photoFinished()
        // A filtered photo was downloaded first; the page receives only the last state.
        perform(controller.rowDownloaded(row, generation: generation))
        perform(controller.rowFiltered(row, generation: generation))
    }

    /// The row may have been sent already, without the facts that the decoding has found.
    private func decoded(_ row: Row, _ decode: Operations.Operation) {
        changedRows.insert(row)
        pixelStageFinished(decode)
    }

    private func pixelStageFinished(_ operation: Operations.Operation) {
        filtrationTally.operationFinished(operation)
        changeSignal?.yield()
    }

    func downloaded(
        _ row: Row, _ generation: Generation, _ encode: TypedOperation<NamedPicture>,
        _ decode: TypedOperation<Photo>
    ) {
        pixelStageFinished(encode)
        pending.downloadEnded(row, generation: generation)
        guard isCurrent(row, generation) else {
            // The end of the filtration was faster; the unfiltered picture is still needed.
            if pictures[row]?.generation == generation,
                case .produced(let picture) = encode.outcome
            {
                pictures[row]?.downloaded = picture.name
            }
            return
        }
        switch (encode.outcome, decode.outcome) {
        case (.produced(let picture), .produced(let photo)):
            pictures[row, default: RowPictures()].downloaded = picture.name
            pictures[row]?.decoded = photo.version
            perform(controller.rowDownloaded(row, generation: generation))
        case (.failed(let failure), _):
            fail(row, generation, failure)
        default:
            perform(controller.rowCancelled(row, generation: generation))
        }
    }

    func filtered(
        _ row: Row, _ generation: Generation, _ encode: TypedOperation<NamedPicture>
    ) {
        pixelStageFinished(encode)
        pending.filtrationEnded(row, generation: generation)
        guard isCurrent(row, generation) else { return }
        switch encode.outcome {
        case .produced(let picture):
            let downloaded = pictures[row]?.downloaded
            pictures[row] = RowPictures(
                downloaded: downloaded, filtered: picture.name, generation: generation)
            engine.photoFinished()
            perform(controller.rowFiltered(row, generation: generation))
        case .failed(let failure):
            fail(row, generation, failure)
        case .cancelled, .pending:
            perform(controller.rowCancelled(row, generation: generation))
        }
    }

    private func fail(_ row: Row, _ generation: Generation, _ failure: PhotoFailure) {
        pending.cancel(row, generation: generation)
        pictures[row] = nil
        perform(controller.rowFailed(row, generation: generation, failure))
    }

    private func isCurrent(_ row: Row, _ generation: Generation) -> Bool {
        controller.work[row]?.generation == generation
    }
}

/// What the first stage of a row has found.
private struct RowSource: Sendable {
    let original: PhotoOriginal
    /// The pictures of the row, if they need not be made.
    let kept: KeptListPictures?
}

/// The names of a row's pictures.
private struct RowPictures {
    /// The version whose pixels the next filtration begins with, as long as they are in memory.
    var decoded: PhotoVersion?
    var downloaded: PictureName?
    var filtered: PictureName?
    /// The attempt that made the filtered picture.
    var generation: Generation?
}

extension PhotoListSession.Options {
    /// The part of ``pictureBytes`` for a viewer.
    var viewerBytes: Int { pictureBytes / 2 }

    /// The options of a loader for sessions with these options.
    public var forLoader: PhotoLoader.Options {
        var loader = PhotoLoader.Options()
        loader.limits = limits
        loader.capacity = capacity
        loader.memoryBytes = pictureBytes - viewerBytes
        loader.diskCache = diskCache
        loader.notes = PhotoFacts.notes
        loader.timeline = timeline
        return loader
    }
}
