import PhotoPipeline
import TestSupport
import Testing

/// The promises B8 to B12 of the photo list, as sentences.
@Suite(.ownThreads) struct PhotoListControllerScrollingTests {
    @Test func rowsSeenWhileTheListRestsAreStartedNearestTheMiddleFirst() {
        let list = ControllerHarness(photoCount: 100)
        #expect(
            orders(list.viewport(10..<15)) == [
                "download 12", "download 11", "download 13", "download 10", "download 14",
            ])
        let even = ControllerHarness(photoCount: 100)
        #expect(
            orders(even.viewport(0..<4)) == [
                "download 1", "download 2", "download 0", "download 3",
            ])
    }

    @Test func aDownloadedRowSeenAgainIsOnlyFiltered() {  // B8
        let list = ControllerHarness(photoCount: 100)
        _ = list.viewport(0..<1)
        list.download(0)
        #expect(orders(list.viewport(50..<51)) == ["cancel 0", "download 50"])
        #expect(orders(list.viewport(0..<1)) == ["cancel 50", "filter 0"])
    }

    @Test func theFirstDragEventSuspendsOnceHoweverManyFollow() {  // B9
        let list = ControllerHarness(photoCount: 10)
        #expect(orders(list.dragBegan()) == ["suspend"])
        #expect(list.dragBegan().isEmpty)
        #expect(list.isSuspended)
        #expect(list.dragEnded(willDecelerate: true).isEmpty)
        #expect(list.isSuspended)
        #expect(list.dragBegan().isEmpty, "caught in its flight")
        #expect(orders(list.dragEnded(willDecelerate: false)) == ["resume"])
        #expect(!list.isSuspended)
    }

    @Test func nothingStartsWhileTheListIsDraggedOrDecelerates() {  // B9
        let list = ControllerHarness(photoCount: 1_000)
        _ = list.dragBegan()
        for top in 0..<50 { #expect(list.viewport(top..<(top + 10)).isEmpty) }
        _ = list.dragEnded(willDecelerate: true)
        for top in 50..<90 { #expect(list.viewport(top..<(top + 10)).isEmpty) }
        #expect(list.work.isEmpty)
        #expect(list.visibleRows == Row(89)..<Row(99))
    }

    @Test func whenItSettlesOffScreenRowsAreCancelledThenVisibleOnesStartedThenQueuesResumed() {
        let list = ControllerHarness(photoCount: 100)  // B10
        _ = list.viewport(0..<4)
        list.finish(0)
        _ = list.dragBegan()
        _ = list.viewport(2..<6)
        _ = list.dragEnded(willDecelerate: true)
        #expect(
            orders(list.decelerationEnded()) == [
                "cancel 1", "download 4", "download 5", "resume",
            ], "row 0 is done, rows 2 and 3 go on")
    }

    @Test func aDragThatEndsWithoutDeceleratingSettlesAtOnce() {  // B10
        let list = ControllerHarness(photoCount: 100)
        _ = list.dragBegan()
        _ = list.viewport(7..<9)
        #expect(
            orders(list.dragEnded(willDecelerate: false)) == [
                "download 7", "download 8", "resume",
            ])
    }

    @Test func aRowThatLeavesTheScreenIsCancelledWithoutSuspendingAnything() {  // B11
        let list = ControllerHarness(photoCount: 100)
        _ = list.viewport(0..<3)
        #expect(orders(list.viewport(1..<4)) == ["cancel 0", "download 3"])
        #expect(!list.isSuspended)
    }

    @Test func aCancelledRowThatReturnsIsCreatedAnewAndItsOldResultIsIgnored() throws {  // B11 B12
        let list = ControllerHarness(photoCount: 100)
        _ = list.viewport(0..<1)
        let old = try #require(list.generation(0))
        _ = list.viewport(1..<2)
        #expect(list.downloaded(0, old).isEmpty, "it is not in progress")
        _ = list.viewport(0..<1)
        let new = try #require(list.generation(0))
        #expect(new > old)
        #expect(list.downloaded(0, old).isEmpty)
        #expect(list.filtered(0, old).isEmpty)
        #expect(list.failed(0, old, lostConnection).isEmpty)
        #expect(list.cancelled(0, old).isEmpty)
        #expect(list.state(0) == .new)
        #expect(list.generation(0) == new)
        #expect(orders(list.downloaded(0, new)) == ["show 0 downloaded"])
    }

    @Test func aRowInProgressIsNotStartedAgain() throws {  // B12
        let list = ControllerHarness(photoCount: 100)
        _ = list.viewport(0..<2)
        let first = try #require(list.generation(0))
        _ = list.dragBegan()
        #expect(orders(list.dragEnded(willDecelerate: false)) == ["resume"])
        #expect(list.viewport(0..<2).isEmpty)
        #expect(orders(list.viewport(0..<3)) == ["download 2"])
        #expect(list.generation(0) == first)
    }

    @Test func aRowThatIsFilteredOrFailedIsNotStartedAgain() throws {  // B12
        let list = ControllerHarness(photoCount: 100)
        _ = list.viewport(0..<2)
        list.finish(0)
        _ = list.failed(1, try #require(list.generation(1)), lostConnection)
        _ = list.viewport(50..<51)
        #expect(orders(list.viewport(0..<2)) == ["cancel 50"])
    }

    @Test func lateNewsAboutScrollingChangesNothing() {
        let list = ControllerHarness(photoCount: 10)
        #expect(list.dragEnded(willDecelerate: false).isEmpty)
        #expect(list.decelerationEnded().isEmpty)
        _ = list.dragBegan()
        #expect(list.decelerationEnded().isEmpty, "a hand holds it again")
        #expect(list.isSuspended)
    }

    @Test func aViewportPastTheEndIsCutToTheList() {
        let list = ControllerHarness(photoCount: 3)
        #expect(orders(list.viewport(2..<50)) == ["download 2"])
        #expect(orders(list.viewport(400..<450)) == ["cancel 2"])
        #expect(orders(list.viewport(-5..<1)) == ["download 0"])
        #expect(orders(list.viewport(.min ..< .max)) == ["download 1", "download 2"])
    }

    @Test func aViewportBeyondTheLimitIsWorkedOnAroundItsMiddleOnly() {
        let list = ControllerHarness(photos(100_000), visibleRowLimit: 3)
        #expect(
            orders(list.viewport(0..<100_000)) == [
                "download 49999", "download 49998", "download 50000",
            ])
    }
}
