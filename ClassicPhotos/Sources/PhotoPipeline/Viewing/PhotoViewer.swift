import FoundationEssentials
public import Imaging
import Operations
import OperationsInsight

/// Serves single photos of a list: details, larger pictures with any filters, and originals.
///
/// ```swift
/// let viewer = PhotoViewer(records: list.records, options: options, loader: loader)
/// let picture = try await viewer.picture(of: Row(3), fitting: 1280, filters: [.noir()])
/// ```
///
/// Equal requests that are under way at the same time share one operation. A request ends early
/// when the calling task is cancelled; the shared work is cancelled when nobody waits for it any
/// more. Originals come from a ``PhotoLoader``, which shares downloads with the pages of the list.
/// Downloads and pixel work wait in two queues of the viewer's own, with the capacity and the
/// limits of the list. The latest originals and pictures stay in memory, within a limit.
///
/// One viewer serves all pages of a list. Call it from any task.
public actor PhotoViewer {
    private enum Request: Hashable {
        case original(Row)
        case details(Row)
        case picture(Row, side: Int, filters: [ImageFilter])
    }

    private let records: [PhotoRecord]
    private let options: PhotoListSession.Options
    private let loader: PhotoLoader
    private var cache: ByteCache<Request, PhotoFile>
    /// The number of callers that wait, for tests.
    private(set) var callerCount = 0

    /// The queue of downloads, for display.
    nonisolated let downloads = OperationQueue()
    /// The queue of pixel work, for display.
    nonisolated let pixels = OperationQueue()
    /// The operations that stand for a whole request; they wait for operations of the other queues.
    private let requests = OperationQueue()

    private static let quality = 85

    /// Creates a viewer.
    ///
    /// - Parameters:
    ///   - records: the list; a ``Row`` is an index in it.
    ///   - options: the limits and the capacity; the filters and the size are not used.
    ///   - loader: loads the originals.
    ///   - byteLimit: the maximum size of the originals and pictures kept in memory.
    public init(
        records: [PhotoRecord], options: PhotoListSession.Options, loader: PhotoLoader,
        byteLimit: Int = 256 << 20
    ) {
        self.records = records
        self.options = options
        self.loader = loader
        cache = ByteCache(byteLimit: byteLimit)
        downloads.name = "Viewer download queue"
        downloads.maxConcurrentOperationCount = options.downloads
        pixels.name = "Viewer picture queue"
        pixels.maxConcurrentOperationCount = options.capacity.processors.permits
        requests.maxConcurrentOperationCount = 64
        for queue in [downloads, pixels] { options.timeline?.record(queue) }
    }

    /// Cancels everything under way.
    public func close() {
        for queue in [requests, downloads, pixels] { queue.cancelAllOperations() }
    }

    /// The numbers of requests that were answered from memory, and that were not.
    public var cacheUse: (hits: Int, misses: Int) { (cache.hits, cache.misses) }

    // MARK: Requests

    /// The original file of a row.
    ///
    /// - Throws: the failure, in words for people, or `cancelled`.
    public func original(of row: Row) async throws(PhotoStageStop) -> PhotoFile {
        let request = Request.original(row)
        if let original = cache.value(for: request) { return original }
        let record = try record(at: row)
        guard let url = record.url else { throw .failed(Self.noAddress(record)) }
        let original = try await shared(request, in: downloads, named: "Original \(record.name)") {
            [loader] in
            let (original, bytes) = try await loader.originalWithBytes(of: url, priority: .high)
            return PhotoFile(
                bytes: bytes, format: ImageFormat(detecting: bytes),
                madeFrom: original.version.text)
        }
        cache.insert(original, byteCount: original.bytes.count, for: request)
        return original
    }

    /// The details of a row: what its header and its EXIF block say.
    ///
    /// - Throws: the failure, in words for people, or `cancelled`.
    public func details(of row: Row) async throws(PhotoStageStop) -> PhotoDetails {
        let record = try record(at: row)
        let limits = limits(of: record)
        return try await shared(.details(row), in: requests, named: "Details of \(record.name)") {
            let original = try await self.original(of: row)
            let reading = self.pixels.add("Read \(record.name)", .priority(.high)) {
                try pixelStage(.decode) { () throws(ImagingError) in
                    let info = try ImageEngine.inspect(original.bytes, limits: limits)
                    let fields = try ImageEngine.exif(of: original.bytes, limits: limits)
                    return PhotoDetails(
                        byteCount: original.bytes.count, info: info, fields: fields)
                }
            }
            return try await reading.valueUnlessCancelled
        }
    }

    /// A row's picture as a JPEG, shrunk to fit a square.
    ///
    /// - Parameters:
    ///   - row: the row.
    ///   - side: the side of the square in pixels. A smaller picture keeps its size.
    ///   - filters: the filters, in order.
    /// - Throws: the failure, in words for people, or `cancelled`.
    public func picture(
        of row: Row, fitting side: Int, filters: [ImageFilter]
    ) async throws(PhotoStageStop) -> PhotoFile {
        let request = Request.picture(row, side: side, filters: filters)
        if let picture = cache.value(for: request) { return picture }
        let record = try record(at: row)
        let (limits, capacity) = (limits(of: record), options.capacity)
        let name = "Picture of \(record.name), \(side) px"
        let picture = try await shared(request, in: requests, named: name) {
            let original = try await self.original(of: row)
            let box = PixelSize(width: side, height: side)
            let info = try pixelStage(.decode) { () throws(ImagingError) in
                try ImageEngine.inspect(original.bytes, limits: limits)
            }
            let bytes = PixelCapacity.bytesNeeded(
                for: info, fitting: box, filters: filters, format: .jpeg)
            let work = TypedOperation<EncodedImage>(
                body: pixelWork(timeLimit: .seconds(60)) { cancellation throws(PhotoStageStop) in
                    try Self.render(
                        original.bytes, fitting: box, filters: filters, limits: limits,
                        cancellation)
                })
            work.apply([.name(name), capacity.processor, capacity.memory(bytes)])
            self.pixels.addOperation(work)
            let picture = try await work.valueUnlessCancelled
            return PhotoFile(
                bytes: picture.bytes, format: picture.format,
                madeFrom: "\(original.tag) \(side) \(filters)")
        }
        cache.insert(picture, byteCount: picture.bytes.count, for: request)
        return picture
    }

    private static func render(
        _ bytes: [UInt8], fitting box: PixelSize, filters: [ImageFilter], limits: ImageLimits,
        _ cancellation: ImagingCancellation
    ) throws(PhotoStageStop) -> EncodedImage {
        let bitmap = try pixelStage(.decode) { () throws(ImagingError) in
            try ImageEngine.decode(
                bytes, fitting: box, limits: limits, cancellation: cancellation)
        }
        let filtered = try pixelStage(.filter) { () throws(ImagingError) in
            try ImageEngine.apply(filters, to: bitmap, cancellation: cancellation)
        }
        return try pixelStage(.encode) { () throws(ImagingError) in
            try ImageEngine.encode(
                filtered, as: .jpeg, quality: quality, cancellation: cancellation)
        }
    }

    // MARK: Parts

    private func record(at row: Row) throws(PhotoStageStop) -> PhotoRecord {
        guard records.indices.contains(row.index) else {
            throw .failed(
                PhotoFailure(
                    stage: .source, reason: "The list has no photo number \(row.index).",
                    isRetryable: false))
        }
        return records[row.index]
    }

    private func limits(of record: PhotoRecord) -> ImageLimits {
        record.url.map(options.limits.limits) ?? options.limits.downloads
    }

    /// The failure of an entry that has failed in the list itself.
    private static func noAddress(_ record: PhotoRecord) -> PhotoFailure {
        record.state.failure
            ?? PhotoFailure(stage: .source, reason: "The photo has no URL.", isRetryable: false)
    }

    /// Does the work of a request once for all equal requests that are under way.
    private func shared<Value: Sendable>(
        _ request: Request, in queue: OperationQueue, named name: String,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws(PhotoStageStop) -> Value {
        callerCount += 1
        defer { callerCount -= 1 }
        return try await stage {
            try await queue.sharedValue(.name(name), by: request, body: body)
        }
    }
}
