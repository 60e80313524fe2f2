import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import Operations

/// Makes one attempt at a download over http or https.
///
/// This type follows redirections itself, because the address rules apply to each of them. It uses
/// only HTTP/1.1, so that the address of a connection can be checked before any byte is sent.
final class WebClient: Sendable {
    private let limits: DownloadLimits
    private let hosts: HostGuard
    /// The requests: those in progress, and those that wait for their turn at their host. A wait
    /// has no time limit, because earlier downloads may be large files.
    private let requests = OperationQueue()
    /// The client for public addresses only.
    private let guarded: HTTPClient
    /// The client for allowed hosts at any address.
    private let unguarded: HTTPClient

    init(limits: DownloadLimits, hosts: HostGuard) {
        self.limits = limits
        self.hosts = hosts
        requests.name = "Web requests"
        requests.maxConcurrentOperationCount = .max
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = TimeAmount(limits.connectTimeout)
        configuration.redirectConfiguration = .disallow
        // The client counts the wait for a pooled connection as connection time. So it gets fewer
        // requests than it may have connections; half as many, because some connections are still
        // closing.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
            2 * max(limits.connectionsPerHost, 1)
        // PhotoDownloader decides about retries, because it knows the cause of a failure.
        configuration.connectionPool.retryConnectionEstablishment = false
        unguarded = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        configuration.http1_1ConnectionDebugInitializer = HostGuard.checkConnection
        guarded = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// The number of requests that are in progress or wait for their turn at their host.
    var requestCount: Int { requests.operationCount }

    /// Closes all connections.
    func shutdown() async {
        // The only possible error is an earlier shutdown, which is harmless.
        try? await guarded.shutdown()
        try? await unguarded.shutdown()
    }

    /// Downloads the contents of a URL, following redirections.
    ///
    /// - Parameters:
    ///   - version: the text of a ``PhotoVersion`` that need not be downloaded again.
    ///   - progress: called for each part of the body.
    func fetch(
        _ start: WebURL, unless version: String?, progress: DownloadProgress.Handler?
    ) async throws(DownloadProblem) -> PhotoDownloader.Answer {
        var url = start
        // A redirection that is not permanent may lead elsewhere the next time.
        var isPermanent = true
        var visited: Set<String> = []
        var remaining = limits.totalTimeout
        while true {
            let (answer, time) = try await request(
                url, unless: version, remaining: remaining, progress)
            switch answer {
            case .content(let bytes, let version, var freshness):
                if !isPermanent { freshness.end = 0 }
                return .content(
                    .init(bytes: bytes, url: url.url, version: version, freshness: freshness))
            case .unchanged(var freshness):
                if !isPermanent { freshness.end = 0 }
                return .unchanged(freshness)
            case .redirect(let location, let staysTrue):
                isPermanent = isPermanent && staysTrue
                visited.insert(url.url.absoluteString)
                let next: WebURL
                do throws(PhotoURLProblem) {
                    next = try url.redirected(to: location)
                } catch {
                    throw .redirect(url.host, problem: error.message)
                }
                guard !visited.contains(next.url.absoluteString) else {
                    throw .redirectCycle(url.host)
                }
                guard visited.count <= limits.maximumRedirects else {
                    throw .tooManyRedirects(url.host, limit: limits.maximumRedirects)
                }
                url = next
                remaining -= time
            }
        }
    }

    private enum Answer: Sendable {
        case content([UInt8], PhotoVersion, ResponseFreshness)
        case unchanged(ResponseFreshness)
        /// The value of the `Location` header, and whether the redirection is permanent.
        case redirect(to: String, isPermanent: Bool)
    }

    /// Sends one request when it is its turn at its host; returns the result, and the duration
    /// without the wait.
    private func request(
        _ url: WebURL, unless version: String?, remaining: Duration,
        _ progress: DownloadProgress.Handler?
    ) async throws(DownloadProblem) -> (Answer, Duration) {
        let request = requests.add(
            .name(url.origin), .limited(to: max(limits.connectionsPerHost, 1), by: url.origin),
            .priority(Operation.current?.queuePriority ?? .normal)
        ) { [self] () async throws -> (Answer, Duration) in
            let clock = ContinuousClock()
            let start = clock.now
            let answer = try await DownloadWatch.run(limits: limits, remaining: remaining) {
                try await self.answer(to: url, unless: version, watch: $0, progress)
            }
            return (answer, clock.now - start)
        }
        do {
            return try await request.valueUnlessCancelled
        } catch let problem as DownloadProblem {
            throw problem
        } catch {
            if Task.isCancelled { throw .cancelled }
            throw DownloadProblem(error, url: url, limits: limits)
        }
    }

    private func answer(
        to url: WebURL, unless version: String?, watch: DownloadWatch,
        _ progress: DownloadProgress.Handler?
    ) async throws -> Answer {
        let isAllowed = hosts.isAllowed(url)
        if !isAllowed { try await hosts.check(url) }
        var request = HTTPClientRequest(url: url.url.absoluteString)
        request.headers.add(name: "User-Agent", value: "classicphotos")
        request.headers.add(name: "Accept", value: "image/*, */*;q=0.1")
        let condition = version.flatMap { PhotoVersion.condition(for: $0) }
        if let condition { request.headers.add(name: condition.name, value: condition.value) }
        let client = isAllowed ? unguarded : guarded
        let response = try await client.execute(request, deadline: .distantFuture)
        watch.bytesArrived()
        let now = Int(Date.now.timeIntervalSince1970)
        let freshness = ResponseFreshness(headers: response.headers, now: now)
        switch response.status {
        case .ok:
            let bytes = try await collect(response, watch: watch, progress)
            let headers = response.headers
            return .content(
                bytes,
                PhotoVersion(
                    bytes: bytes, entityTag: headers.first(name: "etag"),
                    lastModified: headers.first(name: "last-modified"), now: now), freshness)
        case .notModified where condition != nil: return .unchanged(freshness)
        case .movedPermanently, .found, .seeOther, .temporaryRedirect, .permanentRedirect:
            guard let location = response.headers.first(name: "location") else {
                throw DownloadProblem.redirect(
                    url.host, problem: "the response has no Location header")
            }
            let isPermanent = [.movedPermanently, .permanentRedirect].contains(response.status)
            return .redirect(to: location, isPermanent: isPermanent)
        default: throw DownloadProblem(answer: response.status, headers: response.headers)
        }
    }

    /// Collects the body and counts the bytes as they arrive: the announced length is not reliable.
    private func collect(
        _ response: HTTPClientResponse, watch: DownloadWatch, _ progress: DownloadProgress.Handler?
    ) async throws -> [UInt8] {
        let announced = response.headers.first(name: "content-length").flatMap { Int($0) }
        if let announced, announced > limits.maximumBytes { throw tooLarge }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(max(0, announced ?? 0))
        for try await chunk in response.body {
            watch.bytesArrived()
            guard bytes.count + chunk.readableBytes <= limits.maximumBytes else { throw tooLarge }
            bytes.append(contentsOf: chunk.readableBytesView)
            progress?(DownloadProgress(received: bytes.count, total: announced))
        }
        return bytes
    }

    private var tooLarge: DownloadProblem { .tooLarge(limit: limits.maximumBytes) }
}
