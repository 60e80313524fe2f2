#if PhotoPipeline
public import PhotoImaging
public import Operations
public import OperationsInsight
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Loads photos for any number of callers, and does nothing twice.
///
/// ```swift
/// let photo = try await loader.photo(for: url)
/// let small = try await loader.photo(
///     for: url, filters: [.sepia()], fitting: PixelSize(width: 640, height: 640))
/// ```
///
/// Equal requests at the same time share one download, one decoding and one rendering; requests for
/// other sizes or filters share what is equal. Shared work has the highest priority that a caller
/// gave. It is cancelled when the tasks of all its callers are cancelled. Pictures are kept in
/// memory. A photo is asked for again when its response has become stale, with a condition, so that
/// an unchanged photo is not sent again.
///
/// All methods are thread-safe.
public final class PhotoLoader: Sendable {
    /// How a loader works.
    public struct Options: Sendable {
        /// The limits that a picture must meet before it is decoded.
        public var limits = SourceLimits()
        /// The processors and the memory that the loader shares with other pixel work.
        public var capacity = PixelCapacity.shared
        /// The maximum number of photos that are downloaded or read at a time: 32. The limits of
        /// the ``PhotoDownloader`` for each host apply, too.
        public var downloads = 32
        /// The maximum size of what is kept in memory, in bytes: 256 MiB. 0 keeps nothing. Pixels,
        /// encoded pictures, and downloads unless there is a cache on the disk, share it; the
        /// least recently used goes first.
        public var memoryBytes = 256 << 20
        /// The cache of downloads on the disk; nil for none.
        public var diskCache: PhotoDiskCache?
        /// Whether a file that ends too early, or has wrong data, is decoded as far as that is
        /// possible. ``Photo/damage`` of such a photo says what is wrong.
        public var acceptsDamage = false
        /// Records the loader's queues; nil for no recording.
        public var timeline: OperationTimeline?
        /// Makes ``Photo/notes``: what a program keeps with each decoded photo, such as what its
        /// file says of it; nil for nothing. Called with the original, its header, its pixels and
        /// the limits, on a thread that may block.
        @_spi(ClassicPhotos) public var notes: Notes?
        /// The names of the loader's queues in a timeline.
        @_spi(ClassicPhotos)
        public var queueNames = (originals: "Photo originals", pixels: "Photo pixels")

        /// See ``notes``.
        @_spi(ClassicPhotos) public typealias Notes =
            @Sendable ([UInt8], ImageInfo, Bitmap, ImageLimits) -> any Sendable

        /// Creates options with the default values above.
        public init() {}
    }

    /// How the loader works.
    public let options: Options
    /// Downloads the photos.
    public let downloader: PhotoDownloader
    let memory: PictureCache
    /// What is known about the versions of photos on the web.
    private let known = Mutex<[URL: Known]>([:])
    /// Whole requests, which wait for the work of the other queues.
    let requests = Operations.OperationQueue()
    let originals = Operations.OperationQueue()
    let pixels = Operations.OperationQueue()

    /// Where an original is.
    @_spi(ClassicPhotos) public struct Source: Sendable, Hashable {
        /// The address.
        public let url: URL
        /// The folder outside of which a local file must not lead; nil for any place.
        public let folder: LocalPath?

        /// Names an original.
        public init(url: URL, folder: LocalPath? = nil) {
            self.url = url
            self.folder = folder
        }

        /// The file; nil on the web.
        public var file: LocalFile? { LocalFile(url, in: folder) }
    }

    private struct Known: Sendable {
        let version: PhotoVersion
        var freshness: ResponseFreshness
    }

    private static let knownLimit = 100_000

    /// Creates a loader; no work starts before the first request.
    ///
    /// - Parameters:
    ///   - downloader: downloads the photos; the loader does not shut it down.
    ///   - options: how the loader works.
    public init(downloader: PhotoDownloader, options: Options = Options()) {
        self.options = options
        self.downloader = downloader
        memory = PictureCache(limit: options.memoryBytes)
        requests.name = "Photo requests"
        requests.maxConcurrentOperationCount = .max
        originals.name = options.queueNames.originals
        originals.maxConcurrentOperationCount = max(1, options.downloads)
        pixels.name = options.queueNames.pixels
        // The width equals the number of processors, so that priorities decide.
        pixels.maxConcurrentOperationCount = options.capacity.processors.permits
        for queue in [originals, pixels] { options.timeline?.record(queue) }
    }

    // MARK: Photos

    /// Returns a photo: from memory, from the disk or from its source.
    ///
    /// - Parameters:
    ///   - url: the address of the photo: http, https or file.
    ///   - filters: the filters, applied in order.
    ///   - size: the box that the photo is shrunk to fit; nil for its full size.
    ///   - priority: the priority of the work; see ``PhotoRequest/priority``.
    /// - Throws: the failure, in words for people, or `cancelled` if the calling task was
    ///   cancelled.
    public func photo(
        for url: URL, filters: [ImageFilter] = [], fitting size: PixelSize? = nil,
        priority: Operations.Operation.QueuePriority = .normal
    ) async throws(PhotoStageStop) -> Photo {
        try await photo(
            for: PhotoRequest(url: url, filters: filters, fitting: size, priority: priority))
    }

    /// Returns the photo of a request: from memory, from the disk or from its source.
    ///
    /// - Throws: the failure, in words for people, or `cancelled` if the calling task was
    ///   cancelled.
    public func photo(for request: PhotoRequest) async throws(PhotoStageStop) -> Photo {
        if let photo = freshPhoto(for: request) { return photo }
        return try await stage { [self] in
            try await requests.sharedValue(by: request.identity, priority: request.priority) {
                [self] () async throws -> Photo in
                let original = try await original(for: request)
                if let photo = photoInMemory(for: request, original.version) { return photo }
                let photo = try await photo(from: original, for: request)
                return try await processed(
                    photo, by: request.processors, priority: request.priority)
            }
        }
    }

    /// The photo of a request, if it is in memory and certainly still current.
    private func freshPhoto(for request: PhotoRequest) -> Photo? {
        currentVersion(of: request.source).flatMap { photoInMemory(for: request, $0) }
    }

    /// The photo of a request, if a version of it is in memory.
    @_spi(ClassicPhotos) public func photoInMemory(
        for request: PhotoRequest, _ version: PhotoVersion
    ) -> Photo? {
        memory.photo(request.key(version, processors: request.processors), from: .memory)
    }

    /// Drops all pictures from memory; the cache on the disk is kept.
    public func removeMemoryCache() {
        memory.removeAll()
    }

    // MARK: Originals

    /// Returns the current version of a photo, and the bytes of a download if the pictures in
    /// memory do not suffice for the request.
    ///
    /// A file is read when it is decoded, so that no files wait in memory for a processor.
    ///
    /// - Throws: the failure, in words for people, or `cancelled` if the calling task was
    ///   cancelled.
    public func original(
        for request: PhotoRequest
    ) async throws(PhotoStageStop) -> PhotoOriginal {
        try await original(
            of: request.source, priority: request.priority, readsFile: false
        ) { [memory] version in
            memory.contains(request.key(version, processors: request.processors))
                || memory.contains(request.key(version))
        }
    }

    /// Returns the bytes of a photo as its source has them: from the cache or from the source.
    ///
    /// - Throws: the failure, in words for people, or `cancelled` if the calling task was
    ///   cancelled.
    public func bytes(
        of url: URL, priority: Operations.Operation.QueuePriority = .normal
    ) async throws(PhotoStageStop) -> [UInt8] {
        try await originalWithBytes(of: Source(url: url), priority: priority).bytes
    }

    /// - Parameters:
    ///   - readsFile: whether to read the bytes of a file that exists.
    ///   - isInMemory: whether pictures in memory suffice if the photo has a version.
    func original(
        of source: Source, priority: Operations.Operation.QueuePriority, readsFile: Bool = true,
        unless isInMemory: @escaping @Sendable (PhotoVersion) -> Bool
    ) async throws(PhotoStageStop) -> PhotoOriginal {
        try await stage { [self] in
            try await originals.sharedValue(
                .name("Load \(PhotoURL.name(of: source.url))"), by: source, priority: priority
            ) { [self] () async throws -> PhotoOriginal in
                try await source.url.isFileURL
                    ? file(source, isRead: readsFile, unless: isInMemory)
                    : download(source.url, unless: isInMemory)
            }
        }
    }

    /// The original with its bytes. The wait for shared work may return one without bytes, because
    /// pictures in memory sufficed for the request that began it; then the bytes are loaded.
    @_spi(ClassicPhotos) public func originalWithBytes(
        of source: Source, priority: Operations.Operation.QueuePriority
    ) async throws(PhotoStageStop) -> (original: PhotoOriginal, bytes: [UInt8]) {
        while true {
            let original = try await original(of: source, priority: priority) { _ in false }
            if let bytes = original.bytes { return (original, bytes) }
        }
    }

    private func file(
        _ source: Source, isRead: Bool, unless isInMemory: @Sendable (PhotoVersion) -> Bool
    ) async throws -> PhotoOriginal {
        if let version = currentVersion(of: source) {
            let origin = isInMemory(version) ? Photo.Origin.memory : .file
            if origin == .memory || !isRead {
                return PhotoOriginal(url: source.url, version: version, origin: origin, bytes: nil)
            }
        }
        let content = try await downloader.content(of: source)
        return PhotoOriginal(
            url: source.url, version: content.version, origin: .file, bytes: content.bytes)
    }

    private func download(
        _ url: URL, unless isInMemory: @Sendable (PhotoVersion) -> Bool
    ) async throws -> PhotoOriginal {
        let known = knownVersion(of: url)
        let inMemory = known.flatMap { version -> PhotoOriginal? in
            let bytes = memory.original(.original(url, version))
            guard bytes != nil || isInMemory(version) else { return nil }
            return PhotoOriginal(url: url, version: version, origin: .memory, bytes: bytes)
        }
        if let inMemory, currentVersion(of: Source(url: url)) == inMemory.version {
            return inMemory
        }
        let stored = await options.diskCache?.entry(for: url)
        if let stored {
            let isFresh = stored.freshness.isFresh(at: Self.now)
            remember(stored.version, stored.freshness, of: url)
            if isFresh { return stored.original(of: url) }
        }
        let condition = stored?.version ?? inMemory?.version
        let answer = try await downloader.answer(
            of: Source(url: url), unless: condition?.text)
        switch answer {
        case .content(let content):
            remember(content.version, content.freshness, of: url)
            if let cache = options.diskCache {
                await cache.store(content, for: url)
            } else {
                // Another size of the photo is then not downloaded again.
                memory.insert(
                    .original(content.bytes), for: .original(url, content.version))
            }
            return PhotoOriginal(
                url: url, version: content.version, origin: .network, bytes: content.bytes)
        case .unchanged(let freshness):
            guard let condition else { throw PhotoStageStop.cancelled }
            remember(condition, freshness, of: url)
            guard let stored else {
                return inMemory
                    ?? PhotoOriginal(url: url, version: condition, origin: .memory, bytes: nil)
            }
            await options.diskCache?.refresh(stored, with: freshness, for: url)
            return stored.original(of: url)
        }
    }

    // MARK: Versions

    /// The version that the photo certainly has now, without a question to its server.
    private func currentVersion(of source: Source) -> PhotoVersion? {
        if source.url.isFileURL { return source.file.flatMap { LocalFiles.version(of: $0) } }
        guard let known = known.withLock({ $0[source.url] }), known.freshness.isFresh(at: Self.now)
        else {
            return nil
        }
        return known.version
    }

    /// The version that the photo had when it was last looked at, or has as a file.
    @_spi(ClassicPhotos) public func latestVersion(of source: Source) -> PhotoVersion? {
        source.url.isFileURL ? currentVersion(of: source) : knownVersion(of: source.url)
    }

    private func knownVersion(of url: URL) -> PhotoVersion? { known.withLock { $0[url]?.version } }

    private func remember(_ version: PhotoVersion, _ freshness: ResponseFreshness, of url: URL) {
        known.withLock { known in
            // What is forgotten costs only a question to the server.
            if known.count >= Self.knownLimit { known.removeAll() }
            known[url] = Known(version: version, freshness: freshness)
        }
    }

    private static var now: Int { Int(Date.now.timeIntervalSince1970) }
}

extension PhotoRequest {
    /// Where the original is.
    @_spi(ClassicPhotos) public var source: PhotoLoader.Source {
        PhotoLoader.Source(url: url, folder: folder)
    }

    /// The key of the decoded photo, or of the processed one.
    func key(_ version: PhotoVersion, processors: [PhotoProcessor] = []) -> PictureKey {
        PictureKey(url: url, version: version.text, size: size, processors: processors)
    }
}
#endif
