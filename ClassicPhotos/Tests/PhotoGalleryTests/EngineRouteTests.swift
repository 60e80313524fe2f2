import DemoOrigin
import Foundation
import NIOHTTP1
import OperationsInsight
import OperationsTestSupport
import PhotoLibrary
import Testing

@testable import PhotoGallery

/// Watching and changing the machinery of a page, on a real server.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct EngineRouteTests {
    private static let page = String(repeating: "0d", count: 16)

    private struct Engine: Decodable {
        struct Queue: Decodable {
            let name: String
            let finished: Int
            let failed: Int
            let suspended: Bool
            let width: Int
        }
        struct Slice: Decodable {
            let id: String
            let queue: String
            let worker: String
            let start: Double
            let end: Double?
        }
        let now: Double
        let queues: [Queue]
        let slices: [Slice]
        let throughput: Double
        let misses: Int
        let bytesDownloaded: Int
        let naive: Bool
    }

    private func engineEvent(_ event: String) throws -> Engine? {
        guard event.hasPrefix("event: engine\n"), let data = event.split(separator: "data: ").last
        else { return nil }
        return try JSONDecoder().decode(Engine.self, from: Data(data.utf8))
    }

    private func post(_ gallery: Gallery, _ path: String, _ rest: String) async throws -> Int {
        try await gallery.post(path, #"{"page":"\#(Self.page)",\#(rest)}"#).status
    }

    @Test func watchedEngineSendsSlicesAndCounts() async throws {
        try await withGallery { gallery in
            var slices: [String: Engine.Slice] = [:]
            var last: Engine?
            _ = try await gallery.events(page: Self.page) { event in
                if event.hasPrefix("event: hello") {
                    let watch = try await post(gallery, "/api/engine/watch", #""on":true"#)
                    let report = try await post(
                        gallery, "/api/viewport",
                        #""first":0,"last":2,"phase":"settled","sequence":1"#)
                    #expect(watch == 204 && report == 204)
                }
                guard let engine = try engineEvent(event) else { return false }
                for slice in engine.slices { slices[slice.id] = slice }
                last = engine
                // A photo takes one download, and four stages of pixel work.
                return engine.queues.map(\.finished) == [3, 12]
                    && slices.values.count { $0.end != nil } >= 15
            }
            let engine = try #require(last)
            #expect(engine.queues.map(\.name) == ["Download queue", "Image Filtration queue"])
            #expect(engine.throughput > 0 && engine.misses == 3 && engine.bytesDownloaded > 300)
            for slice in slices.values {
                #expect(engine.queues.map(\.name).contains(slice.queue))
                let end = try #require(slice.end)
                #expect(0 <= slice.start && slice.start <= end && end <= engine.now)
            }
            #expect(slices.values.contains { $0.worker == "Download queue 1" })
            let trace = try await gallery.get("/api/engine/timeline?page=\(Self.page)")
            #expect(trace.status == 200)
            #expect(trace.text.contains("traceEvents") && trace.text.contains("Decode"))
            #expect(
                trace.headers.first(name: "content-disposition")
                    == "attachment; filename=\"classicphotos-timeline.json\"")
        }
    }

    @Test func pausedQueueStartsNothing() async throws {
        // The page has no stream for a moment, and keeps its work meanwhile.
        var limits = GalleryLimits()
        limits.leavingTime = .seconds(600)
        limits.returnTime = .seconds(600)
        try await withGallery(limits: limits) { gallery in
            let queue = #""queue":"Download queue""#
            _ = try await gallery.events(page: Self.page) { event in
                if event.hasPrefix("event: hello") {
                    let pause = try await post(
                        gallery, "/api/engine", queue + #","action":"pause""#)
                    let report = try await post(
                        gallery, "/api/viewport",
                        #""first":0,"last":2,"phase":"settled","sequence":1"#)
                    #expect(pause == 204 && report == 204)
                }
                return event.contains("\"waiting\":3") && event.contains("\"suspended\":true")
            }
            _ = try await gallery.events(page: Self.page) { event in
                if event.hasPrefix("event: hello") {
                    let width = try await post(
                        gallery, "/api/engine", queue + #","action":"width","width":1"#)
                    let resume = try await post(
                        gallery, "/api/engine", queue + #","action":"resume""#)
                    #expect(width == 204 && resume == 204)
                }
                return event.contains("\"filtered\":3")
            }
        }
    }

    /// All photos of the list become ready, in its order and one at a time, although the page shows
    /// the first rows only.
    @Test func naiveModeProcessesWholeListWhileItIsDragged() async throws {
        var configuration = DemoOriginServer.Configuration.quick
        configuration.count = 12
        // The server's own recording keeps half a minute only.
        let timeline = OperationTimeline()
        try await withGallery(configuration, timeline: timeline) { gallery in
            _ = try await gallery.events(page: Self.page) { event in
                if event.hasPrefix("event: hello") {
                    let mode = try await post(gallery, "/api/engine/mode", #""naive":true"#)
                    let report = try await post(
                        gallery, "/api/viewport",
                        #""first":0,"last":2,"phase":"dragging","sequence":1"#)
                    #expect(mode == 204 && report == 204)
                }
                return event.hasPrefix("event: counts") && event.contains(#""new":0"#)
                    && event.contains(#""downloaded":0"#)
            }
            // The loader has queues of its own.
            let queues = ["Download queue", "Image Filtration queue"]
            func recorded() -> [OperationTimeline.Slice] {
                timeline.slices().filter { slice in queues.contains { slice.queue.contains($0) } }
            }
            // The end of a run is recorded a little later.
            #expect(await comesTrue { recorded().allSatisfy { $0.end != nil } })
            let slices = recorded()
            let downloads = slices.map(\.name).filter { $0.hasPrefix("Download ") }
            let names = gallery.origin.catalog.entries.map {
                "Download " + ($0.path.split(separator: "/").last ?? "")
            }
            #expect(downloads == names, "The photos are processed in the order of the list.")
            for (former, next) in zip(slices, slices.dropFirst()) {
                let end = try #require(former.end)
                #expect(end <= next.start, "One operation runs at a time.")
            }
        }
    }

    /// Work of a page that has left ends, in naive mode too.
    @Test func naiveModeEndsWithPage() async throws {
        try await withGallery { gallery in
            _ = try await gallery.events(page: Self.page) { event in
                if event.hasPrefix("event: hello") {
                    let mode = try await post(gallery, "/api/engine/mode", #""naive":true"#)
                    #expect(mode == 204)
                }
                return event.hasPrefix("event: counts") && event.contains(#""filtered":2"#)
            }
            let page = try #require(PageID(Self.page))
            let session = try await gallery.server.pages.session(page)
            // The end of the stream cancels the work after the leaving time.
            var gauges = await session.gauges
            let isIdle = await eventually {
                gauges = await session.gauges
                return gauges.allSatisfy { $0.running + $0.waiting == 0 }
                    && gauges.contains { $0.cancelled > 100 }
            }
            #expect(isIdle, "the queues: \(gauges)")
            #expect(await !session.engineState(since: .zero).isNaive)
        }
    }

    @Test(arguments: [
        ("", #""queue":"Download queue","action":"explode""#),
        ("", #""queue":"Download queue","action":"width""#),
        ("", #""queue":"Download queue","action":"width","width":0"#),
        ("", #""queue":"Download queue","action":"width","width":65"#),
        ("", #""queue":"none","action":"pause""#), ("/watch", #""on":1"#), ("/mode", #""x":true"#),
    ])
    func invalidChangesAreRejected(path: String, rest: String) async throws {
        try await withGallery { gallery in
            // The page has to be open: its events have begun.
            _ = try await gallery.events(page: Self.page) { _ in true }
            let status = try await post(gallery, "/api/engine\(path)", rest)
            #expect(status == 400)
        }
    }

    @Test func unknownPageIsGone() async throws {
        try await withGallery { gallery in
            let path = "/api/engine/timeline"
            #expect(try await gallery.get("\(path)?page=\(Self.page)").status == 410)
            #expect(try await gallery.get("\(path)?page=me").status == 400)
            let status = try await post(gallery, "/api/engine/watch", #""on":true"#)
            #expect(status == 410)
        }
    }
}
