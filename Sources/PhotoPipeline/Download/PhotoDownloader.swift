#if PhotoPipeline
import Operations

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Downloads files over http and https, and reads files from the local disk, within limits.
///
/// The downloader connects only to public addresses, initially and after every redirection. This
/// machine and its local network are off limits, whatever name a URL or a name server uses, except
/// for hosts that are allowed when the downloader is created. URLs with a user name or password,
/// and redirections from https to http, are rejected.
///
/// One downloader serves a whole program: it reuses connections, and carries out equal downloads at
/// the same time only once, also those of several loaders. Call
/// ``shutdown()`` when done. All methods are thread-safe.
public final class PhotoDownloader: Sendable {
    private let web: WebClient
    private let limits: DownloadLimits
    /// The downloads over http and https, with their further attempts.
    let downloads = Operations.OperationQueue()
    /// Those who watch downloads.
    let progress = ProgressBoard()

    /// What a download depends on.
    private struct Key: Hashable, Sendable {
        let url: URL
        let version: String?
    }

    /// Creates a downloader; it opens no connection yet.
    ///
    /// - Parameters:
    ///   - limits: the limits on size, duration and number of attempts.
    ///   - allowed: the hosts that may have addresses which are not public.
    public convenience init(
        limits: DownloadLimits = DownloadLimits(), allowing allowed: [AllowedHost] = []
    ) {
        self.init(limits: limits, allowing: allowed, lookup: nil)
    }

    /// - Parameter lookup: finds the addresses of a host, for tests; nil for the system's lookup.
    init(limits: DownloadLimits, allowing allowed: [AllowedHost], lookup: HostGuard.Lookup?) {
        self.limits = limits
        downloads.name = "Web downloads"
        downloads.maxConcurrentOperationCount = .max
        web = WebClient(limits: limits, hosts: HostGuard(allowing: allowed, lookup: lookup))
    }

    /// Runs a closure with a downloader and shuts the downloader down afterwards, even after an
    /// error.
    public static func run<Value>(
        limits: DownloadLimits = DownloadLimits(), allowing allowed: [AllowedHost] = [],
        _ body: (PhotoDownloader) async throws -> Value
    ) async rethrows -> Value {
        let downloader = PhotoDownloader(limits: limits, allowing: allowed)
        do {
            let value = try await body(downloader)
            await downloader.shutdown()
            return value
        } catch {
            await downloader.shutdown()
            throw error
        }
    }

    /// Reports the progress of a URL's download, whoever has asked for it.
    ///
    /// - Parameter report: called on any thread for each part that arrives.
    /// - Returns: a function that ends the reports.
    @_spi(ClassicPhotos) public func watch(
        _ url: URL, _ report: @escaping @Sendable (DownloadProgress) -> Void
    ) -> @Sendable () -> Void {
        let number = progress.watch(url, report)
        return { [progress] in progress.end(number, of: url) }
    }

    /// The number of requests that are in progress or wait for their turn at their host, for tests.
    var requestCount: Int { web.requestCount }

    /// Cancels all downloads, and closes all connections.
    public func shutdown() async { await web.shutdown() }

    /// A file and its final URL.
    public struct Content: Sendable, Hashable {
        /// The contents of the file.
        public let bytes: [UInt8]
        /// The URL of the file after all redirections.
        public let url: URL
        /// The version of the contents.
        public let version: PhotoVersion
        /// How long the contents may be used without another question to the server.
        let freshness: ResponseFreshness
    }

    /// The result of a download with a condition.
    enum Answer: Sendable {
        case content(Content)
        /// The contents still have the known version.
        case unchanged(ResponseFreshness)
    }

    /// Downloads the contents of a URL.
    ///
    /// - Throws: the failure, in words for people, or `cancelled` if the calling task was
    ///   cancelled.
    public func bytes(of url: URL) async throws(PhotoStageStop) -> [UInt8] {
        try await content(of: url).bytes
    }

    /// Downloads the contents of a URL and reports the URL after all redirections.
    ///
    /// - Throws: the failure, in words for people, or `cancelled` if the calling task was
    ///   cancelled.
    public func content(of url: URL) async throws(PhotoStageStop) -> Content {
        try await content(of: PhotoLoader.Source(url: url))
    }

    func content(of source: PhotoLoader.Source) async throws(PhotoStageStop) -> Content {
        guard let content = try await content(of: source, unless: nil) else {
            preconditionFailure("a request without a condition always has an answer")
        }
        return content
    }

    /// Downloads the contents of a URL if they have changed.
    ///
    /// - Parameter version: the text of an earlier ``PhotoVersion``; nil to download in any case.
    /// - Returns: nil if the contents still have that version.
    func content(
        of source: PhotoLoader.Source, unless version: String?
    ) async throws(PhotoStageStop) -> Content? {
        switch try await answer(of: source, unless: version) {
        case .content(let content): content.version.text == version ? nil : content
        case .unchanged: nil
        }
    }

    /// Downloads the contents of a URL unless they have a known version.
    ///
    /// - Parameters:
    ///   - version: the text of an earlier ``PhotoVersion``; nil to download in any case.
    func answer(
        of source: PhotoLoader.Source, unless version: String?
    ) async throws(PhotoStageStop) -> Answer {
        let url = source.url
        guard !url.isFileURL else {
            let content = try await readFile(source, unless: version)
            return content.map { .content($0) } ?? .unchanged(.file)
        }
        let start: WebURL
        do throws(PhotoURLProblem) {
            start = try WebURL(url)
        } catch {
            throw .failed(
                PhotoFailure(
                    stage: .download, reason: "The URL cannot be downloaded: \(error.message).",
                    isRetryable: false, cause: .init(.badAddress, ["detail": error.message])))
        }
        return try await fetch(start, unless: version)
    }

    /// The maximum size of a URL's contents in bytes, as far as it is known before the download.
    @_spi(ClassicPhotos) public func maximumSize(of source: PhotoLoader.Source) -> Int {
        guard let file = source.file, let status = LocalFiles.status(of: file) else {
            return limits.maximumBytes
        }
        return min(status.byteCount, limits.maximumFileBytes)
    }

    // MARK: Disk

    private func readFile(
        _ source: PhotoLoader.Source, unless known: String?
    ) async throws(PhotoStageStop) -> Content? {
        let limit = limits.maximumFileBytes
        // Taken before the contents, so that a change in between is noticed the next time.
        let version = source.file.flatMap { LocalFiles.version(of: $0) }
        if let known, version?.text == known { return nil }
        let result = await blocking {
            LocalFiles.photoBytes(of: source.url, in: source.folder, limit: limit)
        }
        if Task.isCancelled { throw .cancelled }
        switch result {
        case .success(let bytes):
            return Content(
                bytes: bytes, url: source.url,
                version: version
                    ?? PhotoVersion(bytes: bytes, entityTag: nil, lastModified: nil, now: 0),
                freshness: .file)
        case .failure(let failure): throw .failed(failure)
        }
    }

    // MARK: Web

    private func fetch(
        _ url: WebURL, unless version: String?
    ) async throws(PhotoStageStop) -> Answer {
        let retries = OperationTrait.retry(
            max(limits.attempts, 1) - 1, backoff: .exponential(from: limits.retryDelay)
        ) { [limits] error in
            guard case DownloadProblem.failed(_, let retry?) = error,
                (retry.after ?? .zero) <= limits.maximumRetryDelay
            else { return .stop }
            return .retry(after: retry.after ?? .zero)
        }
        let transfer = DownloadTransfer(unless: version) { [progress] in
            progress.report($0, of: url.url)
        }
        do {
            return try await downloads.sharedValue(
                .name(url.url.lastPathComponent), retries, by: Key(url: url.url, version: version),
                priority: Operations.Operation.current?.queuePriority ?? .normal
            ) { [web] () async throws -> Answer in
                try await web.fetch(url, transfer)
            }
        } catch DownloadProblem.failed(let failure, _) {
            throw .failed(failure)
        } catch {
            throw .cancelled
        }
    }
}

extension ResponseFreshness {
    /// A file on the disk may change at any time, and is no matter for a cache on the disk.
    fileprivate static let file = ResponseFreshness(isStorable: false, end: 0)
}
#endif
