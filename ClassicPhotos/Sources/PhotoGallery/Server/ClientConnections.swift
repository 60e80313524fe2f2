import NIOCore
import Synchronization

/// Counts the connections of each client, so that one client cannot take the connections of all.
final class ClientConnections: Sendable {
    /// A client as its address shows it: an IPv4 address, or the first 64 bits of an IPv6 address,
    /// because a client has as many of the other bits as it wants.
    struct Client: Hashable {
        private let bytes: [UInt8]

        init?(_ address: SocketAddress?) {
            guard let address else { return nil }
            let parts = address.withSockAddr { pointer, size in
                Array(UnsafeRawBufferPointer(start: pointer, count: size))
            }
            // The places of the addresses in `sockaddr_in` and `sockaddr_in6` (RFC 3493).
            switch address.protocol {
            case .inet: bytes = Array(parts[4..<8])
            case .inet6:
                let all = parts[8..<24]
                let isIPv4 = all.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
                bytes = Array(isIPv4 ? all.suffix(4) : all.prefix(8))
            default: return nil
            }
        }
    }

    private let limit: Int
    private let counts = Mutex<[Client: Int]>([:])

    /// - Parameter limit: the maximum number of simultaneous connections of one client.
    init(limit: Int) { self.limit = limit }

    /// Counts a new connection; returns false if the client has too many, and does not count it
    /// then.
    func opened(by client: Client) -> Bool {
        counts.withLock { counts in
            guard counts[client, default: 0] < limit else { return false }
            counts[client, default: 0] += 1
            return true
        }
    }

    /// Forgets a connection that was counted.
    func closed(by client: Client) {
        counts.withLock { counts in
            guard let count = counts[client] else { return }
            counts[client] = count > 1 ? count - 1 : nil
        }
    }
}
