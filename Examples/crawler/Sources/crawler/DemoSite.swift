import OperationsFoundation
import Synchronization

/// A small web site on this machine, with blocking calls: one operation waits for connections, and
/// one for each connection reads and writes. Each worker that they block is replaced by another.
final class DemoSite: Sendable {
    let port: UInt16
    private let listener: Socket
    private let queue = OperationQueue(name: "demo site")
    /// How often each page was asked for.
    private let counts = Mutex<[String: Int]>([:])

    init() throws {
        // A write to a connection that has ended is then an error, and does not end the process.
        signal(SIGPIPE, SIG_IGN)
        (listener, port) = try Socket.listening()
        queue.add("accept", .mayFail) { [self] in
            // The blocking call does not notice a cancellation: this makes it return.
            Operation.current?.onCancel { [listener] in listener.interrupt() }
            while true { serve(try listener.accept()) }
        }
    }

    /// Ends all connections, and returns when all operations have ended.
    func close() async { await queue.shutDown(grace: .zero) }

    private func serve(_ connection: Socket) {
        queue.add("connection", .mayFail, .timeout(.seconds(10))) { [self] in
            Operation.current?.onCancel { connection.interrupt() }
            defer { connection.interrupt() }
            var request = ""
            while !request.hasSuffix("\r\n\r\n") {
                let bytes = try connection.read()
                if bytes.isEmpty { return }
                request += String(decoding: bytes, as: UTF8.self)
            }
            try connection.write(Array(answer(to: request).utf8))
        }
    }

    private func answer(to request: String) -> String {
        let path = request.split(separator: " ", maxSplits: 2).dropFirst().first ?? "/"
        let host = request.firstMatch(of: /\r\nHost: (.*)\r\n/)?.1 ?? ""
        let count = counts.withLock { counts in
            counts["\(host)\(path)", default: 0] += 1
            return counts["\(host)\(path)", default: 0]
        }
        let isFirst = count == 1
        let (head, links): (String, [String]) =
            switch path {
            case "/": ("200 OK", (1...6).map { "/shelf/\($0)" } + ["/busy", "/lost"])
            case "/shelf/3" where isFirst: ("500 Internal Server Error", [])
            case let shelf where shelf.wholeMatch(of: /\/shelf\/\d/) != nil:
                ("200 OK", ["/"] + "abc".map { "\(shelf)/\($0)" })
            case let book where book.wholeMatch(of: /\/shelf\/\d\/\w/) != nil: ("200 OK", ["/"])
            case "/busy" where isFirst: ("429 Too Many Requests\r\nRetry-After: 1", [])
            case "/busy": ("200 OK", ["/"])
            default: ("404 Not Found", [])
            }
        let html = links.map { "<a href=\"\($0)\">\($0)</a>\n" }.joined()
        return """
            HTTP/1.1 \(head)\r
            Content-Type: text/html\r
            Content-Length: \(html.utf8.count)\r
            Connection: close\r
            \r
            \(html)
            """
    }
}
