import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

@Suite(.ownThreads) struct PhotoListControllerContentsTests {
    @Test func listArrivingAfterPageStartsImmediately() {
        let list = ControllerHarness(photoCount: 0)
        #expect(list.viewport(0..<2).isEmpty)
        let actions = list.listChanged(photos(5), order: Array(0..<5), changed: [])
        #expect(summaries(actions) == ["download 0", "download 1"])
    }

    @Test func photoChangedDuringScrollStartsWhenSettled() {
        let list = ControllerHarness(photoCount: 5)
        _ = list.viewport(0..<1)
        _ = list.dragBegan()
        let records = photos(1, from: 50) + photos(4, from: 1)
        let actions = list.listChanged(records, order: Array(0..<5), changed: [0])
        #expect(summaries(actions) == ["cancel 0", "show 0 new"])
        #expect(summaries(list.dragEnded(willDecelerate: false)) == ["download 0", "resume"])
    }

    @Test func changedListKeepsOtherRows() throws {
        let list = ControllerHarness(photoCount: 3)
        _ = list.viewport(0..<3)
        list.finish(0)
        list.finish(1)
        let running = try #require(list.generation(2))
        // Row 0 goes, row 1 has a changed file, and row 3 is new.
        let records = photos(1) + photos(1, from: 50) + photos(2, from: 2)
        _ = list.viewport([0, 1, 2, 3])
        let actions = list.listChanged(records, order: [3, 1, 2], changed: [0, 1])
        #expect(summaries(actions) == ["show 1 new", "download 1", "download 3"])
        list.check()
        #expect(list.change(1)?.id == PhotoID(rawValue: 50))
        #expect(list.counts.total == 3 && list.counts.filtered == 0)
        #expect(list.generation(2) == running)
        _ = list.retry(0)
        #expect(list.generation(0) == nil, "The row has no photo.")
    }

    @Test func closedPageCancelsWorkAndIgnoresEvents() throws {
        let list = ControllerHarness(photoCount: 10)
        _ = list.viewport(0..<2)
        let generation = try #require(list.generation(0))
        #expect(summaries(list.pageClosed()) == ["cancel 0", "cancel 1"])
        #expect(list.isClosed)
        let actions = [
            list.pageClosed(), list.dragBegan(), list.dragEnded(willDecelerate: false),
            list.viewport(3..<6), list.retry(0),
            list.listChanged(photos(3), order: [0, 1, 2], changed: [0]),
            list.downloaded(0, generation),
            list.filtered(0, generation), list.failed(0, generation, lostConnection),
            list.cancelled(0, generation),
        ]
        #expect(actions.flatMap { $0 }.isEmpty)
    }

    @Test func closingDuringScrollResumesQueues() {
        let list = ControllerHarness(photoCount: 10)
        _ = list.viewport(0..<1)
        _ = list.dragBegan()
        #expect(summaries(list.pageClosed()) == ["cancel 0", "resume"])
    }

    @Test func retryOfAllLeavesFinalFailures() throws {
        let list = ControllerHarness(photoCount: 4)
        _ = list.viewport(0..<4)
        for (row, failure) in [(0, lostConnection), (1, notFound), (2, lostConnection)] {
            _ = list.failed(row, try #require(list.generation(row)), failure)
        }
        _ = list.viewport(2..<4)
        #expect(summaries(list.retryAll()) == ["show 0 new", "show 2 new", "download 2"])
        #expect(list.counts.failed == 1 && list.state(1) == .failed(notFound))
        #expect(list.retryAll().isEmpty)
    }

    @Test func invalidEntriesAreCountedAndNeverStarted() {
        let failure = PhotoFailure(stage: .source, reason: "No URL.", isRetryable: false)
        let broken = PhotoRecord(id: PhotoID(rawValue: 9), name: "broken", failure: failure)
        let list = ControllerHarness([broken] + photos(1))
        #expect(list.counts.failed == 1 && list.counts.new == 1)
        #expect(summaries(list.viewport(0..<2)) == ["download 1"])
    }

    @Test func countsFollowEveryTransition() throws {
        let list = ControllerHarness(photoCount: 4)
        _ = list.viewport(0..<3)
        list.finish(0)
        list.download(1)
        _ = list.failed(2, try #require(list.generation(2)), lostConnection)
        #expect(list.counts.new == 1 && list.counts.downloaded == 1)
        #expect(list.counts.filtered == 1 && list.counts.failed == 1)
        #expect(list.counts == PhotoStateCounts(of: list.records))
    }

    /// If the time of an event depended on the length of the list, this test would take 10¹⁰ steps.
    @Test(.timeLimit(.minutes(15)))
    func eventTimeIsIndependentOfListLength() {
        let list = ControllerHarness(photoCount: 500_000)
        for step in 0..<5_000 {
            let top = step * 90
            _ = list.dragBegan()
            _ = list.viewport(top..<(top + 2))
            _ = list.dragEnded(willDecelerate: false)
            list.finish(top)
        }
        #expect(list.counts.filtered == 5_000)
        #expect(list.counts.new == 495_000)
    }
}
