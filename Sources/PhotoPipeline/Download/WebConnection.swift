#if PhotoPipeline
import CPhotoCurl
import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A client of libcurl that carries out one request at a time, and keeps its connection for the
/// next request to the same origin.
final class WebConnection: @unchecked Sendable {
    // Unchecked because of the C pointer: `WebConnections` hands out a connection to one transfer
    // at a time, and other threads only wake the transfer, which libcurl allows. The flag is set
    // before the transfer is woken, and read after each step of it.

    /// How a transfer has failed.
    enum Failure: Error {
        case unknownHost
        case unreachable
        case connectTimeout
        /// Before the response was complete, or with bytes that are no HTTP.
        case closedEarly
        case other(String)
    }

    /// After so many milliseconds a transfer looks whether it is cancelled, also if nobody woke it:
    /// some versions of libcurl can lose that.
    private static let patience: Int32 = 250

    private let client: OpaquePointer
    private let isCancelledFlag = Atomic(false)

    init() throws {
        guard let client = ccurl_make() else {
            throw Failure.other("there is no memory or no free file descriptor")
        }
        self.client = client
    }

    deinit { ccurl_free(client) }

    var isCancelled: Bool { isCancelledFlag.load(ordering: .acquiring) }

    /// Ends the transfer that is under way. The connection must not be used again.
    func cancel() {
        isCancelledFlag.store(true, ordering: .releasing)
        ccurl_wake(client)
    }

    /// Sends a request, and hands over the response as it arrives. Blocks until the response is
    /// complete, or until the connection is cancelled.
    ///
    /// The address is checked before each connection, and thus before any byte is sent.
    ///
    /// - Throws: a ``Failure``, what the response throws, ``HostGuard/Forbidden`` or
    ///   `CancellationError`.
    func receive(_ response: WebResponse, to request: WebRequest) throws {
        let exchange = Exchange(response, checksAddress: request.checksAddress)
        try withExtendedLifetime(exchange) {
            if isCancelled { throw CancellationError() }
            defer { ccurl_end(client) }
            var outcome = request.begin(on: client, for: exchange.owner)
            while outcome == CCURL_DONE, !ccurl_step(client, Self.patience, &outcome) {
                if isCancelled { throw CancellationError() }
            }
            try conclude(outcome, exchange)
        }
    }

    private func conclude(_ outcome: ccurl_outcome, _ exchange: Exchange) throws {
        if let problem = exchange.response.problem { throw problem }
        switch outcome {
        case CCURL_DONE where exchange.response.head.isComplete: return
        // The rest of the body is of no interest.
        case CCURL_STOPPED where exchange.response.isAnswered: return
        case CCURL_UNKNOWN_HOST: throw Failure.unknownHost
        case CCURL_UNREACHABLE:
            if let address = exchange.forbidden { throw HostGuard.Forbidden(address: address) }
            throw Failure.unreachable
        case CCURL_CONNECT_TIMEOUT: throw Failure.connectTimeout
        // A server may also close in the middle of a head, which libcurl does not mind.
        case CCURL_DONE, CCURL_STOPPED, CCURL_CLOSED_EARLY: throw Failure.closedEarly
        default: throw Failure.other(String(cString: ccurl_message(client)))
        }
    }

    /// What libcurl calls during one transfer, always on the thread of the transfer.
    private final class Exchange {
        let response: WebResponse
        let checksAddress: Bool
        /// An address to which no connection was made.
        var forbidden: NetworkAddress?

        init(_ response: WebResponse, checksAddress: Bool) {
            (self.response, self.checksAddress) = (response, checksAddress)
        }

        func mayConnect(to address: UnsafePointer<sockaddr>) -> Bool {
            guard checksAddress else { return true }
            guard let address = NetworkAddress(address) else { return false }
            guard address.specialPurpose != nil else { return true }
            forbidden = address
            return false
        }

        /// The functions that libcurl calls. The exchange must live until the transfer ends.
        var owner: ccurl_owner {
            ccurl_owner(
                context: Unmanaged.passUnretained(self).toOpaque(),
                connects: { Exchange.of($0).mayConnect(to: $1) },
                head: {
                    let line = UnsafeRawBufferPointer(start: $1, count: $2)
                    return Exchange.of($0).response.headArrived(line)
                },
                body: {
                    let bytes = UnsafeRawBufferPointer(start: $1, count: $2)
                    return Exchange.of($0).response.bodyArrived(bytes)
                })
        }

        private static func of(_ context: UnsafeMutableRawPointer) -> Exchange {
            Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
        }
    }
}

/// A request that is about to be sent.
struct WebRequest: Sendable {
    let url: WebURL
    var fields: HTTPFields
    let connectTimeout: Duration
    /// Whether a connection is made to public addresses only.
    let checksAddress: Bool

    /// Begins the request; libcurl copies all that it needs.
    fileprivate func begin(on client: OpaquePointer, for owner: ccurl_owner) -> ccurl_outcome {
        let lines = fields.map { "\($0.name): \($0.value)" }
        let path = url.url.path(percentEncoded: true)
        let query = url.url.query(percentEncoded: true).map { "?\($0)" } ?? ""
        let texts = [
            url.scheme, url.host.contains(":") ? "[\(url.host)]" : url.host, "\(url.port)",
            (path.isEmpty ? "/" : path) + query,
        ]
        let strings = (texts + lines).compactMap { strdup($0) }
        defer { for string in strings { free(string) } }
        let fieldStrings = strings.dropFirst(texts.count).map { UnsafePointer<CChar>?($0) }
        return fieldStrings.withUnsafeBufferPointer { fields in
            var request = ccurl_request(
                scheme: strings[0], host: strings[1], port: strings[2], target: strings[3],
                fields: fields.baseAddress, field_count: fields.count,
                connect_milliseconds: max(1, Int(connectTimeout / .milliseconds(1))))
            return ccurl_begin(client, &request, owner)
        }
    }
}
#endif
