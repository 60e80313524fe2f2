import OperationsTestSupport
import PhotoImaging
import Testing

/// JPEGs and PNGs are shrunk while they are decoded, and not by libvips. The results look like
/// those of the other formats.
@Suite(.ownThreads) struct ShrinkTests {
    /// The mean difference of the channels of two pictures of one size.
    private func meanDifference(_ a: Bitmap, _ b: Bitmap) -> Double {
        let pairs = zip(a.pixels(), b.pixels())
        return pairs.reduce(0) { $0 + abs(Double($1.0) - Double($1.1)) } / Double(a.byteCount)
    }

    /// The decoder of JPEG shrinks by 1, 2, 4 or 8, depending on the box; PNG is reduced to the
    /// means of squares of any size. The sides of the picture are not multiples of these numbers.
    @Test(arguments: [790, 500, 333, 200, 130, 96, 61, 17, 3, 1], [ImageFormat.jpeg, .png])
    func pictureLooksLikeLibvipsResult(side: Int, format: ImageFormat) throws {
        let picture = try Pictures.colorful(width: 803, height: 601)
        let box = PixelSize(width: side, height: side)
        let tiff = try ImageEngine.encode(picture, as: .tiff).bytes
        let file = try ImageEngine.encode(picture, as: format, quality: 97).bytes
        let exact = try ImageEngine.decode(tiff, fitting: box)
        let shrunk = try ImageEngine.decode(file, fitting: box)
        #expect(shrunk.size == exact.size && shrunk.size.longerSide == side)
        // Tiny pictures differ by the rounding of the decoder.
        #expect(meanDifference(shrunk, exact) < (side < 20 ? 4 : 2))
    }

    /// A ramp from 0 to 250 is sampled at the middles of the result's pixels.
    @Test(arguments: [ImageFormat.png, .jpeg], [2, 5, 9, 16])
    func shrinkingKeepsPlaces(format: ImageFormat, factor: Int) throws {
        let (width, height) = (1003, 40)
        let pixels = (0..<width * height).flatMap {
            [UInt8](repeating: UInt8($0 % width / 4), count: 3)
        }
        let ramp = try Bitmap(size: PixelSize(width: width, height: height), pixels: pixels)
        let file = try ImageEngine.encode(ramp, as: format, quality: 100).bytes
        let side = width / factor
        let shrunk = try ImageEngine.decode(file, fitting: PixelSize(width: side, height: side))
        for x in 8..<side - 8 {
            let place = (Double(x) + 0.5) * Double(width) / Double(side) - 0.5
            // The ramp has steps of four pixels.
            let expected = (place - 1.5) / 4
            #expect(abs(Double(shrunk.pixel(x, 1)[0]) - expected) <= 1.2, "\(x)")
        }
    }

    /// Every orientation, compared with the upright picture.
    @Test(arguments: [2, 3, 4, 5, 6, 7, 8] as [UInt8])
    func turnedJPEGIsShrunkUpright(orientation: UInt8) throws {
        let plain = try Pictures.file(.jpeg, width: 640, height: 480)
        let tagged = JPEGSegments.inserting(
            JPEGSegments.exif(orientation: orientation), into: plain)
        let box = PixelSize(width: 64, height: 64)
        let upright = try ImageEngine.decode(plain, fitting: box)
        let turned = try ImageEngine.decode(tagged, fitting: box)
        let (width, height) = (turned.size.width, turned.size.height)
        #expect(turned.size == (orientation >= 5 ? upright.size.transposed : upright.size))
        for (x, y) in [(0, 0), (width - 1, 0), (0, height - 1), (width / 3, height / 2)] {
            // Where the pixel was before it was turned.
            let place =
                switch orientation {
                case 2: (width - 1 - x, y)
                case 3: (width - 1 - x, height - 1 - y)
                case 4: (x, height - 1 - y)
                case 5: (y, x)
                case 6: (y, width - 1 - x)
                case 7: (height - 1 - y, width - 1 - x)
                default: (height - 1 - y, x)
                }
            #expect(turned.pixel(x, y) == upright.pixel(place.0, place.1))
        }
    }

    @Test func grayJPEGStaysGray() throws {
        let size = PixelSize(width: 400, height: 300)
        let pixels = (0..<size.pixelCount).flatMap {
            [UInt8](repeating: UInt8($0 * 255 / size.pixelCount), count: 3)
        }
        let png = try ImageEngine.encode(Bitmap(size: size, pixels: pixels), as: .png).bytes
        let gray = try ImageEngine.decode(png)
        let jpeg = try ImageEngine.encode(gray, as: .jpeg, quality: 95).bytes
        let bitmap = try ImageEngine.decode(jpeg, fitting: PixelSize(width: 50, height: 50))
        let levels = bitmap.pixels()
        for index in stride(from: 0, to: levels.count, by: 3) {
            #expect(levels[index] == levels[index + 1] && levels[index] == levels[index + 2])
        }
    }

    /// More tones than are kept in memory, in turns and by several threads.
    @Test func tonesOfDifferentStrengthsDoNotMix() async throws {
        let picture = try Pictures.colorful(width: 64, height: 48)
        let strengths = (1...9).map { Double($0) / 10 }
        func sepia(_ strength: Double) throws -> [UInt8] {
            try ImageEngine.apply([.sepia(intensity: strength)], to: picture).pixels()
        }
        let expected = try strengths.map(sepia)
        for (strength, pixels) in zip(strengths, expected) {
            for x in 0..<64 {
                let reference = SepiaReference.apply(picture.pixel(x, 0), intensity: strength)
                #expect(largestDifference(Array(pixels[3 * x..<3 * x + 3]), reference) <= 1)
            }
        }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    for round in 0..<30 {
                        let index = (round * (thread + 1)) % strengths.count
                        let pixels = try ImageEngine.apply(
                            [.sepia(intensity: strengths[index])], to: picture
                        ).pixels()
                        if pixels != expected[index] { return false }
                    }
                    return true
                }
            }
            for try await isSame in group { #expect(isSame) }
        }
    }
}
