import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads) struct PhotoRecordTests {
    private static let retryable = PhotoFailure(
        stage: .download, reason: "The connection was lost.", isRetryable: true)
    private static let final = PhotoFailure(
        stage: .decode, reason: "This is a web page.", isRetryable: false)

    private func record() throws -> PhotoRecord {
        PhotoRecord(
            id: PhotoID(rawValue: 1), name: "Bird", url: try #require(URL(string: "http://h/b.jpg"))
        )
    }

    @Test func photoMovesThroughItsStates() throws {
        var photo = try record()
        #expect(photo.state == .new)
        photo.become(.downloaded)
        photo.become(.filtered)
        #expect(photo.state == .filtered)
    }

    @Test func onlyLegalTransitionsAreAllowed() {
        let states: [PhotoState] = [
            .new, .downloaded, .filtered, .failed(Self.retryable), .failed(Self.final),
        ]
        let legal = [
            "new → downloaded", "new → failed", "downloaded → filtered", "downloaded → failed",
            "failed, retryable → new",
        ]
        for (index, state) in states.enumerated() {
            for (nextIndex, next) in states.enumerated() {
                let names = ["new", "downloaded", "filtered", "failed, retryable", "failed"]
                let target = nextIndex >= 3 ? "failed" : names[nextIndex]
                let transition = "\(names[index]) → \(target)"
                #expect(state.canBecome(next) == legal.contains(transition), "\(transition)")
            }
        }
    }

    @Test func illegalTransitionTrapsWithMessage() async throws {
        let result = try await #require(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let url = try #require(URL(string: "http://h/b.jpg"))
            var photo = PhotoRecord(id: PhotoID(rawValue: 1), name: "Bird", url: url)
            photo.become(.filtered)
        }
        let message = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(message.contains("Photo \"Bird\" is new and cannot become filtered."))
    }

    @Test func invalidEntryCannotBeRetried() async {
        let failure = PhotoFailure(stage: .source, reason: "It has no URL.", isRetryable: false)
        let photo = PhotoRecord(id: PhotoID(rawValue: 1), name: "Bird", failure: failure)
        #expect(photo.url == nil)
        #expect(photo.state.failure == failure)
        #expect(!photo.state.canBecome(.new))
        await #expect(processExitsWith: .failure) {
            let failure = PhotoFailure(stage: .source, reason: "None.", isRetryable: true)
            _ = PhotoRecord(id: PhotoID(rawValue: 1), name: "Bird", failure: failure)
        }
    }

    @Test func statesAndFailuresHaveDescriptions() {
        #expect("\(PhotoState.failed(Self.final))" == "failed (decode: This is a web page.)")
        #expect("\(PhotoState.downloaded)" == "downloaded")
    }

    @Test func identifiersRoundTripAsSixteenDigits() {
        let id = PhotoID(rawValue: 0xAB)
        #expect("\(id)" == "00000000000000ab")
        #expect(PhotoID("00000000000000ab") == id)
        for text in ["", "ab", "00000000000000AB", "+0000000000000ab", "00000000000000abc", "../x"]
        {
            #expect(PhotoID(text) == nil)
        }
    }
}
