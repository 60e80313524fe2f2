import Landscapes
import NIOCore
import OperationsTestSupport
import Testing

@testable import DemoOrigin

@Suite(.ownThreads)
struct PhotoRendererTests {
    private struct EncodingFailure: Error, Equatable {}

    private struct FailingPhotos: PhotoEncoding {
        let count = Tally()

        func encoded(_ picture: Landscape) throws -> [UInt8] {
            count.increment()
            throw EncodingFailure()
        }
    }

    private struct CountedPhotos: PhotoEncoding {
        let count = Tally()

        func encoded(_ picture: Landscape) throws -> [UInt8] {
            count.increment()
            return picture.rgb()
        }
    }

    @Test func simultaneousRequestsShareOneRendering() async throws {
        let photos = CountedPhotos()
        let renderer = PhotoRenderer(encoding: photos, threadCount: 2, byteLimit: 1 << 20)
        let picture = Landscape(index: 3, longestSide: 32)
        let files = try await withThrowingTaskGroup(of: ByteBuffer.self) { group in
            for _ in 0..<8 { group.addTask { try await renderer.file(picture) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(files == [ByteBuffer(bytes: picture.rgb())])
        #expect(photos.count.value == 1)
        await renderer.close()
    }

    @Test func withoutCacheEveryRequestRenders() async throws {
        let photos = CountedPhotos()
        let renderer = PhotoRenderer(encoding: photos, threadCount: 1, byteLimit: 0)
        let picture = Landscape(index: 3, longestSide: 16)
        _ = try await renderer.file(picture)
        _ = try await renderer.file(picture)
        #expect(photos.count.value == 2)
        await renderer.close()
    }

    @Test func failedRenderingCanBeRetried() async throws {
        let photos = FailingPhotos()
        let renderer = PhotoRenderer(encoding: photos, threadCount: 1, byteLimit: 100)
        let picture = Landscape(index: 0, longestSide: 16)
        await #expect(throws: EncodingFailure()) { try await renderer.file(picture) }
        await #expect(throws: EncodingFailure()) { try await renderer.file(picture) }
        #expect(photos.count.value == 2)
        await renderer.close()
    }

    @Test func renderingThatNobodyWaitsForIsDropped() async throws {
        let photos = HeldPhotos()
        let renderer = PhotoRenderer(encoding: photos, threadCount: 1, byteLimit: 1 << 20)
        func request(_ index: Int) -> Task<ByteBuffer, any Error> {
            Task { try await renderer.file(Landscape(index: index, longestSide: 16)) }
        }
        let first = request(0)
        #expect(await photos.begun.arrives())
        // One picture that all requests leave, and one that one of two requests leaves.
        var left: [Task<ByteBuffer, any Error>] = []
        for (index, count) in [(1, 2), (2, 3)] {
            left.append(request(index))
            #expect(await comesTrue { renderer.requestCount >= count })
        }
        left.append(request(1))
        let stays = request(2)
        #expect(await comesTrue { renderer.requestCount >= 5 })
        for task in left { task.cancel() }
        #expect(await comesTrue { renderer.requestCount <= 2 })
        photos.released.send()
        photos.released.send()
        #expect(try await first.value == ByteBuffer(bytes: [0]))
        #expect(try await stays.value == ByteBuffer(bytes: [2]))
        for task in [left[0], left[2]] {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(photos.count.value == 2)
        // A later request has its rendering.
        photos.released.send()
        #expect(try await request(1).value == ByteBuffer(bytes: [1]))
        // A rendering that has begun is finished for later requests.
        let begun = request(3)
        #expect(await comesTrue { photos.count.value == 4 })
        begun.cancel()
        #expect(await comesTrue { renderer.requestCount == 0 })
        photos.released.send()
        _ = await begun.result
        #expect(try await request(3).value == ByteBuffer(bytes: [3]))
        #expect(photos.count.value == 4)
        await renderer.close()
    }
}
