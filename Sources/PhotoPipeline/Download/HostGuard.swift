#if PhotoPipeline
import Synchronization

/// Keeps downloads away from this machine and its local network.
///
/// A list of photos often comes from a stranger. Without this guard, a list could make the program
/// send requests to a router or a database. The guard checks twice:
///
/// - Before connecting, all addresses of the name must be public.
/// - Before each connection, and so before any byte is sent, `WebConnection` checks the address to
///   which it connects: by then a name server may have given a different answer (DNS rebinding).
final class HostGuard: Sendable {
    /// The address is not public.
    struct Forbidden: Error, Equatable {
        let address: NetworkAddress
    }

    typealias Lookup = @Sendable (String) async throws -> [NetworkAddress]

    private let allowed: [AllowedHost]
    private let lookup: Lookup
    /// The names known to be public, with the time until which they need no new lookup.
    private let known = Mutex<[String: ContinuousClock.Instant]>([:])

    private static let knownLimit = 1_024
    private static let knownTime: Duration = .seconds(60)

    init(allowing allowed: [AllowedHost], lookup: Lookup?) {
        self.allowed = allowed
        let system = HostLookup()
        self.lookup = lookup ?? { try await system($0) }
    }

    /// Whether the user has allowed this host.
    func isAllowed(_ url: WebURL) -> Bool {
        allowed.contains { $0.matches(host: url.host, port: url.port) }
    }

    /// Checks the addresses of a URL's host.
    ///
    /// - Throws: ``Forbidden``; a ``DownloadProblem`` if the host does not exist;
    ///   `CancellationError`.
    func check(_ url: WebURL) async throws {
        let host = AllowedHost.normalized(url.host)
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

    private static func check(_ address: NetworkAddress) throws {
        guard address.specialPurpose == nil else { throw Forbidden(address: address) }
    }
}
#endif
