public import FoundationEssentials
import NIOPosix

/// Fetches files over http and https and from this machine's disk, within limits.
///
/// Only public addresses are connected to, at first and after every redirection: not this machine, not
/// the network around it, whatever a URL or a name server calls them. Hosts for which that is wanted are
/// named when the downloader is made. URLs with a user name or password, and redirections from https to
/// http, are refused.
///
/// One downloader serves a whole program: it keeps connections for reuse. Shut it down when done.
public final class PhotoDownloader: Sendable {
    private let web: WebClient
    private let limits: DownloadLimits

    /// Makes a downloader; no connection is made yet.
    ///
    /// - Parameters:
    ///   - limits: how much, how long and how often.
    ///   - allowed: the hosts that may have addresses which are not public.
    public convenience init(
        limits: DownloadLimits = DownloadLimits(), allowing allowed: [AllowedHost] = []
    ) {
        self.init(limits: limits, allowing: allowed, lookup: nil)
    }

    /// - Parameter lookup: what finds the addresses of a host, for tests; nil for the system.
    init(limits: DownloadLimits, allowing allowed: [AllowedHost], lookup: HostGuard.Lookup?) {
        self.limits = limits
        web = WebClient(limits: limits, hosts: HostGuard(allowing: allowed, lookup: lookup))
    }

    /// Runs a closure with a downloader that is shut down afterwards, whatever happened.
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

    /// Closes all connections.
    public func shutdown() async { await web.shutdown() }

    /// A file and where it was found.
    public struct Content: Sendable, Hashable {
        /// The whole file.
        public let bytes: [UInt8]
        /// The URL that it came from in the end, after all redirections.
        public let url: URL
    }

    /// The whole content of a URL.
    ///
    /// - Throws: the failure, in words for people, or that the calling task was cancelled.
    public func bytes(of url: URL) async throws(PhotoStageStop) -> [UInt8] {
        try await content(of: url).bytes
    }

    /// The whole content of a URL, and where redirections led to.
    ///
    /// - Throws: the failure, in words for people, or that the calling task was cancelled.
    public func content(of url: URL) async throws(PhotoStageStop) -> Content {
        guard !url.isFileURL else { return Content(bytes: try await readFile(url), url: url) }
        let start: WebURL
        do throws(PhotoURLProblem) {
            start = try WebURL(url)
        } catch {
            throw .failed(
                PhotoFailure(
                    stage: .download, reason: "This cannot be fetched: \(error.sentence).",
                    isRetryable: false))
        }
        return try await fetch(start)
    }

    /// How large the content of a URL will be at most, as far as that is known before it is
    /// fetched.
    func sizeInAdvance(of url: URL) -> Int {
        guard url.isFileURL, let path = LocalPath(url),
            case .file(let size)? = try? LocalFiles.kind(
                of: path, followingLinks: true, named: "file")
        else { return limits.maximumBytes }
        return min(size, limits.maximumBytes)
    }

    // MARK: Disk

    private func readFile(_ url: URL) async throws(PhotoStageStop) -> [UInt8] {
        let limit = limits.maximumBytes
        let result: Result<[UInt8], PhotoFailure>
        do {
            result = try await NIOThreadPool.singleton.runIfActive {
                LocalFiles.photoBytes(of: url, limit: limit)
            }
        } catch {
            throw .cancelled
        }
        if Task.isCancelled { throw .cancelled }
        switch result {
        case .success(let bytes): return bytes
        case .failure(let failure): throw .failed(failure)
        }
    }

    // MARK: Web

    private func fetch(_ url: WebURL) async throws(PhotoStageStop) -> Content {
        var delay = limits.retryDelay
        var attempt = 1
        while true {
            let failure: PhotoFailure
            let retry: DownloadProblem.Retry?
            do throws(DownloadProblem) {
                return try await web.fetch(url)
            } catch {
                guard case .failed(let reason, let hope) = error else { throw .cancelled }
                (failure, retry) = (reason, hope)
            }
            guard attempt < limits.attempts, let retry,
                (retry.after ?? .zero) <= limits.maximumRetryDelay
            else { throw .failed(failure) }
            let wait = max(delay * .random(in: 0.5...1.5), retry.after ?? .zero)
            do { try await Task.sleep(for: wait) } catch { throw .cancelled }
            delay *= 2
            attempt += 1
        }
    }
}
