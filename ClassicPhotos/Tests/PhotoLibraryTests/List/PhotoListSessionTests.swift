import DemoOrigin
import Operations
import OperationsTestSupport
import PhotoImaging
import PhotoTestSupport
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The session with real queues, a real server and real pictures.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct PhotoListSessionTests {
    private func withSession(
        _ urls: [String], options: PhotoListSession.Options = .init(),
        _ body: (PhotoListSession) async throws -> Void
    ) async throws {
        let records = urls.enumerated().map { index, address in
            guard let url = URL(string: address) else { preconditionFailure(address) }
            return PhotoRecord(
                id: PhotoID(rawValue: UInt64(index)), name: "Photo \(index)", url: url)
        }
        let downloader = PhotoDownloader(limits: .patientWithRetries, allowing: [.thisMachine])
        let session = PhotoListSession(records: records, options: options, downloader: downloader)
        try await body(session)
        await session.close()
        await downloader.shutdown()
    }

    /// Returns the first snapshot of the session that meets a condition. Reports the last one if
    /// the test's time ends before.
    private func wait(
        for session: PhotoListSession, until condition: (PhotoListSession.Update) -> Bool
    ) async -> PhotoListSession.Update {
        let changes = await session.subscribe()
        var snapshot = await session.takeSnapshot()
        // The condition may have become true before the subscription.
        guard !condition(snapshot) else { return snapshot }
        for await _ in changes {
            snapshot = await session.takeSnapshot()
            if condition(snapshot) { return snapshot }
        }
        Issue.record("No state of the page was the expected one. The last: \(snapshot)")
        return snapshot
    }

    /// Waits for a row's unfiltered picture, which may come after the filtered one.
    private func hasUnfiltered(_ row: Row, _ session: PhotoListSession) async -> Bool {
        await eventually { await session.pictureName(row, .downloaded) != nil }
    }

    @Test func onlyVisibleRowsAreProcessed() async throws {
        try await withDemoOrigin(.quick) { origin in
            let good = origin.url(for: .none)
            try await withSession(Array(repeating: good, count: 50)) { session in
                await session.scrolled(to: Row(10)..<Row(20), .settled)
                let snapshot = await wait(for: session) { update in
                    update.counts.filtered == 10 && update.rows.allSatisfy { !$0.isActive }
                }
                #expect(snapshot.counts.new == 40)
                #expect(snapshot.rows.map(\.change.row) == Array(Row(10)..<Row(20)))
                #expect(await session.pictureName(Row(12), .filtered) != nil)
                #expect(await hasUnfiltered(Row(12), session))
                #expect(await session.pictureName(Row(30), .downloaded) == nil)
            }
        }
    }

    @Test func unfilteredPictureIsKeptIfReportedLate() async throws {
        try await withDemoOrigin(.quick) { origin in
            try await withSession([origin.url(for: .neverAnswers)]) { session in
                await session.scrolled(to: Row(0)..<Row(1), .settled)
                let key = PictureKey(url: webURL("http://host/"), version: "1", size: nil)
                let decode = TypedOperation {
                    let bitmap = try ImageEngine.decode(try jpeg())
                    return Photo(
                        bitmap: bitmap, origin: .network, info: nil, damage: nil, notes: nil,
                        key: key)
                }
                let encode = TypedOperation(after: decode) { photo in
                    NamedPicture(try ImageEngine.encode(photo.bitmap, as: .jpeg))
                }
                for stage in [decode, encode] as [Operation] { stage.start() }
                await session.filtered(Row(0), Generation(1), encode)
                await session.downloaded(Row(0), Generation(1), encode, decode)
                #expect(await session.takeSnapshot().counts.filtered == 1)
                #expect(await session.pictureName(Row(0), .filtered) != nil)
                #expect(await session.pictureName(Row(0), .downloaded) != nil)
            }
        }
    }

    private struct WeakOperation {
        weak var operation: Operation?
    }

    @Test func operationsOfReleasedSessionAreReleased() async throws {
        try await withDemoOrigin(.quick) { origin in
            let url = URL(string: origin.url(for: .neverAnswers))
            let record = PhotoRecord(
                id: PhotoID(rawValue: 0), name: "Photo", url: try #require(url))
            let downloader = PhotoDownloader(limits: DownloadLimits(), allowing: [.thisMachine])
            var session: PhotoListSession? = PhotoListSession(
                records: [record], options: .init(), downloader: downloader)
            await session?.scrolled(to: Row(0)..<Row(1), .settled)
            var operations: [WeakOperation] = []
            if let pending = await session?.pending {
                let attempts = [
                    pending.downloadsInProgress[Row(0)], pending.filtrationsInProgress[Row(0)],
                ]
                for operation in attempts.flatMap({ $0?.operations ?? [] }) {
                    operations.append(WeakOperation(operation: operation))
                }
            }
            // Download, decode and encode; filter and encode.
            #expect(operations.count == 5)
            session = nil
            #expect(await comesTrue { operations.allSatisfy { $0.operation == nil } })
            await downloader.shutdown()
        }
    }

    private struct WeakQueue {
        weak var queue: Operations.OperationQueue?
    }

    /// Whether the page is closed while its photos are under way, or after they are shown.
    @Test(arguments: [false, true])
    func queuesOfClosedPagesAreReleased(isDone: Bool) async throws {
        try await withDemoOrigin(.quick) { origin in
            // All pages share the work, as the pages of a gallery do.
            let downloader = PhotoDownloader(limits: .patient, allowing: [.thisMachine])
            let loader = PhotoLoader(downloader: downloader)
            let records = try PhotoList.parse(
                bytes: Array(origin.catalog.propertyList(origin: origin.url).utf8),
                named: "photos.plist", relativeTo: URL(string: origin.url)
            ).records
            var queues: [WeakQueue] = []
            for page in 0..<20 {
                let session = PhotoListSession(
                    records: records, options: .init(), loader: loader)
                // Each page shows some photos of the page before, and some new ones.
                let rows = Row(page * 3)..<Row(page * 3 + 8)
                await session.scrolled(to: rows, .settled)
                if isDone {
                    _ = await wait(for: session) { update in
                        update.rows.count { $0.isActive } == 0
                            && update.counts.filtered + update.counts.failed >= rows.count
                    }
                }
                queues += await session.pending.queues.map { WeakQueue(queue: $0) }
                await session.close()
            }
            #expect(queues.count == 40)
            #expect(await comesTrue { queues.allSatisfy { $0.queue == nil } })
            await downloader.shutdown()
        }
    }

    @Test func brokenPhotosFailWithReasonsAndOthersFinish() async throws {
        try await withDemoOrigin(.quick) { origin in
            try await withClosedPort { dead in
                let faults: [DemoFault] = [
                    .status(404), .htmlPage, .empty, .truncated, .randomBytes, .hugeHeader,
                    .redirectLoop,
                ]
                let good = origin.url(for: .none)
                let bad =
                    faults.map { origin.url(for: $0) } + ["http://127.0.0.1:\(dead)/photo.jpg"]
                try await withSession([good] + bad + [good]) { session in
                    await session.scrolled(to: Row(0)..<Row(10), .settled)
                    let snapshot = await wait(for: session) {
                        $0.counts.filtered == 2 && $0.counts.failed == bad.count
                    }
                    let reasons = snapshot.rows.compactMap(\.change.state.failure?.reason)
                    let expected = [
                        "404 Not Found", "HTML page", "empty", "ends", "", "50000 × 50000",
                        "in a loop",
                        "refuses connections",
                    ]
                    for (reason, part) in zip(reasons, expected) {
                        #expect(
                            part.isEmpty || reason.contains(part),
                            "\(reason) should contain \(part)")
                        #expect(reason.hasSuffix("."))
                    }
                }
            }
        }
    }

    @Test func workStartsOnlyAfterDragSettles() async throws {
        try await withDemoOrigin(.quick) { origin in
            let good = origin.url(for: .none)
            try await withSession(Array(repeating: good, count: 100)) { session in
                await session.scrolled(to: Row(0)..<Row(10), .dragging)
                await session.scrolled(to: Row(30)..<Row(40), .decelerating)
                let during = await session.takeSnapshot()
                #expect(during.rows.isEmpty)
                #expect(during.queues.allSatisfy { $0.isSuspended })
                await session.scrolled(to: Row(60)..<Row(70), .settled)
                let snapshot = await wait(for: session) { $0.counts.filtered == 10 }
                #expect(snapshot.rows.map(\.change.row) == Array(Row(60)..<Row(70)))
                #expect(snapshot.queues.allSatisfy { !$0.isSuspended })
                // The rows show the same photo, so they share one download.
                #expect(origin.requestCount(for: DemoFault.none.path) == 1)
            }
        }
    }

    @Test func hiddenRowsAreCancelledAndRestartWhenVisible() async throws {
        try await withDemoOrigin(.quick) { origin in
            let never = [1, 2].map { origin.url(for: .neverAnswers) + "?\($0)" }
            let good = origin.url(for: .none)
            try await withSession(never + [good, good]) { session in
                await session.scrolled(to: Row(0)..<Row(2), .settled)
                let asked = { origin.requestCount(for: DemoFault.neverAnswers.path) }
                #expect(await comesTrue { asked() == 2 })
                await session.scrolled(to: Row(2)..<Row(4), .settled)
                let snapshot = await wait(for: session) {
                    $0.counts.filtered == 2 && $0.queues[0].cancelled == 2
                }
                #expect(snapshot.counts.new == 2)
                #expect(snapshot.queues[0].running == 0)
                await session.scrolled(to: Row(0)..<Row(2), .settled)
                #expect(await comesTrue { asked() == 4 })
            }
        }
    }

    @Test func retryDownloadsFailedPhotoAgain() async throws {
        try await withDemoOrigin(.quick) { origin in
            let flaky = DemoFault.flaky(status: 404, failures: 1, retryAfter: 0, key: "retry")
            try await withSession([origin.url(for: flaky)]) { session in
                await session.scrolled(to: Row(0)..<Row(1), .settled)
                _ = await wait(for: session) { $0.counts.failed == 1 }
                await session.retryRequested(Row(0))
                _ = await wait(for: session) { $0.counts.filtered == 1 }
            }
        }
    }

    @Test func closeCancelsAllWork() async throws {
        try await withDemoOrigin(.quick) { origin in
            let never = origin.url(for: .neverAnswers)
            try await withSession(Array(repeating: never, count: 20)) { session in
                await session.scrolled(to: Row(0)..<Row(20), .settled)
                let changes = await session.subscribe()
                await session.close()
                // The stream ends, and a later subscription gets an ended stream.
                for await _ in changes {}
                for await _ in await session.subscribe() {}
                #expect(await session.takeSnapshot().rows.isEmpty)
            }
        }
    }

    @Test func secondPageDownloadsAndDecodesNothing() async throws {
        try await withDemoOrigin(.quick) { origin in
            try await withLoader { loader, timeline in
                let records = (0..<5).map { index in
                    PhotoRecord(
                        id: PhotoID(rawValue: UInt64(index)), name: "Photo \(index)",
                        url: webURL(origin.url(for: .none) + "?\(index)"))
                }
                for _ in 0..<2 {
                    let session = PhotoListSession(
                        records: records, options: .init(), loader: loader)
                    await session.scrolled(to: Row(0)..<Row(5), .settled)
                    _ = await wait(for: session) { $0.counts.filtered == 5 }
                    for row in Row(0)..<Row(5) { #expect(await hasUnfiltered(row, session)) }
                    await session.close()
                }
                #expect(origin.requestCount(for: DemoFault.none.path) == 5)
                let stages = try PixelTimeline(timeline)
                #expect(stages.count(of: ["Decode"]) == 5)
                #expect(stages.count(of: ["Filter"]) == 5)
                #expect(stages.count(of: ["Encode"]) == 10)
            }
        }
    }
}
