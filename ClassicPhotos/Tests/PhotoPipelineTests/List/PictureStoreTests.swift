import OperationsTestSupport
import PhotoImaging
import Testing

@testable import PhotoPipeline

@Suite(.ownThreads)
struct PictureStoreTests {
    private let nothing: Set<Row> = []

    private func image(bytes: Int, of byte: UInt8 = 0) -> NamedPicture {
        NamedPicture(
            EncodedImage(
                bytes: [UInt8](repeating: byte, count: bytes), format: .jpeg,
                size: PixelSize(width: 1, height: 1)))
    }

    @Test func nameFollowsFromContents() {
        #expect(image(bytes: 100).name == image(bytes: 100).name)
        let names = [image(bytes: 100), image(bytes: 101), image(bytes: 100, of: 1)].map(\.name)
        #expect(Set(names).count == 3 && names.allSatisfy { $0.count == 16 })
    }

    @Test func leastRecentlyUsedRowIsEvictedFirst() {
        var store = PictureStore(byteLimit: 300)
        for index in 0..<3 {
            let dropped = store.update(Row(index), keeping: nothing) {
                $0.downloaded = image(bytes: 100)
            }
            #expect(dropped == [])
        }
        store.touch(Row(0))
        let dropped = store.update(Row(3), keeping: nothing) { $0.downloaded = image(bytes: 100) }
        #expect(dropped == [Row(1)])
        #expect(store[Row(0)] != nil && store[Row(1)] == nil)
    }

    @Test func visibleRowsAndUpdatedRowAreKept() {
        var store = PictureStore(byteLimit: 100)
        _ = store.update(Row(0), keeping: nothing) { $0.downloaded = image(bytes: 100) }
        _ = store.update(Row(1), keeping: [Row(0)]) { $0.downloaded = image(bytes: 500) }
        #expect(store[Row(0)] != nil && store[Row(1)] != nil)
        let dropped = store.update(Row(2), keeping: nothing) { $0.downloaded = image(bytes: 1) }
        #expect(Set(dropped) == [Row(0), Row(1)])
    }

    @Test func replacedPicturesCountOnce() {
        var store = PictureStore(byteLimit: 250)
        for _ in 0..<10 {
            let dropped = store.update(Row(0), keeping: nothing) { $0.filtered = image(bytes: 200) }
            #expect(dropped == [])
        }
    }

    @Test func repeatedTouchesUseNoMemory() {
        var store = PictureStore(byteLimit: 1_000)
        _ = store.update(Row(0), keeping: nothing) { $0.filtered = image(bytes: 10) }
        for _ in 0..<10_000 { store.touch(Row(0)) }
        let dropped = store.update(Row(1), keeping: nothing) { $0.filtered = image(bytes: 995) }
        #expect(dropped == [Row(0)])
    }
}
