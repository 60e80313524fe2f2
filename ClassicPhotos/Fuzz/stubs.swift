// In place of the networking library's types, which the fuzzing does not need: no connection is
// made.

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

struct SocketAddress {
    func withSockAddr<Result>(_ body: (UnsafePointer<sockaddr>, Int) -> Result) -> Result {
        var address = sockaddr()
        return withUnsafePointer(to: &address) { body($0, MemoryLayout<sockaddr>.size) }
    }
}

/// Headers that all have the same value.
struct HTTPHeaders {
    let value: String
    func first(name: String) -> String? { value }
}
