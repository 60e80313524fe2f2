import OperationsTestSupport
import PhotoImaging
import Testing

@Suite(.ownThreads) struct OrientationTests {
    /// The position in the stored picture of a pixel of the upright picture: EXIF 2.3, 4.6.4, tag
    /// 274.
    private func stored(
        _ x: Int, _ y: Int, _ orientation: UInt8, in size: PixelSize
    ) -> (x: Int, y: Int) {
        let (right, bottom) = (size.width - 1, size.height - 1)
        switch orientation {
        case 2: return (right - x, y)
        case 3: return (right - x, bottom - y)
        case 4: return (x, bottom - y)
        case 5: return (y, x)
        case 6: return (y, bottom - x)
        case 7: return (right - y, bottom - x)
        case 8: return (right - y, x)
        default: return (x, y)
        }
    }

    /// The picture has several strips, and sides that are not multiples of a tile.
    @Test(arguments: 1...8 as ClosedRange<UInt8>, [nil, PixelSize(width: 90, height: 70)])
    func orientationMovesEveryPixelCorrectly(orientation: UInt8, box: PixelSize?) throws {
        let plain = try Pictures.file(.jpeg, width: 333, height: 213)
        let file = JPEGSegments.inserting(JPEGSegments.exif(orientation: orientation), into: plain)
        let isTurned = orientation >= 5
        let stored = try ImageEngine.decode(plain, fitting: isTurned ? box?.transposed : box)
        let upright = try ImageEngine.decode(file, fitting: box)
        #expect(upright.size == (isTurned ? stored.size.transposed : stored.size))
        var expected: [UInt8] = []
        let pixels = stored.pixels()
        for y in 0..<upright.size.height {
            for x in 0..<upright.size.width {
                let place = self.stored(x, y, orientation, in: stored.size)
                let at = (place.y * stored.size.width + place.x) * 3
                expected += pixels[at..<at + 3]
            }
        }
        let isSame = upright.pixels() == expected
        #expect(isSame)
    }
}
