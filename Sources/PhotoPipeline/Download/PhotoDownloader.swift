import AsyncHTTPClient
public import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix

/// Fetches files over http and https and from this machine's disk, within limits.
///
/// One downloader serves a whole program: it keeps connections for reuse. Shut it down when done.
public final class PhotoDownloader: Sendable {
    private let client: HTTPClient
    private let limits: DownloadLimits

    /// Makes a downloader; no connection is made yet.
    public init(limits: DownloadLimits = DownloadLimits()) {
        var configuration = HTTPClient.Configuration()
        configuration.timeout.connect = TimeAmount(limits.connectTimeout)
        configuration.timeout.read = TimeAmount(limits.idleTimeout)
        configuration.redirectConfiguration = .follow(
            max: limits.maximumRedirects, allowCycles: false)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
            limits.connectionsPerHost
        // Trying again is decided here, where it is known what went wrong.
        configuration.connectionPool.retryConnectionEstablishment = false
        self.client = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: configuration)
        self.limits = limits
    }

    /// Runs a closure with a downloader that is shut down afterwards, whatever happened.
    public static func run<Value>(
        limits: DownloadLimits = DownloadLimits(),
        _ body: (PhotoDownloader) async throws -> Value
    ) async rethrows -> Value {
        let downloader = PhotoDownloader(limits: limits)
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
    public func shutdown() async {
        // The only error is that it was shut down before, which is what is wanted.
        try? await client.shutdown()
    }

    /// The whole content of a URL.
    ///
    /// - Throws: the failure, in words for people, or that the calling task was cancelled.
    public func bytes(of url: URL) async throws(PhotoStageStop) -> [UInt8] {
        url.isFileURL ? try await readFile(url) : try await fetch(url)
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

    private func fetch(_ url: URL) async throws(PhotoStageStop) -> [UInt8] {
        var delay = limits.retryDelay
        var attempt = 1
        while true {
            let failure: PhotoFailure
            let retry: DownloadProblem.Retry?
            do throws(DownloadProblem) {
                return try await fetchOnce(url)
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

    private func fetchOnce(_ url: URL) async throws(DownloadProblem) -> [UInt8] {
        do {
            var request = HTTPClientRequest(url: url.absoluteString)
            request.headers.add(name: "User-Agent", value: "classicphotos")
            request.headers.add(name: "Accept", value: "image/*, */*;q=0.1")
            let response = try await client.execute(
                request, deadline: .now() + TimeAmount(limits.totalTimeout))
            guard response.status == .ok else {
                throw DownloadProblem(answer: response.status, headers: response.headers)
            }
            return try await collect(response)
        } catch let problem as DownloadProblem {
            throw problem
        } catch {
            if Task.isCancelled { throw .cancelled }
            throw DownloadProblem(error, url: url, limits: limits)
        }
    }

    /// Counts the bytes as they come: what a server announces is not to be relied on.
    private func collect(_ response: HTTPClientResponse) async throws -> [UInt8] {
        let announced = response.headers.first(name: "content-length").flatMap { Int($0) }
        if let announced, announced > limits.maximumBytes { throw tooLarge }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(announced ?? 0)
        for try await chunk in response.body {
            guard bytes.count + chunk.readableBytes <= limits.maximumBytes else { throw tooLarge }
            bytes.append(contentsOf: chunk.readableBytesView)
        }
        return bytes
    }

    private var tooLarge: DownloadProblem { .tooLarge(limit: limits.maximumBytes) }
}

extension TimeAmount {
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self = .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
