import DemoOrigin
import Operations
import OperationsTestSupport
import PhotoImaging
import Synchronization
import Testing

@testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct PhotoStageTests {
    /// An operation that provides an original, or ends otherwise; it is in no queue yet.
    private func source(
        _ bytes: Result<[UInt8], PhotoStageStop>
    ) -> TypedOperation<PhotoOriginal> {
        let url = webURL("https://example.org/a.jpg")
        let version = PhotoVersion(text: "1", modified: nil)
        return TypedOperation { () throws -> PhotoOriginal in
            PhotoOriginal(url: url, version: version, origin: .network, bytes: try bytes.get())
        }
    }

    /// The end of all stages from the source on.
    private func make(
        _ source: TypedOperation<PhotoOriginal>, by recipe: PhotoRecipe = PhotoRecipe(),
        limits: ImageLimits = .standard
    ) async throws -> Result<PhotoResult, PhotoStageStop> {
        try await withLoader(limits: SourceLimits(downloads: limits)) { loader, _ in
            OperationQueue().addOperation(source)
            do throws(PhotoStageStop) {
                return .success(
                    try await loader.result(from: source, by: recipe, priority: .normal) {
                        try await $0.value
                    })
            } catch {
                return .failure(error)
            }
        }
    }

    private func run(_ operation: Operation) async {
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
    }

    private func failure<Output>(_ outcome: PhotoStageOutcome<Output>) -> PhotoFailure? {
        if case .failed(let failure) = outcome { failure } else { nil }
    }

    private func failure(_ result: Result<PhotoResult, PhotoStageStop>) -> PhotoFailure? {
        if case .failure(.failed(let failure)) = result { failure } else { nil }
    }

    @Test func stagesDecodeFilterAndEncode() async throws {
        let recipe = PhotoRecipe(
            filters: [.sepia(intensity: 0.8)], size: PixelSize(width: 320, height: 320),
            quality: 80)
        let bytes = try jpeg(width: 640, height: 480)
        let image = try await make(source(.success(bytes)), by: recipe).get().image
        #expect(image.size == PixelSize(width: 320, height: 240))
        #expect(image.format == .jpeg)
        // Gray 128 with sepia 0.8 is (145, 122, 81); JPEG may change it slightly.
        let pixels = try ImageEngine.decode(image.bytes).pixels()
        let expected = [145, 122, 81]
        for (channel, value) in expected.enumerated() {
            #expect(abs(Int(pixels[channel]) - value) <= 4)
        }
    }

    @Test func stageDependsOnItsSource() async throws {
        let bytes = source(.success(try jpeg()))
        bytes.start()
        try await withBusyProcessor { loader in
            let stages = await stages(of: bytes, in: loader)
            #expect(stages.encode.dependencies == [stages.decode])
            #expect(stages.decode?.dependencies == [bytes])
            #expect(stages.decode?.name == "Decode and filter")
            stages.task.cancel()
        }
    }

    /// Runs a closure with a loader whose only processor is taken, so that no work on pixels
    /// begins.
    private func withBusyProcessor(_ body: (PhotoLoader) async throws -> Void) async throws {
        let capacity = PixelCapacity(processors: 1)
        let begun = AsyncStream<Void>.makeStream()
        let other = OperationQueue().add("hold", capacity.processor) {
            begun.continuation.yield()
            try? await untilCancelled()
        }
        for await _ in begun.stream { break }
        try await withLoader(capacity: capacity) { loader, _ in try await body(loader) }
        other.cancel()
    }

    /// Begins to make a result, and returns its stages once they wait.
    private func stages(
        of source: TypedOperation<PhotoOriginal>, in loader: PhotoLoader
    ) async -> (
        task: Task<PhotoResult, any Error>, decode: Operation?, encode: Operation
    ) {
        let added = AsyncStream<Operation>.makeStream()
        let task = Task {
            try await loader.result(
                from: source, by: PhotoRecipe(filters: [.sepia()]), priority: .normal
            ) { encode in
                added.continuation.yield(encode)
                return try await encode.value
            }
        }
        for await encode in added.stream { return (task, encode.dependencies.first, encode) }
        preconditionFailure("the stream never ends")
    }

    @Test func failureIsPropagatedUnchanged() async throws {
        let lost = PhotoFailure(stage: .download, reason: "Lost.", isRetryable: true)
        #expect(failure(try await make(source(.failure(.failed(lost))))) == lost)
    }

    /// The header of such a file is valid, so it fails in a stage after which another one waits.
    @Test func truncatedPictureFailsInDecoding() async throws {
        let bytes = try jpeg(width: 640, height: 480)
        let half = Array(bytes[..<(bytes.count / 2)])
        let recipe = PhotoRecipe(filters: [.sepia()])
        #expect(failure(try await make(source(.success(half)), by: recipe))?.stage == .decode)
    }

    @Test func invalidBytesFailInDecoding() async throws {
        let page = Array("<!doctype html><p>Not found".utf8)
        let recipe = PhotoRecipe(filters: [.sepia()])
        let failure = failure(try await make(source(.success(page)), by: recipe))
        #expect(failure?.stage == .decode)
        #expect(failure?.reason.contains("HTML page") == true)
    }

    @Test func pictureBeyondLimitsIsNotRetryable() async throws {
        let bytes = source(.success(try jpeg(width: 300, height: 200)))
        let result = try await make(bytes, limits: ImageLimits(maximumPixels: 10_000))
        #expect(failure(result)?.isRetryable == false)
    }

    @Test func cancellationPropagatesToLaterStages() async throws {
        let bytes = source(.success(try jpeg()))
        bytes.cancel()
        guard case .failure(.cancelled) = try await make(bytes) else {
            Issue.record("a cancelled source has a result")
            return
        }
    }

    @Test func cancellationOfTaskCancelsAllStages() async throws {
        let bytes = source(.success(try jpeg()))
        bytes.start()
        try await withBusyProcessor { loader in
            let stages = await stages(of: bytes, in: loader)
            stages.task.cancel()
            await #expect(throws: PhotoStageStop.cancelled) { try await stages.task.value.image }
            #expect(stages.decode?.isCancelled == true && stages.encode.isCancelled)
        }
    }

    @Test func cancellationReachesRunningWork() async {
        let began = AsyncStream<Void>.makeStream()
        let operation = TypedOperation {
            try pixelWork(timeLimit: .seconds(60)) {
                cancellation throws(PhotoStageStop) -> Int in
                began.continuation.yield()
                while !cancellation.isCancelled {}
                throw .cancelled
            }
        }
        let queue = OperationQueue()
        queue.addOperation(operation)
        for await _ in began.stream { break }
        operation.cancel()
        await queue.waitUntilAllOperationsAreFinished()
        #expect(operation.isFinished)
    }

    @Test func timeLimitStopsWork() async throws {
        let operation = TypedOperation {
            try pixelWork(timeLimit: .zero) { cancellation throws(PhotoStageStop) -> Int in
                try pixelStage(.decode) { () throws(ImagingError) in
                    try cancellation.check()
                    return 1
                }
            }
        }
        await run(operation)
        #expect(failure(operation.outcome)?.isRetryable == true)
    }

    @Test func timeLimitCountsOnlyPixelWork() async throws {
        let file = try jpeg()
        let operation = TypedOperation {
            try pixelWork(timeLimit: .milliseconds(200)) {
                cancellation throws(PhotoStageStop) -> Bitmap in
                let end = ContinuousClock.now + .milliseconds(300)
                while ContinuousClock.now < end {}
                return try pixelStage(.decode) { () throws(ImagingError) in
                    try ImageEngine.decode(file, cancellation: cancellation)
                }
            }
        }
        await run(operation)
        #expect(failure(operation.outcome) == nil)
    }

    @Test func resultHasSizeOfHeader() async throws {
        let result = try await make(source(.success(try jpeg(width: 640, height: 480))))
        #expect(try result.get().image.size == PixelSize(width: 640, height: 480))
    }

    @Test func downloadCanBeCancelledInEveryPhase() async throws {
        try await withDemoOrigin(.quick) { origin in
            try await withLoader { loader, _ in
                let url = webURL(origin.url(for: .neverAnswers))
                for round in 0..<30 {
                    let download = loader.download(
                        PhotoLoader.Source(url: url), unless: nil)
                    for _ in 0..<round { await Task.yield() }
                    download.cancel()
                    await loader.originals.waitUntilAllOperationsAreFinished()
                    #expect(failure(download.outcome) == nil)
                }
            }
        }
    }
}
