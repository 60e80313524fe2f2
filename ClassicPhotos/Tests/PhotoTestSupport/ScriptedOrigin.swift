import OperationsTestSupport
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// A server that runs a test's script for each connection and sends exactly the bytes of the
/// script, for behavior that no HTTP server has.
public final class ScriptedOrigin: Sendable {
    /// The port of this machine.
    public let port: Int
    private let listener: Int32
    private let heads = Mutex<[String]>([])
    private let connections = Mutex<(accepted: Int, open: Set<Int32>, isStopped: Bool)>(
        (0, [], false))

    fileprivate init(script: @escaping @Sendable (Connection) -> Void) {
        listener = socket(AF_INET, streamKind, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let file = listener
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(file, $0, size) == 0 && getsockname(file, $0, &size) == 0
            }
        }
        precondition(isListening && listen(listener, 64) == 0, "cannot listen: error \(errno)")
        port = Int(UInt16(bigEndian: address.sin_port))
        startTestThread { [self] in
            while true {
                let file = accept(listener, nil, nil)
                guard file >= 0 else { return }
                let isStopped = connections.withLock { connections in
                    connections.accepted += 1
                    if !connections.isStopped { connections.open.insert(file) }
                    return connections.isStopped
                }
                guard !isStopped else {
                    close(file)
                    return
                }
                startTestThread { [self] in
                    script(Connection(file: file, origin: self))
                    connections.withLock { _ = $0.open.remove(file) }
                    close(file)
                }
            }
        }
    }

    /// The address of the server.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// The heads of all requests so far.
    public var requests: [String] { heads.withLock { $0 } }

    /// The number of connections accepted so far.
    public var connectionCount: Int { connections.withLock { $0.accepted } }

    fileprivate func record(_ head: String) { heads.withLock { $0.append(head) } }

    fileprivate func stop() {
        let open = connections.withLock { connections in
            connections.isStopped = true
            return connections.open
        }
        // Threads that read or wait return; each thread closes its own file.
        for file in open { shutdown(file, Int32(SHUT_RDWR)) }
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// A connection on its own thread; it is closed when the script returns.
    public struct Connection: Sendable {
        fileprivate let file: Int32
        fileprivate let origin: ScriptedOrigin

        /// Reads a request up to the empty line; returns nil if the client disconnects first.
        public func readHead() -> String? {
            var head: [UInt8] = []
            var byte: UInt8 = 0
            while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                guard recv(file, &byte, 1, 0) == 1 else { return nil }
                head.append(byte)
            }
            let text = String(decoding: head, as: UTF8.self)
            origin.record(text)
            return text
        }

        /// Sends text; returns false if the client has disconnected.
        @discardableResult
        public func send(_ text: String) -> Bool { send(bytes: Array(text.utf8)) }

        /// Sends bytes; returns false if the client has disconnected.
        @discardableResult
        public func send(bytes: [UInt8]) -> Bool {
            #if canImport(Darwin)
            let flags: Int32 = 0
            #else
            let flags = Int32(MSG_NOSIGNAL)
            #endif
            return bytes.withUnsafeBytes { systemSend(file, $0.baseAddress, $0.count, flags) }
                == bytes.count
        }

        /// Waits like a slow server; returns false as soon as the client disconnects.
        public func pause(milliseconds: Int32) -> Bool {
            var entry = pollfd(file: file)
            return poll(&entry, 1, milliseconds) == 0
        }

        /// Sends nothing until the client disconnects.
        public func waitUntilClosed() { _ = pause(milliseconds: -1) }
    }
}

extension pollfd {
    fileprivate init(file: Int32) { self.init(fd: file, events: Int16(POLLIN), revents: 0) }
}

private let streamKind: Int32 = {
    #if canImport(Glibc)
    Int32(SOCK_STREAM.rawValue)
    #else
    SOCK_STREAM
    #endif
}()

private func systemSend(
    _ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32
) -> Int { send(file, bytes, count, flags) }

/// Runs a scripted server for the duration of a closure.
public func withScriptedOrigin<Value: Sendable>(
    _ script: @escaping @Sendable (ScriptedOrigin.Connection) -> Void,
    _ body: (ScriptedOrigin) async throws -> Value
) async rethrows -> Value {
    let origin = ScriptedOrigin(script: script)
    defer { origin.stop() }
    return try await body(origin)
}
