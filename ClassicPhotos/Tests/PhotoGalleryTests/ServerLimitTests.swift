import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import OperationsTestSupport
import PhotoLibrary
import Synchronization
import Testing

@testable import PhotoGallery

/// Clients that are slow, silent or too many, and the limits that stop them.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct ServerLimitTests {
    private static let page = String(repeating: "0b", count: 16)

    /// Runs a gallery with one limit changed.
    private func withLimit<Value>(
        _ limit: WritableKeyPath<GalleryLimits, Value>, _ value: Value,
        _ body: (Gallery) async throws -> Void
    ) async throws {
        var limits = GalleryLimits.patient
        limits[keyPath: limit] = value
        try await withGallery(limits: limits, body)
    }

    private func head(_ request: String, port: Int, _ fields: String...) -> String {
        ([request + " HTTP/1.1", "Host: localhost:\(port)"] + fields).joined(separator: "\r\n")
            + "\r\n\r\n"
    }

    // MARK: Time

    @Test func silentConnectionIsClosed() async throws {
        try await withLimit(\.firstRequestTime, .milliseconds(300)) { gallery in
            #expect(await RawClient(port: gallery.port).isClosedByServer())
        }
    }

    @Test func incompleteRequestIsClosedDespiteNewBytes() async throws {
        try await withLimit(\.firstRequestTime, .milliseconds(500)) { gallery in
            let client = RawClient(port: gallery.port)
            client.send("GET / HTTP/1.1\r\nX-Slow: ")
            await client.drip("a", every: 20)
            #expect(await client.isClosedByServer())
        }
    }

    @Test func idleConnectionIsClosedAfterResponse() async throws {
        try await withLimit(\.idleTime, .milliseconds(300)) { gallery in
            let client = RawClient(port: gallery.port)
            client.send(head("GET /nothing", port: gallery.port))
            let answer = await client.read()
            #expect(answer.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        }
    }

    @Test func slowRequestBodyIsClosed() async throws {
        try await withLimit(\.bodyTime, .milliseconds(500)) { gallery in
            let client = RawClient(port: gallery.port)
            client.send(
                head(
                    "POST /api/viewport", port: gallery.port, "Content-Type: application/json",
                    "Content-Length: 10000"))
            await client.drip(" ", every: 20)
            #expect(await client.isClosedByServer())
        }
    }

    @Test func bodyOfRejectedRequestIsNotReadForever() async throws {
        try await withLimit(\.bodyTime, .milliseconds(500)) { gallery in
            let client = RawClient(port: gallery.port)
            client.send(head("POST /nothing", port: gallery.port, "Content-Length: 1000000000"))
            #expect(await client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 404 "))
            #expect(await client.isClosedByServer())
        }
    }

    @Test func tooLargeBodyIsRejected() async throws {
        try await withGallery { gallery in
            let (status, _, _) = try await gallery.post(
                "/api/viewport", String(repeating: " ", count: 20_000))
            #expect(status == 413)
        }
    }

    /// The buffers of the connection are full after some megabytes.
    @Test func clientThatDoesNotReadIsDisconnected() async throws {
        try await withLimit(\.writeTime, .milliseconds(500)) { gallery in
            let client = RawClient(port: gallery.port, receiveBuffer: 4_096)
            let request = head("GET /app.js", port: gallery.port)
            // Sends without pause, and reads no response until the server has closed the
            // connection.
            let isGone = await onThread {
                while client.send(request) {}
                return true
            }
            #expect(isGone)
        }
    }

    @Test func halfClosedConnectionIsClosed() async throws {
        try await withLimit(\.closeTime, .milliseconds(300)) { gallery in
            let client = RawClient(port: gallery.port)
            client.send(head("GET /nothing", port: gallery.port, "Connection: close"))
            #expect(await client.isClosedByServer())
            // The system accepts bytes until the other half of the connection is closed too.
            await client.sendUntilRefused("a", every: 20)
        }
    }

    @Test func eventStreamHasNoTimeLimit() async throws {
        var limits = GalleryLimits()
        limits.firstRequestTime = .milliseconds(100)
        limits.idleTime = .milliseconds(100)
        limits.bodyTime = .milliseconds(100)
        limits.closeTime = .milliseconds(100)
        try await withGallery(limits: limits) { gallery in
            let client = RawClient(port: gallery.port)
            client.send(head("GET /api/events?page=\(Self.page)", port: gallery.port))
            #expect(await client.read(until: "event: queues").hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(await client.isOpen(for: 1_000), "The stream stays open.")
        }
    }

    // MARK: Numbers

    /// The system accepts some connections before the server checks the limit, so the test opens
    /// more connections than the limit.
    @Test func connectionsBeyondLimitWait() async throws {
        try await withLimit(\.connections, 10) { gallery in
            var silent = (0..<40).map { _ in RawClient(port: gallery.port) }
            let client = RawClient(port: gallery.port)
            client.send(head("GET /nothing", port: gallery.port))
            #expect(!client.isReadable(within: 500))
            silent.removeAll()
            #expect(await client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 404 "))
        }
    }

    /// One client cannot keep others out of a gallery that other machines can reach.
    @Test func connectionsOfOneClientAreLimited() async throws {
        var limits = GalleryLimits.patient
        limits.connectionsPerClient = 3
        let token = GalleryToken()
        try await withGallery(limits: limits, host: "0.0.0.0", token: token) { gallery in
            let request = head(
                "GET /nothing", port: gallery.port, "Authorization: Bearer \(token.text)")
            func answer(_ client: RawClient) async -> String {
                client.send(request)
                return await client.read(until: "\r\n\r\n")
            }
            var open = (0..<3).map { _ in RawClient(port: gallery.port) }
            for client in open { #expect(await answer(client).hasPrefix("HTTP/1.1 404 ")) }
            #expect(await answer(RawClient(port: gallery.port)) == "")
            // A closed connection makes room; the server learns of it a moment later.
            open.removeLast()
            #expect(
                await eventually {
                    await answer(RawClient(port: gallery.port)).hasPrefix("HTTP/1.1 404 ")
                })
            withExtendedLifetime(open) {}
        }
        // This machine's own programs are not limited.
        try await withLimit(\.connectionsPerClient, 1) { gallery in
            let clients = (0..<3).map { _ in RawClient(port: gallery.port) }
            for client in clients {
                client.send(head("GET /nothing", port: gallery.port))
                #expect(await client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 404 "))
            }
        }
    }

    @Test func clientIsAddressOrNetworkOfSixtyFourBits() throws {
        func client(_ address: String) throws -> ClientConnections.Client? {
            ClientConnections.Client(try SocketAddress(ipAddress: address, port: 1))
        }
        #expect(try client("192.168.1.5") != nil)
        #expect(try client("192.168.1.5") == client("::ffff:192.168.1.5"))
        #expect(try client("192.168.1.5") != client("192.168.1.6"))
        #expect(try client("2001:db8:1:2::1") == client("2001:db8:1:2:ffff::9"))
        #expect(try client("2001:db8:1:2::1") != client("2001:db8:1:3::1"))
        #expect(ClientConnections.Client(nil) == nil)
        let connections = ClientConnections(limit: 2)
        let one = try #require(try client("10.0.0.1"))
        let two = try #require(try client("10.0.0.2"))
        #expect(connections.opened(by: one) && connections.opened(by: one))
        #expect(!connections.opened(by: one) && connections.opened(by: two))
        connections.closed(by: one)
        #expect(connections.opened(by: one) && !connections.opened(by: one))
    }

    /// Each part of a file has a deadline of its own, so a slow client gets a large file, and a
    /// client that reads next to nothing is disconnected.
    @Test func fileIsWrittenInParts() throws {
        final class Recorder: ChannelOutboundHandler {
            typealias OutboundIn = HTTPResponsePart
            var sizes: [Int] = []

            func write(
                context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
            ) {
                if case .body(let bytes) = unwrapOutboundIn(data) {
                    sizes.append(bytes.readableBytes)
                }
                promise?.succeed()
            }
        }
        let recorder = Recorder()
        let channel = EmbeddedChannel(
            handlers: [recorder, ConnectionLimitHandler(limits: GalleryLimits())])
        let part = ConnectionLimitHandler.partSize
        for count in [10, part, 2 * part + 1] {
            let body = HTTPResponsePart.body(ByteBuffer(repeating: 1, count: count))
            try channel.writeOutbound(body)
        }
        #expect(recorder.sizes == [10, part, part, part, 1])
        _ = try channel.finish()
    }

    private func stream(_ gallery: Gallery, page: String) async -> (client: RawClient, head: String)
    {
        let client = RawClient(port: gallery.port)
        client.send(head("GET /api/events?page=\(page)", port: gallery.port))
        return (client, await client.read(until: "\r\n\r\n"))
    }

    private func name(_ index: Int) -> String {
        let digits = String(index, radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }

    @Test func streamsPerPageAreLimited() async throws {
        try await withLimit(\.streamsPerPage, 2) { gallery in
            let pages = gallery.server.pages
            let id = try #require(PageID(Self.page))
            _ = try await pages.streamOpened(id)
            _ = try await pages.streamOpened(id)
            let third = await stream(gallery, page: Self.page)
            #expect(third.head.hasPrefix("HTTP/1.1 429 Too Many Requests\r\n"))
            await pages.streamClosed(id)
            let fourth = await stream(gallery, page: Self.page)
            #expect(fourth.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
            await pages.streamClosed(id)
        }
    }

    @Test func totalStreamsAndPagesAreLimited() async throws {
        try await withLimit(\.streams, 3) { gallery in
            var open: [RawClient] = []
            for index in 0..<3 {
                let (client, head) = await stream(gallery, page: name(index))
                #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
                open.append(client)
            }
            let (_, refused) = await stream(gallery, page: name(3))
            #expect(refused.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
            withExtendedLifetime(open) {}
        }
        try await withLimit(\.pages, 2) { gallery in
            let open = [
                await stream(gallery, page: name(0)), await stream(gallery, page: name(1)),
            ]
            #expect(open.allSatisfy { $0.head.hasPrefix("HTTP/1.1 200 ") })
            let (_, refused) = await stream(gallery, page: name(2))
            #expect(refused.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
            withExtendedLifetime(open) {}
        }
    }

    // MARK: Reports

    @Test func onlyNewestQueuedReportIsProcessed() async throws {
        try await withGallery { gallery in
            let pages = gallery.server.pages
            let id = try #require(PageID(Self.page))
            _ = try await pages.streamOpened(id)
            let (began, proceed) = (Signal(), Signal())
            let done = Mutex<[Int]>([])
            let first = Task {
                try await pages.report(id, sequence: 1) { _ in
                    began.send()
                    _ = await proceed.arrives()
                    done.withLock { $0.append(1) }
                }
            }
            #expect(await began.arrives())
            for number in [2, 3, 5, 4] + Array(6...1_000) {
                try await pages.report(id, sequence: number) { _ in
                    done.withLock { $0.append(number) }
                }
            }
            proceed.send()
            try await first.value
            #expect(done.withLock { $0 } == [1, 1_000])
            try await pages.report(id, sequence: 1_001) { _ in done.withLock { $0.append(1_001) } }
            #expect(done.withLock { $0 } == [1, 1_000, 1_001])
            await pages.streamClosed(id)
        }
    }

    @Test func largeViewportIsReducedToMiddleRows() async throws {
        try await withLimit(\.visibleRows, 3) { gallery in
            let (client, _) = await stream(gallery, page: Self.page)
            let report =
                #"{"page":"\#(Self.page)","first":0,"last":200,"phase":"settled","sequence":1}"#
            let status = try await gallery.post("/api/viewport", report).status
            #expect(status == 204)
            let seen = await client.read(until: "\"filtered\":3")
            // The members of a JSON object have no fixed order, so a comma or a brace may follow.
            let rows = seen.matches(of: /"row":(\d+)/).compactMap { Int($0.1) }
            #expect(Set(rows) == [99, 100, 101])
        }
    }

    // MARK: Hosts and methods

    @Test(arguments: [
        "localhost", "localhost:1", "127.0.0.1", "user@localhost:PORT",
        "localhost:PORT@evil.example",
        "localhost:PORT:PORT", "localhost:PORT ", "[::1]", "localhost.:PORT", "evil.example:PORT",
    ])
    func inexactHostIsRejected(host: String) async throws {
        try await withGallery { gallery in
            let host = host.split(separator: "PORT", omittingEmptySubsequences: false)
                .joined(separator: "\(gallery.port)")
            let client = RawClient(port: gallery.port)
            client.send("GET / HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
            let answer = await client.read(until: "\r\n\r\n")
            // White space at the end of a line is not part of the field.
            #expect(answer.hasPrefix(host.hasSuffix(" ") ? "HTTP/1.1 200 " : "HTTP/1.1 403 "))
        }
    }

    @Test func requestWithoutExactlyOneHostIsRejected() async throws {
        try await withGallery { gallery in
            for second in ["localhost:\(gallery.port)", "evil.example"] {
                let client = RawClient(port: gallery.port)
                client.send(
                    head("GET /", port: gallery.port, "Host: \(second)", "Connection: close"))
                #expect(
                    await client.read(until: "one Host").hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            }
            let none = RawClient(port: gallery.port)
            none.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
            #expect(await none.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 403 "))
        }
    }

    @Test func headResponsesHaveNoBody() async throws {
        try await withGallery { gallery in
            for path in [
                "/", "/app.js", "/api/photos", "/api/events?page=\(Self.page)", "/nothing",
            ] {
                let client = RawClient(port: gallery.port)
                client.send(head("HEAD \(path)", port: gallery.port, "Connection: close"))
                let answer = await client.read(until: "\r\n\r\n")
                #expect(
                    answer.hasPrefix(path == "/nothing" ? "HTTP/1.1 404 " : "HTTP/1.1 200 OK\r\n"))
                #expect(answer.hasSuffix("\r\n\r\n"), "\(path)")
                #expect(answer.lowercased().contains("\r\nx-content-type-options: nosniff\r\n"))
            }
            // A HEAD request for the events does not open a page.
            let (_, headers, bytes) = try await gallery.getBytes("/")
            #expect(headers.first(name: "content-length") == "\(bytes.count)")
            let report =
                #"{"page":"\#(Self.page)","first":0,"last":1,"phase":"settled","sequence":1}"#
            #expect(try await gallery.post("/api/viewport", report).status == 410)
        }
    }

    @Test func unknownPathIsNotFound() async throws {
        try await withGallery { gallery in
            let (status, headers, text) = try await gallery.get("/nothing")
            #expect(status == 404)
            #expect(text == "There is nothing at this address.\n")
            #expect(headers.first(name: "content-security-policy") != nil)
        }
    }
}
