import Operations
import OperationsInsight
import OperationsTestSupport
import PhotoImaging
import PhotoTestSupport
import Testing

@testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct PixelCapacityTests {
    private static let stages: Set<String> = ["Decode", "Filter", "Encode"]

    /// Writes different photos into a folder and loads them at the same time, with their pixels in
    /// a queue that is wide enough for all of them.
    private func load(
        _ count: Int, width: Int, height: Int, filters: [ImageFilter] = [], from folder: URL,
        with loader: PhotoLoader
    ) async throws {
        loader.pixels.maxConcurrentOperationCount = count
        let bytes = try jpeg(width: width, height: height)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                let file = folder.appending(path: "\(number).jpg")
                try Data(bytes).write(to: file)
                group.addTask {
                    let photo = try await loader.photo(for: file, filters: filters)
                    if !filters.isEmpty { _ = try await loader.encoded(photo) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// The photos of two loaders.
    @Test(arguments: 1...3)
    func runningStagesNeverExceedProcessors(processors: Int) async throws {
        let capacity = PixelCapacity(processors: processors)
        let timeline = OperationTimeline()
        try await withTemporaryFolder { folder in
            try await withLoader(capacity: capacity) { first, _ in
                try await withLoader(capacity: capacity) { second, _ in
                    for loader in [first, second] { timeline.record(loader.pixels) }
                    async let photos: Void = load(
                        12, width: 900, height: 700, filters: [.sepia()],
                        from: folder.appending(path: "first"), with: first)
                    try await load(
                        12, width: 900, height: 700, filters: [.sepia()],
                        from: folder.appending(path: "second"), with: second)
                    try await photos
                }
            }
        }
        let picture = try PixelTimeline(timeline)
        #expect(picture.count(of: Self.stages) == 72)
        #expect(picture.maximumConcurrency(of: Self.stages) <= processors)
        #expect(capacity.processors.inUse == 0)
    }

    @Test func decodingsWaitForMemory() async throws {
        let capacity = PixelCapacity(processors: 8, bytes: 64 << 20)
        try await withTemporaryFolder { folder in
            try await withLoader(memoryBytes: 0, capacity: capacity) { loader, timeline in
                // The bitmap of 27 MB takes more than half of the memory.
                try await load(6, width: 3600, height: 2500, from: folder, with: loader)
                let picture = try PixelTimeline(timeline)
                #expect(picture.count(of: ["Decode"]) == 6)
                #expect(picture.maximumConcurrency(of: ["Decode"]) == 1)
                #expect(capacity.memory.inUse == 0)
            }
        }
    }

    @Test func pictureLargerThanMemoryIsProcessedAlone() async throws {
        let capacity = PixelCapacity(processors: 4, bytes: 1 << 20)
        try await withTemporaryFolder { folder in
            try await withLoader(memoryBytes: 0, capacity: capacity) { loader, timeline in
                // A photo that fails ends the test.
                try await load(4, width: 1200, height: 900, from: folder, with: loader)
                let picture = try PixelTimeline(timeline)
                #expect(picture.count(of: ["Decode"]) == 4)
                #expect(picture.maximumConcurrency(of: ["Decode"]) == 1)
                #expect(capacity.memory.inUse == 0)
            }
        }
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
}
