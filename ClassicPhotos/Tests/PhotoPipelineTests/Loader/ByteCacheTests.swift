import OperationsTestSupport
import Testing

@_spi(ClassicPhotos) @testable import PhotoPipeline

@Suite(.ownThreads) struct ByteCacheTests {
    @Test func leastRecentlyUsedValueIsDropped() {
        var cache = ByteCache<Int, String>(byteLimit: 80)
        for key in 0..<8 { cache.insert("value \(key)", byteCount: 10, for: key) }
        #expect(cache.value(for: 0) == "value 0")
        cache.insert("value 8", byteCount: 10, for: 8)
        #expect(cache.value(for: 1) == nil)
        #expect(cache.value(for: 0) != nil && cache.value(for: 8) != nil)
        #expect(cache.hits == 3 && cache.misses == 1)
    }

    @Test func replacedValueCountsOnce() {
        var cache = ByteCache<Int, Int>(byteLimit: 80)
        cache.insert(0, byteCount: 10, for: 0)
        for turn in 1...100 { cache.insert(turn, byteCount: 10, for: 1) }
        #expect(cache.value(for: 0) == 0 && cache.value(for: 1) == 100)
    }

    @Test func largeValueDisplacesNoOthers() {
        var cache = ByteCache<Int, Int>(byteLimit: 80)
        cache.insert(0, byteCount: 10, for: 0)
        cache.insert(1, byteCount: 11, for: 1)
        #expect(cache.value(for: 0) == 0 && cache.value(for: 1) == nil)
    }
}
