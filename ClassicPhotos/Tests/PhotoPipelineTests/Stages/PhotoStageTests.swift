import DemoOrigin
import Operations
import OperationsTestSupport
import PhotoImaging
import PhotoTestSupport
import Synchronization
import Testing

@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct PhotoStageTests {
    private func original(_ bytes: [UInt8]) -> PhotoOriginal {
        PhotoOriginal(
            url: webURL("https://example.org/a.jpg"),
            version: PhotoVersion(text: "1", modified: nil), origin: .network, bytes: bytes)
    }

    private static func plan(
        filters: [ImageFilter] = [], size: PixelSize? = nil, quality: Int = 88
    ) -> FilePlan {
        FilePlan(
            size: size, filters: filters, format: .jpeg, quality: quality,
            parts: [.gray, .metadata], acceptsDamage: false)
    }

    /// The end of all stages.
    private func make(
        _ original: PhotoOriginal, by plan: FilePlan = Self.plan(), limits: ImageLimits = .standard
    ) async throws -> Result<WholeFile, PhotoStageStop> {
        try await withLoader(limits: SourceLimits(downloads: limits)) { loader, _ in
            do throws(PhotoStageStop) {
                return .success(try await loader.file(of: original) { _ in plan })
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

    private func failure(_ result: Result<WholeFile, PhotoStageStop>) -> PhotoFailure? {
        if case .failure(.failed(let failure)) = result { failure } else { nil }
    }

    @Test func stagesDecodeFilterAndEncode() async throws {
        let plan = Self.plan(
            filters: [.sepia(intensity: 0.8)], size: PixelSize(width: 320, height: 320),
            quality: 80)
        let bytes = try jpeg(width: 640, height: 480)
        let image = try await make(original(bytes), by: plan).get().image
        #expect(image.size == PixelSize(width: 320, height: 240))
        #expect(image.format == .jpeg)
        // Gray 128 with sepia 0.8 is (145, 122, 81); JPEG may change it slightly.
        let pixels = try ImageEngine.decode(image.bytes).pixels()
        let expected = [145, 122, 81]
        for (channel, value) in expected.enumerated() {
            #expect(abs(Int(pixels[channel]) - value) <= 4)
        }
    }

    @Test func oneOperationMakesAResult() async throws {
        let plan = Self.plan(filters: [.sepia()])
        try await withLoader { loader, timeline in
            _ = try await loader.file(of: original(try jpeg())) { _ in plan }
            let picture = try PixelTimeline(timeline)
            #expect(picture.count(of: ["Decode, filter, encode"]) == 1 && picture.count == 1)
        }
    }

    /// The header of such a file is valid, so it fails in a stage after which another one waits.
    @Test func truncatedPictureFailsInDecoding() async throws {
        let bytes = try jpeg(width: 640, height: 480)
        let half = Array(bytes[..<(bytes.count / 2)])
        let plan = Self.plan(filters: [.sepia()])
        #expect(failure(try await make(original(half), by: plan))?.stage == .decode)
    }

    @Test func invalidBytesFailInDecoding() async throws {
        let page = Array("<!doctype html><p>Not found".utf8)
        let plan = Self.plan(filters: [.sepia()])
        let failure = failure(try await make(original(page), by: plan))
        #expect(failure?.stage == .decode)
        #expect(failure?.reason.contains("HTML page") == true)
    }

    @Test func pictureBeyondLimitsIsNotRetryable() async throws {
        let bytes = original(try jpeg(width: 300, height: 200))
        let result = try await make(bytes, limits: ImageLimits(maximumPixels: 10_000))
        #expect(failure(result)?.isRetryable == false)
    }

    @Test func cancellationOfTheTaskCancelsWorkThatWaits() async throws {
        let capacity = PixelCapacity(processors: 1)
        let begun = AsyncStream<Void>.makeStream()
        let other = OperationQueue().add("hold", capacity.processor) {
            begun.continuation.yield()
            try? await untilCancelled()
        }
        for await _ in begun.stream { break }
        let original = original(try jpeg())
        try await withLoader(capacity: capacity) { loader, _ in
            let task = Task { try await loader.file(of: original) { _ in Self.plan() } }
            var counts = loader.pixels.counts.makeAsyncIterator()
            while let count = await counts.next(), count == 0 {}
            task.cancel()
            await #expect(throws: PhotoStageStop.cancelled) { try await task.value.image }
            await loader.pixels.waitUntilAllOperationsAreFinished()
        }
        other.cancel()
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
        let result = try await make(original(try jpeg(width: 640, height: 480)))
        #expect(try result.get().image.size == PixelSize(width: 640, height: 480))
    }

    @Test func downloadCanBeCancelledInEveryPhase() async throws {
        try await withDemoOrigin(.quick) { origin in
            try await withLoader { loader, _ in
                let url = webURL(origin.url(for: .neverAnswers))
                for round in 0..<30 {
                    let download = Task {
                        try await loader.download(PhotoLoader.Source(url: url), unless: nil)
                    }
                    for _ in 0..<round { await Task.yield() }
                    download.cancel()
                    await #expect(throws: PhotoStageStop.cancelled) { try await download.value }
                    await loader.originals.waitUntilAllOperationsAreFinished()
                }
            }
        }
    }
}
