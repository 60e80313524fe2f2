import Operations
import OperationsInsight
public import PhotoImaging
@_spi(ClassicPhotos) public import PhotoPipeline
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Serves single photos of a list: details, larger pictures with any filters, and originals.
///
/// ```swift
/// let viewer = PhotoViewer(records: list.records, options: options, loader: loader)
/// let picture = try await viewer.picture(of: Row(3), fitting: 1280, filters: [.noir()])
/// ```
///
/// Equal requests that are under way at the same time share one operation. A request ends early
/// when the calling task is cancelled; the shared work is cancelled when nobody waits for it any
/// more. A ``PhotoLoader`` loads the originals and makes the pictures, so the viewer shares
/// downloads and decoded pictures with the pages of the list. The latest originals and pictures
/// stay in memory, within a limit.
///
/// One viewer serves all pages of a list. Call it from any task.
public actor PhotoViewer {
    /// A request names its photo by the identifier: the row may get a changed photo later.
    private enum Request: Hashable {
        case original(PhotoID)
        case details(PhotoID)
        case picture(PhotoID, side: Int, filters: [ImageFilter])
        case result(PhotoID, PhotoRecipe)
    }

    private let catalog: PhotoCatalog
    nonisolated let loader: PhotoLoader
    private let cache: Mutex<ByteCache<Request, PhotoFile>>
    /// The number of callers that wait, for tests.
    private(set) var callerCount = 0

    /// The queue of downloads, for display.
    nonisolated let downloads = Operations.OperationQueue()
    /// The operations that stand for a whole request; they wait for operations of the other queues.
    private let requests = Operations.OperationQueue()

    private static let quality = 85
    /// The largest side whose decoded picture stays in the loader's memory. The pixels of larger
    /// pictures would displace most of the others.
    private static let largestKeptSide = 2_560

    /// Creates a viewer.
    ///
    /// - Parameters:
    ///   - records: the list; a ``Row`` is an index in it.
    ///   - options: the number of downloads at a time, the memory for files, and the timeline; the
    ///     rest is not used.
    ///   - loader: loads the originals and makes the pictures, within its limits.
    public init(
        records: [PhotoRecord], options: PhotoListSession.Options, loader: PhotoLoader
    ) {
        self.init(catalog: PhotoCatalog(records), options: options, loader: loader)
    }

    /// Creates a viewer of the photos that a catalog has at the time of each request.
    public init(
        catalog: PhotoCatalog, options: PhotoListSession.Options, loader: PhotoLoader
    ) {
        self.catalog = catalog
        self.loader = loader
        let limit = options.viewerBytes
        // A camera's file is a few megabytes, and should fit where memory is short, too.
        cache = Mutex(ByteCache(byteLimit: limit, largestEntry: limit / 2))
        downloads.name = "Viewer download queue"
        downloads.maxConcurrentOperationCount = options.downloads
        requests.maxConcurrentOperationCount = 64
        options.timeline?.record(downloads)
    }

    /// Cancels everything under way.
    public func close() {
        for queue in [requests, downloads] { queue.cancelAllOperations() }
    }

    /// Drops all files from memory.
    public nonisolated func removeMemoryCache() {
        // The files are released without the lock.
        let dropped = cache.withLock { $0.removeAll() }
        withExtendedLifetime(dropped) {}
    }

    /// The numbers of requests that were answered from memory, and that were not.
    public nonisolated var cacheUse: (hits: Int, misses: Int) {
        cache.withLock { ($0.hits, $0.misses) }
    }

    // MARK: Requests

    /// The original file of a row.
    ///
    /// - Throws: the failure, in words for people, or `cancelled`.
    public func original(of row: Row) async throws(PhotoStageStop) -> PhotoFile {
        try await original(of: try record(at: row))
    }

    private func original(of record: PhotoRecord) async throws(PhotoStageStop) -> PhotoFile {
        let request = Request.original(record.id)
        if let original = cache.withLock({ $0.value(for: request) }) { return original }
        guard let url = record.url else { throw .failed(Self.noAddress(record)) }
        let original = try await shared(request, in: downloads, named: "Original \(record.name)") {
            [loader] in
            let (original, bytes) = try await loader.originalWithBytes(
                of: PhotoLoader.Source(url: url, folder: record.folder), priority: .high)
            return PhotoFile(
                bytes: bytes, format: ImageFormat(contents: bytes),
                madeFrom: original.version.text, original: original)
        }
        keep(original, for: request)
        return original
    }

    /// The details of a row: what its header and its EXIF block say.
    ///
    /// - Throws: the failure, in words for people, or `cancelled`.
    public func details(of row: Row) async throws(PhotoStageStop) -> PhotoDetails {
        let record = try record(at: row)
        let name = "Details of \(record.name)"
        return try await shared(.details(record.id), in: requests, named: name) { [loader] in
            let original = try await self.original(of: record)
            let limits = record.url.map(loader.options.limits.limits) ?? .standard
            return try await loader.read(named: record.name, priority: .high) {
                () throws(ImagingError) in
                let info = try ImageEngine.inspect(original.bytes, limits: limits)
                let fields = try ImageEngine.exif(of: original.bytes, limits: limits)
                return PhotoDetails(
                    byteCount: original.bytes.count, info: info, fields: fields)
            }
        }
    }

    /// A row's picture if it is in memory, without waiting for other requests; nil otherwise.
    ///
    /// The parameters are those of ``picture(of:fitting:filters:)``.
    public nonisolated func pictureInMemory(
        of row: Row, fitting side: Int?, filters: [ImageFilter]
    ) -> PhotoFile? {
        guard let record = catalog.contents.record(at: row.index) else { return nil }
        let request = Self.request(for: record.id, side, filters)
        // Only a picture that is missing for its request counts as a miss.
        return cache.withLock { $0.contains(request) ? $0.value(for: request) : nil }
    }

    /// A row's picture as a JPEG without metadata, shrunk to fit a square.
    ///
    /// - Parameters:
    ///   - row: the row.
    ///   - side: the side of the square in pixels; nil for the photo's own size. A smaller picture
    ///     keeps its size.
    ///   - filters: the filters, in order.
    /// - Throws: the failure, in words for people, or `cancelled`.
    public func picture(
        of row: Row, fitting side: Int?, filters: [ImageFilter]
    ) async throws(PhotoStageStop) -> PhotoFile {
        let record = try record(at: row)
        switch Self.request(for: record.id, side, filters) {
        case .result(_, let recipe):
            return try await result(of: record, by: recipe)
        case let request:
            return try await picture(request, of: record, side ?? Self.largestKeptSide, filters)
        }
    }

    /// The request for a picture: a large one is made as a result is, in one piece.
    private static func request(
        for id: PhotoID, _ side: Int?, _ filters: [ImageFilter]
    ) -> Request {
        if let side, side <= largestKeptSide {
            return .picture(id, side: side, filters: filters)
        }
        let recipe = PhotoRecipe(
            filters: filters, size: side.map { PixelSize(width: $0, height: $0) }, format: .jpeg,
            quality: quality, keepsMetadata: false, acceptsDamage: true)
        return .result(id, recipe)
    }

    private func picture(
        _ request: Request, of record: PhotoRecord, _ side: Int, _ filters: [ImageFilter]
    ) async throws(PhotoStageStop) -> PhotoFile {
        if let picture = cache.withLock({ $0.value(for: request) }) { return picture }
        let name = "Picture of \(record.name), \(side) px"
        let picture = try await shared(request, in: requests, named: name) { [loader] in
            let file = try await self.original(of: record)
            guard let original = file.original else { throw PhotoStageStop.cancelled }
            let wanted = PhotoRequest(
                url: original.url, in: record.folder,
                fitting: PixelSize(width: side, height: side), priority: .high)
            // The decoded picture stays in the loader's memory, for the next filter. Each of the
            // results would displace many small pictures of the list; the viewer keeps their files.
            var photo = try await loader.photo(from: original, for: wanted)
            if !filters.isEmpty {
                photo = try await loader.processed(
                    photo, by: [.filters(filters)], priority: .high, isKept: false)
            }
            let image = try await loader.encoded(
                photo, as: .jpeg, quality: Self.quality, priority: .high, isKept: false
            ).image
            return PhotoFile(
                bytes: image.bytes, format: image.format,
                madeFrom: "\(file.tag) \(side) \(filters)")
        }
        keep(picture, for: request)
        return picture
    }

    /// The file that a ``PhotoBatch`` would write for a row: with the metadata, the depth and the
    /// frames that the recipe and the format keep.
    ///
    /// The pixels are needed only while the file is made; the file stays in memory as pictures do.
    ///
    /// - Throws: the failure, in words for people, or `cancelled`.
    public func result(
        of row: Row, by recipe: PhotoRecipe
    ) async throws(PhotoStageStop) -> PhotoFile {
        try await result(of: try record(at: row), by: recipe)
    }

    private func result(
        of record: PhotoRecord, by recipe: PhotoRecipe
    ) async throws(PhotoStageStop) -> PhotoFile {
        let request = Request.result(record.id, recipe)
        if let result = cache.withLock({ $0.value(for: request) }) { return result }
        let name = "Result of \(record.name)"
        let result = try await shared(request, in: requests, named: name) { [loader] in
            let file = try await self.original(of: record)
            guard let original = file.original else { throw PhotoStageStop.cancelled }
            let image = try await loader.result(
                of: original, by: recipe, priority: .high
            ).image
            return PhotoFile(
                bytes: image.bytes, format: image.format,
                madeFrom: "\(file.tag) \(recipe.fingerprint)")
        }
        keep(result, for: request)
        return result
    }

    /// The name of the file that a ``PhotoBatch`` would write for a row, without its folder.
    ///
    /// The name has no number, which a batch adds to equal names of different photos.
    public nonisolated func resultName(of row: Row, as format: ImageFormat) -> String {
        OutputNames.fileName(of: catalog.contents.records[row.index], writtenAs: format)
    }

    // MARK: Parts

    private func keep(_ file: PhotoFile, for request: Request) {
        // The dropped files are released without the lock.
        let dropped = cache.withLock {
            $0.insert(file, byteCount: file.bytes.count, for: request)
        }
        withExtendedLifetime(dropped) {}
    }

    private func record(at row: Row) throws(PhotoStageStop) -> PhotoRecord {
        guard let record = catalog.contents.record(at: row.index) else {
            throw .failed(
                PhotoFailure(
                    stage: .source, reason: "The list has no photo number \(row.index).",
                    isRetryable: false))
        }
        return record
    }

    /// The failure of an entry that has failed in the list itself.
    private static func noAddress(_ record: PhotoRecord) -> PhotoFailure {
        record.state.failure
            ?? PhotoFailure(stage: .source, reason: "The photo has no URL.", isRetryable: false)
    }

    /// Does the work of a request once for all equal requests that are under way.
    private func shared<Value: Sendable>(
        _ request: Request, in queue: Operations.OperationQueue, named name: String,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws(PhotoStageStop) -> Value {
        callerCount += 1
        defer { callerCount -= 1 }
        do {
            return try await queue.sharedValue(.name(name), by: request, body: body)
        } catch {
            throw PhotoStageStop(error)
        }
    }
}
