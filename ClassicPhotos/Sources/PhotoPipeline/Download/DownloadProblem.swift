import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The failed end of a download attempt.
enum DownloadProblem: Error {
    /// `retry` is nil if another attempt would give the same result; a person may still request
    /// one.
    case failed(PhotoFailure, retry: Retry?)
    case cancelled

    /// A second attempt may succeed, but not before the delay that the server requested, if any.
    struct Retry: Equatable {
        var after: Duration?
    }

    static func tooLarge(limit: Int) -> DownloadProblem {
        .downloadFailed(
            "The file is larger than \(limit >> 20) MiB. Use a smaller file, or raise the limit.",
            .init(.fileTooLarge, ["limit": "\(limit >> 20)"]))
    }

    /// Creates the problem for a response that does not contain the photo.
    init(answer status: HTTPResponseStatus, headers: HTTPHeaders) {
        // These statuses mean "not now"; other statuses would repeat.
        let isTemporary =
            status.code == 429 || status.code == 408 || (500...599).contains(status.code)
        let wait = RetryAfter.wait(in: headers, now: Int(Date.now.timeIntervalSince1970))
        let failure = PhotoFailure(
            stage: .download,
            reason: "The server answered \(status.code) \(status.reasonPhrase).",
            isRetryable: true,
            cause: .init(
                .serverAnswered, ["status": "\(status.code)", "phrase": status.reasonPhrase]))
        self = .failed(failure, retry: isTemporary ? Retry(after: wait) : nil)
    }

    /// Creates the problem for an expired time limit.
    init(_ expiry: DownloadWatch.Expiry, host: String, limits: DownloadLimits) {
        switch expiry {
        case .firstByte:
            self = .downloadFailed(
                "\(host) did not answer within \(limits.firstByteTimeout.inWords).",
                .init(.noAnswer, ["host": host, "seconds": limits.firstByteTimeout.inSeconds]),
                isTemporary: true)
        case .idle:
            self = .downloadFailed(
                "\(host) sent nothing for \(limits.idleTimeout.inWords).",
                .init(.stalled, ["host": host, "seconds": limits.idleTimeout.inSeconds]),
                isTemporary: true)
        case .total:
            // A server that was slow for so long will not be fast now.
            self = .downloadFailed(
                "The download took longer than \(limits.totalTimeout.inWords).",
                .init(.tookTooLong, ["seconds": limits.totalTimeout.inSeconds]))
        }
    }

    // MARK: Addresses

    /// The address is not public, so nothing is downloaded from it.
    static func forbidden(_ address: NetworkAddress, host: String, port: Int, scheme: String)
        -> Self
    {
        let kind = address.specialPurpose ?? "a public address"
        let place =
            AllowedHost.normalized(host) == "\(address)"
            ? "is \(kind)" : "is at \(address), \(kind)"
        let usual = port == (scheme == "https" ? 443 : 80)
        let allowed = AllowedHost(host: host, port: usual ? nil : port)
        return .refused(
            "\(host) \(place). Downloads from such addresses are blocked by default. "
                + "Use --allow-host \(allowed) to allow this host.",
            .init(
                .addressBlocked,
                ["host": host, "address": "\(address)", "allowed": "\(allowed)"]))
    }

    static func unknownHost(_ host: String) -> DownloadProblem {
        .downloadFailed(
            "There is no host named \(host).", .init(.unknownHost, ["host": host]),
            isTemporary: true)
    }

    /// The program rejects the URL, so retrying cannot help.
    static func refused(_ reason: String, _ cause: PhotoFailure.Cause) -> DownloadProblem {
        .failed(
            PhotoFailure(stage: .download, reason: reason, isRetryable: false, cause: cause),
            retry: nil)
    }

    /// The server sent another part of the file than requested; the next attempt requests all of
    /// it.
    static func wrongPart(_ host: String) -> DownloadProblem {
        .downloadFailed(
            "\(host) sent a part of the file that was not requested.",
            .init(.wrongPart, ["host": host]), isTemporary: true)
    }

    static func tooManyRedirects(_ host: String, limit: Int) -> DownloadProblem {
        .downloadFailed(
            "\(host) redirects more than \(limit) times.",
            .init(.tooManyRedirects, ["host": host, "limit": "\(limit)"]))
    }

    static func redirectCycle(_ host: String) -> DownloadProblem {
        .downloadFailed("\(host) redirects in a loop.", .init(.redirectLoop, ["host": host]))
    }

    /// A redirection without a target, or to a target that must not be followed.
    static func redirect(_ host: String, problem: String) -> DownloadProblem {
        .downloadFailed(
            "\(host) redirects, but \(problem).",
            .init(.badRedirect, ["host": host, "detail": problem]))
    }

    /// Creates the problem for an error of the HTTP client.
    init(_ error: any Error, url: WebURL, limits: DownloadLimits) {
        let host = url.host
        switch error {
        case is CancellationError: self = .cancelled
        case let error as DownloadWatch.Expiry: self.init(error, host: host, limits: limits)
        case let error as HostGuard.Forbidden:
            self = .forbidden(error.address, host: host, port: url.port, scheme: url.scheme)
        case let error as HTTPClientError: self.init(error, host: host, limits: limits)
        case let error as NIOConnectionError: self.init(error)
        case let error as IOError where Self.unreachable.contains(error.errnoCode):
            self = .unreachable(host, port: url.port)
        case is HTTPParserError, is IOError, is ChannelError:
            self = .closedEarly(host)
        default:
            self = .downloadFailed(
                "The download failed: \(error).",
                .init(.downloadFailed, ["detail": "\(error)"]), isTemporary: true)
        }
    }

    private init(_ error: HTTPClientError, host: String, limits: DownloadLimits) {
        switch error {
        case .cancelled: self = .cancelled
        case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout:
            self = .downloadFailed(
                "\(host) did not accept a connection within \(limits.connectTimeout.inWords).",
                .init(.noConnection, ["host": host, "seconds": limits.connectTimeout.inSeconds]),
                isTemporary: true)
        case .remoteConnectionClosed, .bodyLengthMismatch, .uncleanShutdown:
            self = .closedEarly(host)
        default:
            self = .downloadFailed(
                "The download failed: \(error.shortDescription).",
                .init(.downloadFailed, ["detail": error.shortDescription]), isTemporary: true)
        }
    }

    private init(_ error: NIOConnectionError) {
        if error.connectionErrors.isEmpty {
            self = .unknownHost(error.host)
        } else {
            self = .unreachable(error.host, port: error.port)
        }
    }

    /// The system's error numbers for a failed connection.
    private static let unreachable: Set<Int32> = [
        ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, EADDRNOTAVAIL,
    ]

    private static func unreachable(_ host: String, port: Int) -> DownloadProblem {
        .downloadFailed(
            "\(host), port \(port), refuses connections or cannot be reached.",
            .init(.unreachable, ["host": host, "port": "\(port)"]), isTemporary: true)
    }

    private static func closedEarly(_ host: String) -> DownloadProblem {
        .downloadFailed(
            "\(host) closed the connection before the file was complete.",
            .init(.closedEarly, ["host": host]), isTemporary: true)
    }

    private static func downloadFailed(
        _ reason: String, _ cause: PhotoFailure.Cause, isTemporary: Bool = false
    ) -> DownloadProblem {
        .failed(
            PhotoFailure(stage: .download, reason: reason, isRetryable: true, cause: cause),
            retry: isTemporary ? Retry(after: nil) : nil)
    }
}

extension Duration {
    fileprivate var inWords: String { "\(inSeconds) second\(inSeconds == "1" ? "" : "s")" }

    fileprivate var inSeconds: String {
        let seconds = Double(components.seconds) + Double(components.attoseconds) / 1e18
        return seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
    }
}
