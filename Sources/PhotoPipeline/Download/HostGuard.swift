import AsyncHTTPClient
import NIOCore
import Synchronization

/// Keeps downloads away from this machine and the network around it.
///
/// A list of photos is often somebody else's; without this it could make the program ask a router or a
/// database for things. The rule is checked twice:
///
/// - before anything is connected to, all addresses behind the name must be public;
/// - when a connection has been made, and before a byte of a request is sent, the address at its other
///   end must be public too: a name server may have given another answer by then (DNS rebinding).
final class HostGuard: Sendable {
    /// The address is not a public one.
    struct Forbidden: Error, Equatable {
        let address: NetworkAddress
    }

    typealias Lookup = @Sendable (String) async throws -> [NetworkAddress]

    private let allowed: [AllowedHost]
    private let lookup: Lookup
    /// Until when names that were found to be public need not be looked up again.
    private let known = Mutex<[String: ContinuousClock.Instant]>([:])

    private static let knownLimit = 1_024
    private static let knownTime: Duration = .seconds(60)

    init(allowing allowed: [AllowedHost], lookup: Lookup?) {
        self.allowed = allowed
        let system = HostLookup()
        self.lookup = lookup ?? { try await system($0) }
    }

    /// Whether the rule has been lifted for this host.
    func isAllowed(_ url: WebURL) -> Bool {
        allowed.contains { $0.matches(host: url.host, port: url.port) }
    }

    /// Checks the addresses behind a name.
    ///
    /// - Throws: ``Forbidden``; a ``DownloadProblem`` if there is no such host; `CancellationError`.
    func check(_ url: WebURL) async throws {
        let host = AllowedHost.plain(url.host)
        if let address = NetworkAddress(host) { return try Self.check(address) }
        let now = ContinuousClock.now
        if let end = known.withLock({ $0[host] }), now < end { return }
        let addresses = try await lookup(host)
        guard !addresses.isEmpty else { throw DownloadProblem.unknownHost(url.host) }
        for address in addresses { try Self.check(address) }
        known.withLock { known in
            if known.count >= Self.knownLimit { known.removeAll() }
            known[host] = now + Self.knownTime
        }
    }

    /// Called with a new connection before it is used: closes one that leads to a forbidden address.
    static let checkConnection: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
        do {
            guard let remote = channel.remoteAddress, let address = NetworkAddress(remote) else {
                throw HTTPClientError.remoteConnectionClosed
            }
            try check(address)
            return channel.eventLoop.makeSucceededVoidFuture()
        } catch {
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(error)
        }
    }

    private static func check(_ address: NetworkAddress) throws {
        guard address.peculiarity == nil else { throw Forbidden(address: address) }
    }
}
