import OperationsFoundation

/// A TCP socket whose methods block. It is closed when nothing refers to it any more, so an
/// interruption that comes late cannot meet another socket with the same number.
final class Socket: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Makes a socket that listens on a free port of this machine.
    static func listening() throws -> (socket: Socket, port: UInt16) {
        #if canImport(Darwin)
        let type = SOCK_STREAM
        #else
        let type = Int32(SOCK_STREAM.rawValue)
        #endif
        let socket = Socket(try check(Foundation.socket(AF_INET, type, 0)))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = try check(bind(socket.descriptor, pointer, length))
                _ = try check(listen(socket.descriptor, 64))
                _ = try check(getsockname(socket.descriptor, pointer, &length))
            }
        }
        return (socket, UInt16(bigEndian: address.sin_port))
    }

    /// Waits for a connection.
    func accept() throws -> Socket {
        Socket(try check(Foundation.accept(descriptor, nil, nil)))
    }

    /// Waits for bytes; returns none at the end of the connection.
    func read() throws -> ArraySlice<UInt8> {
        var buffer = [UInt8](repeating: 0, count: 4096)
        return buffer[..<(try check(Foundation.read(descriptor, &buffer, buffer.count)))]
    }

    /// Sends all bytes, waiting for as long as the other side does not take them.
    func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            rest = rest.dropFirst(
                try rest.withUnsafeBytes { bytes in
                    try check(Foundation.write(descriptor, bytes.baseAddress, bytes.count))
                })
        }
    }

    /// Ends the connection. Calls that block return.
    func interrupt() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// Returns the result of a call of the C library, or throws its error.
private func check<Result: SignedInteger>(_ result: Result) throws -> Result {
    guard result >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    return result
}
