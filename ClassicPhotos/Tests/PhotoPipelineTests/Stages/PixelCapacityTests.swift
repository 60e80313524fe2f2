import FoundationEssentials
import Imaging
import Operations
import OperationsInsight
import OperationsTestSupport
import Synchronization
import Testing

@testable import PhotoPipeline

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct PixelCapacityTests {
    private static let stages: Set<String> = ["Decode", "Filter", "Encode"]

    /// The photos of two pages, in queues that are wide enough for all of them.
    @Test(arguments: 1...3)
    func runningStagesNeverExceedProcessors(processors: Int) async throws {
        let capacity = PixelCapacity(processors: processors)
        let timeline = OperationTimeline()
        let file = try jpeg(width: 900, height: 700)
        let queues = [OperationQueue(), OperationQueue()]
        for queue in queues {
            queue.maxConcurrentOperationCount = 24
            timeline.record(queue)
        }
        for number in 0..<24 {
            let bytes = TypedOperation { file }
            let decode = DecodeOperation(after: bytes, fitting: nil, capacity: capacity)
            let filter = FilterOperation([.sepia()], after: decode, capacity: capacity)
            let encode = EncodeOperation(after: filter, quality: 80, capacity: capacity)
            let all: [Operation] = [bytes, decode, filter, encode]
            await queues[number % 2].addOperations(all, waitUntilFinished: false)
        }
        for queue in queues { await queue.waitUntilAllOperationsAreFinished() }
        let picture = try PixelTimeline(timeline)
        #expect(picture.count(of: Self.stages) == 72)
        #expect(picture.maximumConcurrency(of: Self.stages) <= processors)
        #expect(capacity.processors.inUse == 0)
    }

    @Test func decodingsWaitForMemory() async throws {
        let capacity = PixelCapacity(processors: 8, bytes: 64 << 20)
        let timeline = OperationTimeline()
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 8
        timeline.record(queue)
        // The bitmap of 27 MB takes more than half of the memory.
        let file = try jpeg(width: 3600, height: 2500)
        let info = try ImageEngine.inspect(file)
        let bytes = TypedOperation { file }
        bytes.start()
        for _ in 0..<6 {
            let decode = DecodeOperation(after: bytes, fitting: nil, capacity: capacity)
            decode.apply(capacity.memory(ImageEngine.memoryToDecode(info, fitting: nil)))
            queue.addOperation(decode)
        }
        await queue.waitUntilAllOperationsAreFinished()
        let picture = try PixelTimeline(timeline)
        #expect(picture.count(of: ["Decode"]) == 6)
        #expect(picture.maximumConcurrency(of: ["Decode"]) == 1)
        #expect(capacity.memory.inUse == 0)
    }

    @Test func pictureLargerThanMemoryIsProcessedAlone() async throws {
        let capacity = PixelCapacity(processors: 4, bytes: 1 << 20)
        let taken = Mutex<[Int]>([])
        let file = try jpeg(width: 1200, height: 900)
        let info = try ImageEngine.inspect(file)
        let bytes = TypedOperation { file }
        bytes.start()
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 4
        let decodes = (0..<4).map { _ in
            let decode = DecodeOperation(after: bytes, fitting: nil, capacity: capacity)
            decode.apply(capacity.memory(ImageEngine.memoryToDecode(info, fitting: nil)))
            decode.completionBlock = {
                taken.withLock { $0.append(capacity.memory.inUse) }
            }
            return decode
        }
        await queue.addOperations(decodes, waitUntilFinished: false)
        await queue.waitUntilAllOperationsAreFinished()
        for decode in decodes {
            guard case .produced = decode.outcome else {
                Issue.record("\(decode.outcome)")
                continue
            }
        }
        #expect(capacity.memory.inUse == 0)
    }

    @Test func invalidPictureNeedsNoMemory() async throws {
        var options = PhotoLoader.Options()
        options.capacity = PixelCapacity(processors: 1, bytes: 1 << 20)
        let capacity = options.capacity
        let downloader = PhotoDownloader()
        let loader = PhotoLoader(downloader: downloader, options: options)
        // All memory is taken, but the decoding needs none.
        let held = OperationQueue()
        let (begun, end) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        held.add("hold", .cost(capacity.memory.permits, of: capacity.memory)) {
            begun.continuation.yield()
            for await _ in end.stream { break }
        }
        for await _ in begun.stream { break }
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "a.jpg")
            try Data("<!doctype html>".utf8).write(to: file)
            let reason = await failure { _ = try await loader.photo(for: file) }
            #expect(reason?.contains("HTML page") == true)
        }
        end.continuation.yield()
        await held.waitUntilAllOperationsAreFinished()
        await downloader.shutdown()
    }

    @Test func memoryEstimateGrowsWithWork() {
        let info = ImageInfo(format: .jpeg, size: PixelSize(width: 4000, height: 3000))
        func bytesNeeded(
            _ filters: [ImageFilter], _ format: ImageFormat = .jpeg, box: PixelSize? = nil
        ) -> Int {
            PixelCapacity.bytesNeeded(for: info, fitting: box, filters: filters, format: format)
        }
        let bitmap = 36_000_000
        #expect(bytesNeeded([]) >= bitmap)
        // The filter works in the memory of the decoded pixels.
        #expect(bytesNeeded([.sepia()]) < 2 * bitmap)
        #expect(bytesNeeded([.blur()]) > bytesNeeded([.sepia()]))
        #expect(bytesNeeded([.sepia()], .png) > bytesNeeded([.sepia()], .jpeg))
        #expect(bytesNeeded([.sepia()], box: PixelSize(width: 320, height: 320)) < bitmap)
        let endless = ImageInfo(format: .png, size: PixelSize(width: .max, height: .max))
        let most = PixelCapacity.bytesNeeded(
            for: endless, fitting: nil, filters: [.sepia()], format: .png)
        #expect(most > 1 << 50)
    }

    @Test func waitForMemoryCanBeCancelled() async throws {
        let capacity = PixelCapacity(processors: 1, bytes: 1 << 20)
        let queue = OperationQueue()
        let begun = AsyncStream<Void>.makeStream()
        let whole = capacity.memory(.max)
        let first = Task {
            await holding(whole, in: queue, named: "first") {
                begun.continuation.yield()
                try? await untilCancelled()
                return 1
            }
        }
        for await _ in begun.stream { break }
        let second = Task { await holding(whole, in: queue, named: "second") { 2 } }
        second.cancel()
        #expect(await second.value == nil)
        // The first closure has begun: cancellation makes it return its result.
        first.cancel()
        #expect(await first.value == 1)
        await queue.waitUntilAllOperationsAreFinished()
        #expect(capacity.memory.inUse == 0)
    }
}
