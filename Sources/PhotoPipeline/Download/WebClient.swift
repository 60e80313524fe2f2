#if PhotoPipeline
import HTTPTypes
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes one attempt at a download over http or https.
///
/// This type follows redirections itself, because the address rules apply to each of them.
final class WebClient: Sendable {
    private let limits: DownloadLimits
    private let hosts: HostGuard
    /// The requests: those in progress, and those that wait for their turn at their host. A wait
    /// has no time limit, because earlier downloads may be large files.
    private let requests = Operations.OperationQueue()
    /// The minimum time between the starts of two requests to one host; nil for no minimum.
    private let pace: RateLimit?
    private let connections = WebConnections()

    init(limits: DownloadLimits, hosts: HostGuard) {
        self.limits = limits
        self.hosts = hosts
        pace =
            limits.requestInterval > .zero
            ? RateLimit(1, per: limits.requestInterval, name: "requests to one host") : nil
        requests.name = "Web requests"
        // Each of them blocks a thread, of which there are 512 for everything.
        requests.maxConcurrentOperationCount = 128
    }

    /// The number of requests that are in progress or wait for their turn at their host.
    var requestCount: Int { requests.operationCount }

    /// Cancels all requests, and closes all connections.
    func shutdown() async {
        await requests.shutDown(grace: .zero)
        connections.close()
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
            .priority(Operations.Operation.current?.queuePriority ?? .normal))
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
        var fields: HTTPFields = [.userAgent: "classicphotos", .accept: "image/*, */*;q=0.1"]
        let part = transfer.takePart(of: url.url)
        let condition = transfer.known.flatMap { PhotoVersion.condition(for: $0) }
        if let part {
            fields[.range] = "bytes=\(part.bytes.count)-"
            fields[.ifRange] = part.entityTag
        } else if let condition {
            fields[condition.name] = condition.value
        }
        let request = WebRequest(
            url: url, fields: fields, connectTimeout: limits.connectTimeout,
            checksAddress: !isAllowed)
        let isConditional = part == nil && condition != nil
        let received = try await connections.withConnection(for: request) { [limits] connection in
            let response = WebResponse(
                host: url.host, limits: limits, continuing: part, transfer, watch: watch)
            do {
                try connection.receive(response, to: request)
            } catch {
                if response.hasContent {
                    transfer.keep(response.bytes, of: url.url, response.head.fields)
                }
                throw error
            }
            return Received(head: response.head, bytes: response.bytes)
        }
        return try Self.answer(received, from: url, part, isConditional: isConditional)
    }

    private struct Received: Sendable {
        let head: ResponseHead
        let bytes: [UInt8]
    }

    /// Judges a response that has arrived as a whole.
    private static func answer(
        _ response: Received, from url: WebURL, _ part: DownloadTransfer.Part?,
        isConditional: Bool
    ) throws(DownloadProblem) -> Answer {
        let now = Int(Date.now.timeIntervalSince1970)
        let fields = response.head.fields
        let freshness = ResponseFreshness(fields: fields, now: now)
        switch response.head.status {
        case 200, 206:
            let tag = response.head.status == 206 ? part?.entityTag : nil
            let version = PhotoVersion(
                bytes: response.bytes, entityTag: fields.first(.eTag) ?? tag,
                lastModified: fields.first(.lastModified), now: now)
            return .content(response.bytes, version, freshness)
        case 416 where part != nil: throw .wrongPart(url.host)
        case 304 where isConditional: return .unchanged(freshness)
        case 301, 302, 303, 307, 308:
            guard let location = fields.first(.location) else {
                throw .redirect(url.host, problem: "the response has no Location header")
            }
            return .redirect(to: location, isPermanent: [301, 308].contains(response.head.status))
        default: throw DownloadProblem(status: response.head.status, fields: fields)
        }
    }
}
#endif
