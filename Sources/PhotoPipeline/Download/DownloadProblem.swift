#if PhotoPipeline
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
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
    init(status: Int, fields: HTTPFields) {
        // These statuses mean "not now"; other statuses would repeat.
        let isTemporary = status == 429 || status == 408 || (500...599).contains(status)
        let wait = RetryAfter.wait(in: fields, now: Int(Date.now.timeIntervalSince1970))
        // The phrase of the standard, whatever the server says. An unknown status has none.
        let phrase = Self.statuses.first { $0.code == status }?.reasonPhrase ?? ""
        let failure = PhotoFailure(
            stage: .download,
            reason: "The server answered \(status)\(phrase.isEmpty ? "" : " \(phrase)").",
            isRetryable: true,
            cause: .init(.serverAnswered, ["status": "\(status)", "phrase": phrase]))
        self = .failed(failure, retry: isTemporary ? Retry(after: wait) : nil)
    }

    private static let statuses: [HTTPResponse.Status] = [
        .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed, .notAcceptable,
        .requestTimeout, .conflict, .gone, .lengthRequired, .preconditionFailed, .contentTooLarge,
        .uriTooLong, .unsupportedMediaType, .rangeNotSatisfiable, .expectationFailed,
        .misdirectedRequest, .unprocessableContent, .tooEarly, .upgradeRequired,
        .preconditionRequired, .tooManyRequests, .requestHeaderFieldsTooLarge,
        .unavailableForLegalReasons, .internalServerError, .notImplemented, .badGateway,
        .serviceUnavailable, .gatewayTimeout, .httpVersionNotSupported,
        .networkAuthenticationRequired,
    ]

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
        case .rate:
            self = .downloadFailed(
                "\(host) sent fewer than \(limits.minimumRate) bytes a second for "
                    + "\(limits.rateWindow.inWords).",
                .init(
                    .tooSlow,
                    [
                        "host": host, "rate": "\(limits.minimumRate)",
                        "seconds": limits.rateWindow.inSeconds,
                    ]))
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
            "\(host) \(place). Downloads from such addresses are blocked by default.",
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

    static func tooLongHead(_ host: String) -> DownloadProblem {
        .other("the head of the response of \(host) is too long", isTemporary: false)
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
        case let error as WebConnection.Failure: self.init(error, url: url, limits: limits)
        default: self = .other("\(error)")
        }
    }

    private init(_ failure: WebConnection.Failure, url: WebURL, limits: DownloadLimits) {
        switch failure {
        case .unknownHost: self = .unknownHost(url.host)
        case .unreachable: self = .unreachable(url.host, port: url.port)
        case .connectTimeout:
            self = .downloadFailed(
                "\(url.host) did not accept a connection within \(limits.connectTimeout.inWords).",
                .init(
                    .noConnection, ["host": url.host, "seconds": limits.connectTimeout.inSeconds]),
                isTemporary: true)
        case .closedEarly: self = .closedEarly(url.host)
        case .other(let detail): self = .other(detail)
        }
    }

    private static func other(_ detail: String, isTemporary: Bool = true) -> DownloadProblem {
        .downloadFailed(
            "The download failed: \(detail).", .init(.downloadFailed, ["detail": detail]),
            isTemporary: isTemporary)
    }

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
#endif
