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

/// The headers of a response.
struct HTTPHeaders {
    var fields: [(name: String, value: String)]

    func first(name: String) -> String? { self[name].first }

    func contains(name: String) -> Bool { !self[name].isEmpty }

    /// The values of a header that is a list.
    subscript(canonicalForm name: String) -> [Substring] {
        self[name].flatMap { $0.split(separator: ",") }.map { value in
            let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
            return Substring(value.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
        }
    }

    private subscript(_ name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name }.map(\.value)
    }
}
