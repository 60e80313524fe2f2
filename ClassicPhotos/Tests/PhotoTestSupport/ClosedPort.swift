#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// Runs a closure with a port of this machine on which no server listens. The port is bound, so
/// that no other program gets it.
public func withClosedPort(_ body: (Int) async throws -> Void) async throws {
    #if canImport(Glibc)
    let kind = Int32(SOCK_STREAM.rawValue)
    #else
    let kind = SOCK_STREAM
    #endif
    let file = socket(AF_INET, kind, 0)
    defer { close(file) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(file, $0, size) == 0 && getsockname(file, $0, &size) == 0
        }
    }
    precondition(isBound, "cannot bind a port: error \(errno)")
    try await body(Int(UInt16(bigEndian: address.sin_port)))
}
