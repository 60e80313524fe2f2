import OperationsTestSupport
import PhotoImaging
import PhotoTestSupport
import Testing

@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct PictureCacheTests {
    private func key(_ number: Int) -> PictureKey {
        PictureKey(url: webURL("http://host/\(number)"), version: "1", size: nil)
    }

    private func file(_ count: Int) -> PictureCache.Picture {
        let image = EncodedImage(
            bytes: [UInt8](repeating: 0, count: count), format: .jpeg,
            size: PixelSize(width: 1, height: 1))
        return .file(NamedPicture(image))
    }

    @Test func leastRecentlyUsedPicturesAreDropped() {
        let cache = PictureCache(limit: 35_000)
        for number in 0..<3 { cache.insert(file(10_000), for: key(number)) }
        #expect(cache.file(key(0)) != nil)
        cache.insert(file(10_000), for: key(3))
        #expect((0...3).filter { cache.contains(key($0)) } == [0, 2, 3])
        #expect(cache.byteCount <= 35_000)
        // A picture that replaces another frees the bytes of the other.
        cache.insert(file(100), for: key(2))
        cache.insert(file(9_000), for: key(4))
        #expect((0...4).filter { cache.contains(key($0)) } == [0, 2, 3, 4])
        // A picture that is larger than the whole cache drops nothing else.
        cache.insert(file(40_000), for: key(5))
        #expect((0...5).filter { cache.contains(key($0)) } == [0, 2, 3, 4])
        cache.removeAll()
        #expect(cache.byteCount == 0 && !cache.contains(key(0)))
    }

    /// Compares the cache with a simple list of keys, from the least to the most recently used.
    @Test(arguments: seeds(1, 2)) func randomUsesMatchASimpleList(seed: UInt64) {
        let cache = PictureCache(limit: 10 * 1_400)
        var list: [Int] = []
        var random = SeededGenerator(seed: seed)
        for _ in 0..<5_000 {
            let number = Int.random(in: 0..<20, using: &random)
            if Bool.random(using: &random) {
                cache.insert(file(1_000), for: key(number))
                list.removeAll { $0 == number }
                list.append(number)
                if list.count > 10 { list.removeFirst() }
            } else {
                let isKept = list.contains(number)
                #expect((cache.file(key(number)) != nil) == isKept)
                if isKept {
                    list.removeAll { $0 == number }
                    list.append(number)
                }
            }
        }
        #expect((0..<20).filter { cache.contains(key($0)) } == list.sorted())
    }
}
