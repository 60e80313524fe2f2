import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

@Suite(.ownThreads) struct PhotoListControllerResultsTests {
    @Test func filteredPictureReplacesDownloadedPicture() throws {
        let list = ControllerHarness(photoCount: 10)
        _ = list.viewport(4..<5)
        let generation = try #require(list.generation(4))
        let placeholder = try #require(list.change(4))
        let downloaded = list.downloaded(4, generation)
        let first = try #require(list.change(4))
        let filtered = list.filtered(4, generation)
        let second = try #require(list.change(4))
        #expect(downloaded == [.show(first)])
        #expect(filtered == [.show(second)])
        #expect(first.state == .downloaded && second.state == .filtered)
        #expect(first.id == PhotoID(rawValue: 4) && first.row == Row(4))
        #expect(placeholder.version < first.version && first.version < second.version)
        #expect(list.work.isEmpty)
    }

    @Test func startActionCarriesRecordGenerationAndStage() throws {
        let list = ControllerHarness(photoCount: 10)
        let actions = list.viewport(4..<5)
        let generation = try #require(list.generation(4))
        #expect(
            actions == [
                .start(Row(4), generation: generation, from: .download, record: photos(10)[4])
            ])
    }

    @Test func resultsAreAcceptedDuringScroll() {
        let list = ControllerHarness(photoCount: 10)
        _ = list.viewport(0..<1)
        _ = list.dragBegan()
        _ = list.viewport(5..<6)
        #expect(summaries(list.finish(0)) == ["show 0 downloaded", "show 0 filtered"])
        #expect(summaries(list.dragEnded(willDecelerate: false)) == ["download 5", "resume"])
    }

    @Test func filtrationResultMayOvertakeDownload() throws {
        let list = ControllerHarness(photoCount: 10)
        _ = list.viewport(0..<1)
        let generation = try #require(list.generation(0))
        #expect(summaries(list.filtered(0, generation)) == ["show 0 filtered"])
        #expect(list.downloaded(0, generation).isEmpty)
        #expect(list.state(0) == .filtered)
        list.check()
    }

    @Test func duplicateResultsAreIgnored() throws {
        let list = ControllerHarness(photoCount: 10)
        _ = list.viewport(0..<1)
        let generation = try #require(list.generation(0))
        #expect(list.downloaded(0, generation).count == 1)
        #expect(list.downloaded(0, generation).isEmpty)
        #expect(list.filtered(0, generation).count == 1)
        #expect(list.filtered(0, generation).isEmpty)
    }

    @Test func failedRowShowsReasonAndWaitsForRetry() throws {
        let list = ControllerHarness(photoCount: 10)
        _ = list.viewport(0..<1)
        _ = list.failed(0, try #require(list.generation(0)), lostConnection)
        #expect(list.change(0)?.state == .failed(lostConnection))
        #expect(list.viewport(0..<1).isEmpty)
        #expect(summaries(list.retry(0)) == ["show 0 new", "download 0"])
        #expect(summaries(list.finish(0)) == ["show 0 downloaded", "show 0 filtered"])
    }

    @Test func failureAfterDownloadFailsRow() throws {
        let list = ControllerHarness(photoCount: 10)
        _ = list.viewport(0..<1)
        list.download(0)
        let actions = list.failed(0, try #require(list.generation(0)), notFound)
        #expect(summaries(actions) == ["show 0 failed"])
        #expect(list.counts.failed == 1)
    }

    @Test func retryDuringScrollStartsWhenSettled() throws {
        let list = ControllerHarness(photoCount: 10)
        _ = list.viewport(0..<1)
        _ = list.failed(0, try #require(list.generation(0)), lostConnection)
        _ = list.dragBegan()
        #expect(summaries(list.retry(0)) == ["show 0 new"])
        #expect(summaries(list.dragEnded(willDecelerate: false)) == ["download 0", "resume"])
    }

    @Test func retryOffScreenStartsWhenVisible() throws {
        let list = ControllerHarness(photoCount: 10)
        _ = list.viewport(0..<1)
        _ = list.failed(0, try #require(list.generation(0)), lostConnection)
        _ = list.viewport(5..<5)
        #expect(summaries(list.retry(0)) == ["show 0 new"])
        #expect(summaries(list.viewport(0..<1)) == ["download 0"])
    }

    @Test func retryOfUnretryableRowIsIgnored() throws {
        let list = ControllerHarness(photoCount: 10)
        _ = list.viewport(0..<2)
        _ = list.failed(0, try #require(list.generation(0)), notFound)
        for row in [-1, 0, 1, 2, 10, .max] { #expect(list.retry(row).isEmpty) }
    }

    @Test func externallyCancelledRowRestartsWhenSettled() throws {
        let list = ControllerHarness(photoCount: 10)
        _ = list.viewport(0..<1)
        let old = try #require(list.generation(0))
        let before = try #require(list.change(0))
        let actions = list.cancelled(0, old)
        #expect(actions == [.show(before)], "The picture did not change.")
        #expect(list.work.isEmpty)
        _ = list.dragBegan()
        #expect(summaries(list.dragEnded(willDecelerate: false)) == ["download 0", "resume"])
    }

    @Test func resultsOfUnknownRowsAreIgnored() {
        let list = ControllerHarness(photoCount: 1)
        for row in [-1, 1, .max] {
            #expect(list.downloaded(row, Generation(1)).isEmpty)
            #expect(list.change(row) == nil)
        }
    }

    @Test func descriptionsNameRowGenerationAndVersion() {
        #expect("\(Row(3)) \(Generation(4)) \(PictureVersion(5))" == "row 3 generation 4 version 5")
    }
}
