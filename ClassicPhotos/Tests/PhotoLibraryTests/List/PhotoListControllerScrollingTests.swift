import OperationsTestSupport
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

/// The rules B8 to B12 of the photo list.
@Suite(.ownThreads) struct PhotoListControllerScrollingTests {
    @Test func visibleRowsStartFromMiddle() {
        let list = ControllerHarness(photoCount: 100)
        #expect(
            summaries(list.viewport(10..<15)) == [
                "download 12", "download 11", "download 13", "download 10", "download 14",
            ])
        let even = ControllerHarness(photoCount: 100)
        #expect(
            summaries(even.viewport(0..<4)) == [
                "download 1", "download 2", "download 0", "download 3",
            ])
    }

    @Test func downloadedRowIsOnlyFilteredWhenVisibleAgain() {  // B8
        let list = ControllerHarness(photoCount: 100)
        _ = list.viewport(0..<1)
        list.download(0)
        #expect(summaries(list.viewport(50..<51)) == ["cancel 0", "download 50"])
        #expect(summaries(list.viewport(0..<1)) == ["cancel 50", "filter 0"])
    }

    @Test func onlyFirstDragEventSuspends() {  // B9
        let list = ControllerHarness(photoCount: 10)
        #expect(summaries(list.dragBegan()) == ["suspend"])
        #expect(list.dragBegan().isEmpty)
        #expect(list.isSuspended)
        #expect(list.dragEnded(willDecelerate: true).isEmpty)
        #expect(list.isSuspended)
        #expect(list.dragBegan().isEmpty, "The list was caught while decelerating.")
        #expect(summaries(list.dragEnded(willDecelerate: false)) == ["resume"])
        #expect(!list.isSuspended)
    }

    @Test func nothingStartsWhileDraggingOrDecelerating() {  // B9
        let list = ControllerHarness(photoCount: 1_000)
        _ = list.dragBegan()
        for top in 0..<50 { #expect(list.viewport(top..<(top + 10)).isEmpty) }
        _ = list.dragEnded(willDecelerate: true)
        for top in 50..<90 { #expect(list.viewport(top..<(top + 10)).isEmpty) }
        #expect(list.work.isEmpty)
        #expect(list.visibleRows == Array(Row(89)..<Row(99)))
    }

    @Test func settlingCancelsThenStartsThenResumes() {
        let list = ControllerHarness(photoCount: 100)  // B10
        _ = list.viewport(0..<4)
        list.finish(0)
        _ = list.dragBegan()
        _ = list.viewport(2..<6)
        _ = list.dragEnded(willDecelerate: true)
        #expect(
            summaries(list.dragEnded(willDecelerate: false)) == [
                "cancel 1", "download 4", "download 5", "resume",
            ], "Row 0 is done; rows 2 and 3 continue.")
    }

    @Test func rowsInOtherOrderStartFromMiddleOfScreen() {
        let list = ControllerHarness(photoCount: 100)
        #expect(
            summaries(list.viewport([50, 3, 80])) == ["download 3", "download 50", "download 80"])
        #expect(
            summaries(list.viewport([3, 4, 99])) == [
                "cancel 50", "cancel 80", "download 4", "download 99",
            ])
        #expect(list.viewport([3, 4, 99]).isEmpty)
        #expect(summaries(list.viewport([99, 4])) == ["cancel 3"])
    }

    @Test func naiveModeStartsEveryRowAndCancelsNone() {
        let list = ControllerHarness(photoCount: 5)
        _ = list.viewport(0..<2)
        #expect(
            summaries(list.setNaive(true)) == ["download 2", "download 3", "download 4"],
            "Two rows are under way already.")
        #expect(list.dragBegan().isEmpty)
        #expect(list.viewport(1..<4).isEmpty)
        #expect(!list.isSuspended && list.work.count == 5)
        #expect(
            summaries(list.setNaive(false)) == [
                "suspend", "cancel 0", "cancel 1", "cancel 2", "cancel 3", "cancel 4",
            ], "The list is still being dragged.")
        #expect(
            summaries(list.dragEnded(willDecelerate: false)) == [
                "download 2", "download 1", "download 3", "resume",
            ])
        _ = list.dragBegan()
        #expect(summaries(list.setNaive(true)) == ["download 0", "download 4", "resume"])
        #expect(list.setNaive(true).isEmpty)
        #expect(list.pageClosed().count == 5)
        #expect(list.setNaive(false).isEmpty)
    }

    @Test func naiveModeReachesEndOfLongListStepByStep() throws {
        let limit = PhotoListController.naiveRowLimit
        let list = ControllerHarness(photoCount: limit + 2)
        #expect(list.setNaive(true).count == limit)
        // Rows beyond the limit have no advantage because somebody looks at them.
        #expect(list.viewport(limit..<(limit + 2)).isEmpty)
        let failed = try #require(list.generation(1))
        #expect(
            summaries(list.failed(1, failed, lostConnection)) == [
                "show 1 failed", "download \(limit)",
            ])
        let done = try #require(list.generation(0))
        _ = list.downloaded(0, done)
        #expect(
            summaries(list.filtered(0, done)) == [
                "show 0 filtered", "download \(limit + 1)",
            ])
    }

    @Test func dragWithoutDecelerationSettlesImmediately() {  // B10
        let list = ControllerHarness(photoCount: 100)
        _ = list.dragBegan()
        _ = list.viewport(7..<9)
        #expect(
            summaries(list.dragEnded(willDecelerate: false)) == [
                "download 7", "download 8", "resume",
            ])
    }

    @Test func rowLeavingScreenIsCancelledWithoutSuspension() {  // B11
        let list = ControllerHarness(photoCount: 100)
        _ = list.viewport(0..<3)
        #expect(summaries(list.viewport(1..<4)) == ["cancel 0", "download 3"])
        #expect(!list.isSuspended)
    }

    @Test func returningRowRestartsAndIgnoresOldResults() throws {  // B11 B12
        let list = ControllerHarness(photoCount: 100)
        _ = list.viewport(0..<1)
        let old = try #require(list.generation(0))
        _ = list.viewport(1..<2)
        #expect(list.downloaded(0, old).isEmpty, "The row is not in progress.")
        _ = list.viewport(0..<1)
        let new = try #require(list.generation(0))
        #expect(new > old)
        #expect(list.downloaded(0, old).isEmpty)
        #expect(list.filtered(0, old).isEmpty)
        #expect(list.failed(0, old, lostConnection).isEmpty)
        #expect(list.cancelled(0, old).isEmpty)
        #expect(list.state(0) == .new)
        #expect(list.generation(0) == new)
        #expect(summaries(list.downloaded(0, new)) == ["show 0 downloaded"])
    }

    @Test func rowInProgressIsNotRestarted() throws {  // B12
        let list = ControllerHarness(photoCount: 100)
        _ = list.viewport(0..<2)
        let first = try #require(list.generation(0))
        _ = list.dragBegan()
        #expect(summaries(list.dragEnded(willDecelerate: false)) == ["resume"])
        #expect(list.viewport(0..<2).isEmpty)
        #expect(summaries(list.viewport(0..<3)) == ["download 2"])
        #expect(list.generation(0) == first)
    }

    @Test func filteredOrFailedRowIsNotRestarted() throws {  // B12
        let list = ControllerHarness(photoCount: 100)
        _ = list.viewport(0..<2)
        list.finish(0)
        _ = list.failed(1, try #require(list.generation(1)), lostConnection)
        _ = list.viewport(50..<51)
        #expect(summaries(list.viewport(0..<2)) == ["cancel 50"])
    }

    @Test func outdatedScrollEventsAreIgnored() {
        let list = ControllerHarness(photoCount: 10)
        #expect(list.dragEnded(willDecelerate: false).isEmpty)
        _ = list.dragBegan()
        #expect(list.dragEnded(willDecelerate: true).isEmpty)
        #expect(list.dragEnded(willDecelerate: true).isEmpty, "a duplicate")
        #expect(list.isSuspended)
    }

    @Test func viewportIsClampedToList() {
        let list = ControllerHarness(photoCount: 3)
        #expect(summaries(list.viewport(2..<50)) == ["download 2"])
        #expect(summaries(list.viewport(400..<450)) == ["cancel 2"])
        #expect(summaries(list.viewport(-5..<1)) == ["download 0"])
        #expect(summaries(list.viewport(.min ..< .max)) == ["download 1", "download 2"])
    }

    @Test func oversizedViewportIsReducedToItsMiddle() {
        let list = ControllerHarness(photos(100_000), visibleRowLimit: 3)
        #expect(
            summaries(list.viewport(0..<100_000)) == [
                "download 49999", "download 49998", "download 50000",
            ])
    }
}
