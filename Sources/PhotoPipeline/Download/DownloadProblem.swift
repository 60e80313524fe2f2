import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// How one attempt at a download ended badly.
enum DownloadProblem: Error {
    /// `retry` is nil if the same answer is to be expected; a person may still ask for another try.
    case failed(PhotoFailure, retry: Retry?)
    case cancelled

    /// A second attempt may succeed, not before that time if the server named one.
    struct Retry: Equatable {
        var after: Duration?
    }

    static func tooLarge(limit: Int) -> DownloadProblem {
        .because(
            "The file is larger than \(limit >> 20) MiB. Use a smaller one, or raise the limit.")
    }

    /// The server answered, but not with the photo.
    init(answer status: HTTPResponseStatus, headers: HTTPHeaders) {
        // Those that say "not now"; the others would be said again.
        let mayPass = status.code == 429 || status.code == 408 || (500...599).contains(status.code)
        let seconds = headers.first(name: "retry-after").flatMap { Int($0) }
        let failure = PhotoFailure(
            stage: .download,
            reason: "The server answered \(status.code) \(status.reasonPhrase).", isRetryable: true)
        let retry = Retry(after: seconds.map { .seconds(max(0, $0)) })
        self = .failed(failure, retry: mayPass ? retry : nil)
    }

    /// The client gave up.
    init(_ error: any Error, url: URL, limits: DownloadLimits) {
        let host = url.host() ?? "the server"
        switch error {
        case is CancellationError: self = .cancelled
        case let error as HTTPClientError: self.init(error, host: host, limits: limits)
        case let error as NIOConnectionError: self.init(error)
        case let error as IOError where Self.unreachable.contains(error.errnoCode):
            self = .unreachable(host, port: url.port ?? (url.scheme == "https" ? 443 : 80))
        case is HTTPParserError, is IOError, is ChannelError:
            self = .closedEarly(host)
        default: self = .because("The download failed: \(error).", mayPass: true)
        }
    }

    private init(_ error: HTTPClientError, host: String, limits: DownloadLimits) {
        switch error {
        case .cancelled: self = .cancelled
        case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout:
            self = .because(
                "\(host) did not accept a connection within \(limits.connectTimeout.inWords).",
                mayPass: true)
        case .readTimeout:
            self = .because(
                "\(host) sent nothing for \(limits.idleTimeout.inWords).", mayPass: true)
        case .deadlineExceeded:
            self = .because(
                "The download took longer than \(limits.totalTimeout.inWords).", mayPass: true)
        case .remoteConnectionClosed, .bodyLengthMismatch, .uncleanShutdown:
            self = .closedEarly(host)
        case .redirectLimitReached:
            self = .because("\(host) redirects more than \(limits.maximumRedirects) times.")
        case .redirectCycleDetected:
            self = .because("\(host) redirects in a circle.")
        default: self = .because("The download failed: \(error.shortDescription).", mayPass: true)
        }
    }

    private init(_ error: NIOConnectionError) {
        if error.connectionErrors.isEmpty {
            self = .because("There is no host named \(error.host).", mayPass: true)
        } else {
            self = .unreachable(error.host, port: error.port)
        }
    }

    /// What the system says when nobody can be connected to.
    private static let unreachable: Set<Int32> = [
        ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, EADDRNOTAVAIL,
    ]

    private static func unreachable(_ host: String, port: Int) -> DownloadProblem {
        .because("\(host), port \(port), refuses connections or cannot be reached.", mayPass: true)
    }

    private static func closedEarly(_ host: String) -> DownloadProblem {
        .because("\(host) closed the connection before the file was complete.", mayPass: true)
    }

    private static func because(_ reason: String, mayPass: Bool = false) -> DownloadProblem {
        .failed(
            PhotoFailure(stage: .download, reason: reason, isRetryable: true),
            retry: mayPass ? Retry(after: nil) : nil)
    }
}

extension Duration {
    fileprivate var inWords: String {
        let seconds = Double(components.seconds) + Double(components.attoseconds) / 1e18
        return seconds == seconds.rounded()
            ? "\(Int(seconds)) second\(seconds == 1 ? "" : "s")" : "\(seconds) seconds"
    }
}
