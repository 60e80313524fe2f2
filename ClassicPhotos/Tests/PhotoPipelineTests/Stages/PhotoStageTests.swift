import DemoOrigin
import FoundationEssentials
import Imaging
import Operations
import OperationsTestSupport
import Synchronization
import Testing

@testable import PhotoPipeline

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct PhotoStageTests {
    /// A stage with the given result.
    private func stage<Output: Sendable>(
        _ result: Result<Output, PhotoStageStop>
    ) -> TypedOperation<Output> {
        TypedOperation { () throws -> Output in try result.get() }
    }

    private func run(_ operations: Operation...) async {
        await OperationQueue().addOperations(operations, waitUntilFinished: true)
    }

    private func failure<Output>(_ outcome: PhotoStageOutcome<Output>) -> PhotoFailure? {
        if case .failed(let failure) = outcome { failure } else { nil }
    }

    @Test func stagesDecodeFilterAndEncode() async throws {
        let bytes = stage(.success(try jpeg(width: 640, height: 480)))
        let decode = DecodeOperation(after: bytes, fitting: PixelSize(width: 320, height: 320))
        let filter = FilterOperation([.sepia(intensity: 0.8)], after: decode)
        let encode = EncodeOperation(after: filter, quality: 80)
        await run(encode, filter, decode, bytes)
        guard case .produced(let image) = encode.outcome else {
            Issue.record("\(encode.outcome)")
            return
        }
        #expect(image.size == PixelSize(width: 320, height: 240))
        #expect(image.format == .jpeg)
        // Grey 128 with sepia 0.8 is (145, 122, 81); JPEG may change it slightly.
        let pixels = try ImageEngine.decode(image.bytes).pixels()
        let expected = [145, 122, 81]
        for (channel, value) in expected.enumerated() {
            #expect(abs(Int(pixels[channel]) - value) <= 4)
        }
    }

    @Test func stageDependsOnItsSource() throws {
        let bytes = stage(.success(try jpeg()))
        let decode = DecodeOperation(after: bytes, fitting: nil)
        let filter = FilterOperation([], after: decode)
        #expect(decode.dependencies == [bytes])
        #expect(filter.dependencies == [decode])
        #expect(!filter.isReady)
    }

    @Test func failureIsPropagatedUnchanged() async {
        let lost = PhotoFailure(stage: .download, reason: "Lost.", isRetryable: true)
        let bytes: TypedOperation<[UInt8]> = stage(.failure(.failed(lost)))
        let decode = DecodeOperation(after: bytes, fitting: nil)
        let filter = FilterOperation([.sepia()], after: decode)
        let encode = EncodeOperation(after: filter, quality: 80)
        await run(bytes, decode, filter, encode)
        #expect(failure(encode.outcome) == lost)
    }

    @Test func invalidBytesFailInDecoding() async {
        let bytes = stage(.success(Array("<!doctype html><p>Not found".utf8)))
        let decode = DecodeOperation(after: bytes, fitting: nil)
        let filter = FilterOperation([.sepia()], after: decode)
        await run(bytes, decode, filter)
        #expect(failure(filter.outcome)?.stage == .decode)
        #expect(failure(filter.outcome)?.reason.contains("HTML page") == true)
    }

    @Test func pictureBeyondLimitsIsNotRetryable() async throws {
        let bytes = stage(.success(try jpeg(width: 300, height: 200)))
        let decode = DecodeOperation(
            after: bytes, fitting: nil, limits: ImageLimits(maximumPixels: 10_000))
        await run(bytes, decode)
        #expect(failure(decode.outcome)?.isRetryable == false)
    }

    @Test func cancellationPropagatesToLaterStages() async throws {
        let bytes = stage(.success(try jpeg()))
        let decode = DecodeOperation(after: bytes, fitting: nil)
        let filter = FilterOperation([.sepia()], after: decode)
        decode.cancel()
        await run(bytes, decode, filter)
        guard case .cancelled = filter.outcome else {
            Issue.record("\(filter.outcome)")
            return
        }
    }

    @Test func cancellationReachesRunningWork() async {
        let began = AsyncStream<Void>.makeStream()
        let operation = TypedOperation(
            body: pixelWork(timeLimit: .seconds(60)) {
                cancellation throws(PhotoStageStop) -> Int in
                began.continuation.yield()
                while !cancellation.isCancelled {}
                throw .cancelled
            })
        let queue = OperationQueue()
        queue.addOperation(operation)
        for await _ in began.stream { break }
        operation.cancel()
        await queue.waitUntilAllOperationsAreFinished()
        #expect(operation.isFinished)
    }

    @Test func timeLimitStopsWork() async throws {
        let operation = TypedOperation(
            body: pixelWork(timeLimit: .zero) { cancellation throws(PhotoStageStop) -> Int in
                try pixelStage(.decode) { () throws(ImagingError) in
                    try cancellation.check()
                    return 1
                }
            })
        await run(operation)
        #expect(failure(operation.outcome)?.isRetryable == true)
    }

    @Test func timeLimitCountsOnlyPixelWork() async throws {
        let file = try jpeg()
        let operation = TypedOperation(
            body: pixelWork(timeLimit: .milliseconds(200)) {
                cancellation throws(PhotoStageStop) -> Bitmap in
                let end = ContinuousClock.now + .milliseconds(300)
                while ContinuousClock.now < end {}
                return try pixelStage(.decode) { () throws(ImagingError) in
                    try ImageEngine.decode(file, cancellation: cancellation)
                }
            })
        await run(operation)
        #expect(failure(operation.outcome) == nil)
    }

    @Test func inspectionReturnsHeaderOrFailure() async throws {
        let bytes = stage(.success(try jpeg(width: 640, height: 480)))
        let page = stage(.success(Array("<!doctype html><p>Not found".utf8)))
        let (good, bad) = (InspectOperation(after: bytes), InspectOperation(after: page))
        await run(bytes, page, good, bad)
        #expect(try good.result.size == PixelSize(width: 640, height: 480))
        #expect(failure(bad.outcome)?.stage == .decode)
        #expect(failure(bad.outcome)?.reason.contains("HTML page") == true)
    }

    @Test func downloadCanBeCancelledInEveryPhase() async throws {
        try await withDemoOrigin(.quick) { origin in
            let downloader = PhotoDownloader(allowing: [.thisMachine])
            let url = try #require(URL(string: origin.url(for: .neverAnswers)))
            let queue = OperationQueue()
            for round in 0..<30 {
                let download = DownloadOperation(url: url, with: downloader)
                queue.addOperation(download)
                for _ in 0..<round { await Task.yield() }
                download.cancel()
                await queue.waitUntilAllOperationsAreFinished()
                #expect(failure(download.outcome) == nil)
            }
            await downloader.shutdown()
        }
    }
}
