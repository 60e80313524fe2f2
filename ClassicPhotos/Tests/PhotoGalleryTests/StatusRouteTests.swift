import DemoOrigin
import Foundation
import Logging
import NIOHTTP1
import OperationsTestSupport
import PhotoLibrary
import Synchronization
import Testing

@testable import PhotoGallery

/// Health, numbers, and the end of the work of pages that were closed.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct StatusRouteTests {
    private static let page = String(repeating: "0e", count: 16)

    @Test func serverIsHealthy() async throws {
        try await withGallery { gallery in
            let (status, headers, text) = try await gallery.get("/health")
            #expect(status == 200 && text == "ok\n")
            #expect(headers.first(name: "cache-control") == "no-store")
        }
    }

    @Test func metricsCountPagesAndOperations() async throws {
        try await withGallery { gallery in
            let before = try await gallery.get("/metrics").text
            #expect(before.contains("\nclassicphotos_pages 0\n"))
            #expect(before.contains("\nclassicphotos_photos 240\n"))
            _ = try await gallery.events(page: Self.page) { event in
                guard event.hasPrefix("event: counts") else { return false }
                let text = try await gallery.get("/metrics").text
                #expect(text.contains("\nclassicphotos_pages 1\n"))
                #expect(text.contains("\nclassicphotos_streams 1\n"))
                #expect(
                    text.contains(
                        "\nclassicphotos_operations_running{queue=\"Download queue\"} 0\n"))
                return true
            }
            let headers = try await gallery.get("/metrics").headers
            #expect(headers.first(name: "content-type")?.contains("version=0.0.4") == true)
        }
    }

    @Test func requestsAreLoggedWithoutQueries() async throws {
        let log = MessageLog()
        let logger = Logger(label: "test") { _ in MessageLogHandler(log: log) }
        try await withGallery(accessLogger: logger) { gallery in
            _ = try await gallery.get("/api/order?query=secret")
            _ = try await gallery.get("/%0Anothing%1b")
            _ = try await gallery.get("/", headers: [("Host", "evil.example")])
        }
        let texts = log.texts.withLock { $0 }
        #expect(texts.count == 3)
        #expect(texts[0].contains(#/^GET /api/order 200 [0-9.]+ ms$/#))
        #expect(texts[1].contains(#/^GET /\S*nothing\S* 404 /#))
        #expect(texts[2].hasPrefix("GET / 403 "))
        #expect(!texts.joined().contains("secret") && !texts.joined().contains("\u{1b}"))
    }

    @Test func labelsAreQuoted() {
        var text = MetricsText()
        text.add("x", label: ("queue", "a\"b\\c\nd"), 1)
        #expect(text.text == #"classicphotos_x{queue="a\"b\\c\nd"} 1"# + "\n")
    }

    @Test func workOfClosedPageEndsBeforeItsSession() async throws {
        var origin = DemoOriginServer.Configuration.quick
        origin.slowTransfer = .seconds(600)
        var limits = GalleryLimits()
        limits.leavingTime = .milliseconds(50)
        limits.returnTime = .seconds(600)
        try await withGallery(origin, limits: limits) { gallery in
            let slow = try #require(
                gallery.origin.catalog.entries.first { $0.kind == .verySlow })
            // The stream ends when the closure returns.
            _ = try await gallery.events(page: Self.page) { event in
                if event.hasPrefix("event: hello") {
                    let report =
                        #"{"page":"\#(Self.page)","rows":[\#(slow.id)],"phase":"settled","#
                        + #""sequence":1}"#
                    let status = try await gallery.post("/api/viewport", report).status
                    #expect(status == 204)
                }
                return event.contains("\"running\":1")
            }
            let id = try #require(PageID(Self.page))
            let session = try await gallery.server.pages.session(id)
            var gauges = await session.gauges
            let isIdle = await eventually {
                gauges = await session.gauges
                return gauges.allSatisfy { $0.running + $0.waiting == 0 }
            }
            #expect(isIdle, "the queues: \(gauges)")
            // The page may still return, and starts its work again.
            _ = try await gallery.events(page: Self.page) { event in
                if event.hasPrefix("event: hello") {
                    let report =
                        #"{"page":"\#(Self.page)","rows":[0],"phase":"settled","sequence":1}"#
                    let status = try await gallery.post("/api/viewport", report).status
                    #expect(status == 204)
                }
                return event.contains("\"filtered\":1")
            }
        }
    }
}

/// The messages of a logger.
private final class MessageLog: Sendable {
    let texts = Mutex<[String]>([])
}

private struct MessageLogHandler: LogHandler {
    let log: MessageLog
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        log.texts.withLock { $0.append("\(event.message)") }
    }
}
