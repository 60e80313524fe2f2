import Landscapes
import NIOCore
import OperationsTestSupport
import Testing

@testable import DemoOrigin

@Suite(.ownThreads)
struct PhotoRendererTests {
    private struct EncodingFailure: Error, Equatable {}

    private struct FailingPhotos: PhotoEncoding {
        func encoded(_ picture: Landscape) throws -> [UInt8] { throw EncodingFailure() }
    }

    @Test func simultaneousRequestsShareOneRendering() async throws {
        let renderer = PhotoRenderer(encoding: RawPhotos(), threadCount: 2, byteLimit: 1 << 20)
        let picture = Landscape(index: 3, longestSide: 32)
        let files = try await withThrowingTaskGroup(of: ByteBuffer.self) { group in
            for _ in 0..<8 { group.addTask { try await renderer.file(picture) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(files == [ByteBuffer(bytes: picture.rgb())])
        #expect(await renderer.renderings == 1)
        try await renderer.close()
    }

    @Test func withoutCacheEveryRequestRenders() async throws {
        let renderer = PhotoRenderer(encoding: RawPhotos(), threadCount: 1, byteLimit: 0)
        let picture = Landscape(index: 3, longestSide: 16)
        _ = try await renderer.file(picture)
        _ = try await renderer.file(picture)
        #expect(await renderer.renderings == 2)
        try await renderer.close()
    }

    @Test func failedRenderingCanBeRetried() async throws {
        let renderer = PhotoRenderer(encoding: FailingPhotos(), threadCount: 1, byteLimit: 100)
        let picture = Landscape(index: 0, longestSide: 16)
        await #expect(throws: EncodingFailure()) { try await renderer.file(picture) }
        await #expect(throws: EncodingFailure()) { try await renderer.file(picture) }
        #expect(await renderer.renderings == 2)
        try await renderer.close()
    }
}
