import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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
    /// The minimum time between the starts of two requests to one host; nil for no minimum.
    private let pace: RateLimit?
    /// The client for public addresses only.
    private let guarded: HTTPClient
    /// The client for allowed hosts at any address.
    private let unguarded: HTTPClient

    init(limits: DownloadLimits, hosts: HostGuard) {
        self.limits = limits
        self.hosts = hosts
        pace =
            limits.requestInterval > .zero
            ? RateLimit(1, per: limits.requestInterval, name: "requests to one host") : nil
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
    /// - Parameter transfer: the same object for all attempts of a download.
    func fetch(
        _ start: WebURL, _ transfer: DownloadTransfer
    ) async throws(DownloadProblem) -> PhotoDownloader.Answer {
        var url = start
        // A redirection that is not permanent may lead elsewhere the next time.
        var isPermanent = true
        var visited: Set<String> = []
        var remaining = limits.totalTimeout
        while true {
            let (answer, time) = try await request(
                url, remaining: remaining, transfer)
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
        _ url: WebURL, remaining: Duration, _ transfer: DownloadTransfer
    ) async throws(DownloadProblem) -> (Answer, Duration) {
        let request = TypedOperation { [self] () async throws -> (Answer, Duration) in
            let clock = ContinuousClock()
            let start = clock.now
            let answer = try await DownloadWatch.run(limits: limits, remaining: remaining) {
                try await self.answer(to: url, transfer, watch: $0)
            }
            return (answer, clock.now - start)
        }
        if let pace { request.apply(.rate(pace, by: url.origin)) }
        requests.add(
            request, .name(url.origin),
            .limited(to: max(limits.connectionsPerHost, 1), by: url.origin),
            .priority(Operation.current?.queuePriority ?? .normal))
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
        to url: WebURL, _ transfer: DownloadTransfer, watch: DownloadWatch
    ) async throws -> Answer {
        let isAllowed = hosts.isAllowed(url)
        if !isAllowed { try await hosts.check(url) }
        var request = HTTPClientRequest(url: url.url.absoluteString)
        request.headers.add(name: "User-Agent", value: "classicphotos")
        request.headers.add(name: "Accept", value: "image/*, */*;q=0.1")
        let part = transfer.takePart(of: url.url)
        let condition = transfer.known.flatMap { PhotoVersion.condition(for: $0) }
        if let part {
            request.headers.add(name: "Range", value: "bytes=\(part.bytes.count)-")
            request.headers.add(name: "If-Range", value: part.entityTag)
        } else if let condition {
            request.headers.add(name: condition.name, value: condition.value)
        }
        let client = isAllowed ? unguarded : guarded
        let response = try await client.execute(request, deadline: .distantFuture)
        watch.bytesArrived()
        let now = Int(Date.now.timeIntervalSince1970)
        let freshness = ResponseFreshness(headers: response.headers, now: now)
        switch response.status {
        case .ok, .partialContent:
            let isRest = response.status == .partialContent
            guard !isRest || part?.isContinued(by: response.headers) == true else {
                throw DownloadProblem.wrongPart(url.host)
            }
            let bytes = try await collect(
                response, of: url.url, after: isRest ? part : nil, transfer, watch: watch)
            let headers = response.headers
            let version = PhotoVersion(
                bytes: bytes,
                entityTag: headers.first(name: "etag") ?? (isRest ? part?.entityTag : nil),
                lastModified: headers.first(name: "last-modified"), now: now)
            return .content(bytes, version, freshness)
        case .rangeNotSatisfiable where part != nil:
            throw DownloadProblem.wrongPart(url.host)
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
    ///
    /// - Parameter part: the part that the body continues; nil if the body is the whole file.
    private func collect(
        _ response: HTTPClientResponse, of url: URL, after part: DownloadTransfer.Part?,
        _ transfer: DownloadTransfer, watch: DownloadWatch
    ) async throws -> [UInt8] {
        var bytes = part?.bytes ?? []
        let announced = response.headers.first(name: "content-length").flatMap { Int($0) }
        // The length may be any number; the limit is checked before anything is added to it.
        if let announced, announced > limits.maximumBytes - bytes.count { throw tooLarge }
        let total = announced.map { max(0, $0) + bytes.count }
        bytes.reserveCapacity(total ?? 0)
        do {
            for try await chunk in response.body {
                watch.bytesArrived()
                guard bytes.count + chunk.readableBytes <= limits.maximumBytes else {
                    throw tooLarge
                }
                bytes.append(contentsOf: chunk.readableBytesView)
                transfer.progress(DownloadProgress(received: bytes.count, total: total), bytes)
            }
        } catch {
            transfer.keep(bytes, of: url, response.headers)
            throw error
        }
        return bytes
    }

    private var tooLarge: DownloadProblem { .tooLarge(limit: limits.maximumBytes) }
}
