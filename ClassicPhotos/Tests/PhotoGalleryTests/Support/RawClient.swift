import OperationsTestSupport

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// A client that sends exactly the bytes of a test, as slowly as the test requires. No HTTP client
/// does that.
///
/// Reading blocks, so it runs on separate threads. The connection is closed when the client is
/// released.
final class RawClient: Sendable {
    private let file: Int32
    private let end = TestEnd()

    /// - Parameter receiveBuffer: the size of the system's receive buffer in bytes; nil for the
    ///   default.
    init(port: Int, receiveBuffer: Int32? = nil) {
        #if canImport(Glibc)
        file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        file = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        if var size = receiveBuffer {
            setsockopt(file, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        // Reading looks every second whether the test's time is over.
        var limit = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let (file, size) = (file, socklen_t(MemoryLayout<sockaddr_in>.size))
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(file, $0, size) == 0
            }
        }
        precondition(isConnected, "cannot connect to port \(port): error \(errno)")
    }

    deinit { close(file) }

    /// Sends text; returns false if the server has closed the connection.
    @discardableResult
    func send(_ text: String) -> Bool {
        #if canImport(Darwin)
        let flags: Int32 = 0
        #else
        let flags = Int32(MSG_NOSIGNAL)
        #endif
        let bytes = Array(text.utf8)
        return bytes.withUnsafeBytes { systemSend(file, $0.baseAddress, $0.count, flags) }
            == bytes.count
    }

    /// Whether bytes arrive, or the server closes the connection, within a time.
    func isReadable(within milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }

    /// Reads until a text arrives or the server closes the connection; returns all text.
    func read(until end: String? = nil) async -> String {
        await onThread { [self] in
            var bytes: [UInt8] = []
            while let part = receive(), !part.isEmpty {
                bytes += part
                if let end, String(decoding: bytes, as: UTF8.self).contains(end) { break }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Waits for bytes; returns none if the server has closed the connection, and nil after an
    /// error or at the end of the test's time.
    private func receive() -> ArraySlice<UInt8>? {
        var part = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(file, &part, part.count, 0)
            if count >= 0 { return part.prefix(count) }
            if errno == ECONNRESET { return [] }
            guard errno == EAGAIN || errno == EINTR, !end.hasCome else { return nil }
        }
    }

    /// Reads for a time, and returns whether the server still has not closed the connection.
    func isOpen(for milliseconds: Int) async -> Bool {
        await onThread { [self] in
            let last = ContinuousClock.now + .milliseconds(milliseconds)
            while ContinuousClock.now < last {
                guard isReadable(within: 50) else { continue }
                guard let part = receive(), !part.isEmpty else { return false }
            }
            return true
        }
    }

    /// Sends text repeatedly; returns when the server has closed the connection.
    func drip(_ text: String, every milliseconds: Int32) async {
        await onThread { [self] in
            while send(text), !isReadable(within: milliseconds), !end.hasCome {}
        }
    }

    /// Sends text repeatedly, even after the server has closed its side; returns when sending
    /// fails.
    func sendUntilRefused(_ text: String, every milliseconds: Int32) async {
        await onThread { [self] in
            while send(text), !end.hasCome { poll(nil, 0, milliseconds) }
        }
    }

    /// Reads until the connection ends; returns whether the server closed the connection.
    func isClosedByServer() async -> Bool {
        await onThread { [self] in
            while let part = receive() {
                if part.isEmpty { return true }
            }
            return false
        }
    }
}

private func systemSend(
    _ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32
) -> Int { send(file, bytes, count, flags) }
