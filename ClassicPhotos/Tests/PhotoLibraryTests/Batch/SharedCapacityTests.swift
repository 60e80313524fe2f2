import Operations
import OperationsTestSupport
import PhotoImaging
import PhotoPipeline
import PhotoTestSupport
import Synchronization
import Testing

@testable import PhotoLibrary

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct SharedCapacityTests {
    /// All photos need all of the memory. A stage that held it and waited for a processor would
    /// stand behind one that has neither, both for ever.
    @Test func loaderAndBatchShareCapacity() async throws {
        let capacity = PixelCapacity(processors: 2, bytes: 1 << 20)
        try await withTemporaryFolder { folder in
            try await withLoader(memoryBytes: 0, capacity: capacity) { loader, _ in
                let source = folder.appending(path: "in")
                try FileManager.default.createDirectory(
                    at: source, withIntermediateDirectories: true)
                for number in 0..<20 {
                    let file = source.appending(path: "\(number).jpg")
                    try Data(jpeg(width: 1200, height: 900)).write(to: file)
                }
                let records = try PhotoList.read(folder: source).records
                let output = try OutputFolder(folder.appending(path: "out").systemPath)
                var options = PhotoBatch.Options(
                    recipe: PhotoRecipe(filters: [.sepia()]), folder: output)
                options.capacity = capacity
                let batch = PhotoBatch(options: options, downloader: loader.downloader)
                let written = Mutex(0)
                async let failure = batch.run(records) { _, result in
                    if case .written = result { written.withLock { $0 += 1 } }
                }
                for record in records {
                    guard let url = record.url else { continue }
                    _ = try await loader.photo(for: url, filters: [.sepia()])
                }
                #expect(await failure == nil)
                #expect(written.withLock { $0 } == 20)
                #expect(capacity.memory.inUse == 0 && capacity.processors.inUse == 0)
            }
        }
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
