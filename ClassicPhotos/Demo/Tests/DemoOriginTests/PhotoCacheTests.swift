import NIOCore
import OperationsTestSupport
import Testing

@testable import DemoOrigin

@Suite(.ownThreads)
struct PhotoCacheTests {
    private func file(_ size: Int) -> ByteBuffer { ByteBuffer(repeating: 7, count: size) }

    @Test func insertedFileIsReturned() {
        var cache = PhotoCache(byteLimit: 100)
        cache.insert(file(40), for: 1)
        #expect(cache.file(1) == file(40))
        #expect(cache.file(2) == nil)
        #expect(cache.byteCount == 40)
    }

    @Test func leastRecentlyUsedFileIsEvictedFirst() {
        var cache = PhotoCache(byteLimit: 100)
        cache.insert(file(40), for: 1)
        cache.insert(file(40), for: 2)
        _ = cache.file(1)
        cache.insert(file(40), for: 3)
        #expect(cache.file(1) != nil)
        #expect(cache.file(2) == nil)
        #expect(cache.file(3) != nil)
        #expect(cache.byteCount == 80)
    }

    @Test func fileLargerThanLimitIsNotStored() {
        var cache = PhotoCache(byteLimit: 100)
        cache.insert(file(40), for: 1)
        cache.insert(file(101), for: 2)
        #expect(cache.file(1) != nil)
        #expect(cache.file(2) == nil)
    }

    @Test func replacedFileCountsOnce() {
        var cache = PhotoCache(byteLimit: 100)
        cache.insert(file(40), for: 1)
        cache.insert(file(60), for: 1)
        #expect(cache.byteCount == 60)
        #expect(cache.count == 1)
    }
}
