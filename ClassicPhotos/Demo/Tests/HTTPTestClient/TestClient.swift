import NIOCore
public import NIOHTTP1
import NIOPosix

/// A small HTTP client for tests of servers on this machine.
///
/// Each request has a connection of its own. The client follows no redirects, adds only the fields
/// that HTTP demands, and leaves a compressed body as it is, so a test sees what was sent.
///
/// There are no timeouts: the suites have time limits, and a request ends when its task is
/// cancelled.
public enum TestClient {
    /// A response whose body arrives as it is read.
    public struct Response {
        /// The code of the status.
        public let status: Int
        /// The fields of the head.
        public let headers: HTTPHeaders
        /// The body, as it arrives.
        public let body: Body
    }

    /// A whole response.
    public struct Reply: Sendable {
        /// The code of the status.
        public let status: Int
        /// The fields of the head.
        public let headers: HTTPHeaders
        /// The whole body.
        public let body: [UInt8]

        /// The body as text.
        public var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// A request that has no complete response.
    public struct Failure: Error, CustomStringConvertible {
        /// What happened, as a sentence.
        public let description: String
    }

    fileprivate typealias Parts = NIOAsyncChannelInboundStream<HTTPClientResponsePart>
    private typealias Channel = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    /// Sends a request and returns the whole response.
    public static func send(
        _ url: String, method: HTTPMethod = .GET, headers: HTTPHeaders = [:], body: [UInt8]? = nil
    ) async throws -> Reply {
        try await withResponse(to: url, method: method, headers: headers, body: body) {
            response in
            var bytes: [UInt8] = []
            for try await part in response.body { bytes += part }
            return Reply(status: response.status, headers: response.headers, body: bytes)
        }
    }

    /// Sends a request, and calls a closure when the head of the response has arrived. The
    /// connection is closed when the closure returns.
    public static func withResponse<Result: Sendable>(
        to url: String, method: HTTPMethod = .GET, headers: HTTPHeaders = [:],
        body: [UInt8]? = nil, _ read: (Response) async throws -> Result
    ) async throws -> Result {
        let address = try Address(url)
        let channel = try await connect(to: address)
        return try await channel.executeThenClose { parts, writer in
            var head = HTTPRequestHead(
                version: .http1_1, method: method, uri: address.target, headers: headers)
            if !head.headers.contains(name: "Host") {
                head.headers.add(name: "Host", value: "\(address.host):\(address.port)")
            }
            let bytes = body.map { ByteBuffer(bytes: $0) }
            if let bytes {
                head.headers.add(name: "Content-Length", value: "\(bytes.readableBytes)")
            }
            do {
                try await writer.write(.head(head))
                if let bytes { try await writer.write(.body(.byteBuffer(bytes))) }
                try await writer.write(.end(nil))
            } catch ChannelError.ioOnClosedChannel {
                // A server may answer, and close, before it has the end of the request.
            }
            var iterator = parts.makeAsyncIterator()
            guard case .head(let answer) = try await iterator.next() else {
                try Task.checkCancellation()
                throw Failure(description: "The server closed the connection without an answer.")
            }
            return try await read(
                Response(
                    status: Int(answer.status.code), headers: answer.headers,
                    body: Body(parts: iterator)))
        }
    }

    private static func connect(to address: Address) async throws -> Channel {
        try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: address.host, port: address.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try Channel(wrappingChannelSynchronously: channel)
                }
            }
    }

    /// The parts of a `http` address. The target stays as it was written.
    private struct Address {
        let host: String
        let port: Int
        let target: String

        init(_ url: String) throws {
            guard let match = url.wholeMatch(of: /http:\/\/([^\/:]+):([0-9]+)(\/.*)?/),
                let port = Int(match.2)
            else { throw Failure(description: "no address with a port: \(url)") }
            (host, self.port) = (String(match.1), port)
            target = match.3.map(String.init) ?? "/"
        }
    }

    /// The parts of a body as they arrive; can be read once. Reading throws an error if the body
    /// ends too early.
    public struct Body: AsyncSequence {
        fileprivate let parts: Parts.AsyncIterator

        /// Reads the parts.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private var parts: Parts.AsyncIterator
            private var isOver = false

            fileprivate init(_ parts: Parts.AsyncIterator) { self.parts = parts }

            /// The next part; nil after the last one.
            public mutating func next() async throws -> [UInt8]? {
                guard !isOver else { return nil }
                switch try await parts.next() {
                case .body(let bytes): return Array(bytes.readableBytesView)
                case .end:
                    isOver = true
                    return nil
                case .head, nil:
                    try Task.checkCancellation()
                    throw TestClient.Failure(description: "The body ended too early.")
                }
            }
        }

        /// An iterator over the parts.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(parts) }
    }
}
