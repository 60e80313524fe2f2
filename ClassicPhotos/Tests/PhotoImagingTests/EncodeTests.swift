import OperationsTestSupport
import PhotoImaging
import Testing

@Suite(.ownThreads) struct EncodeTests {
    private func transparent() throws -> Bitmap {
        let row: [UInt8] = [255, 0, 0, 255, 0, 255, 0, 0]
        let pixels = Array(repeating: row, count: 16 * 32).flatMap(\.self)
        return try Bitmap(size: PixelSize(width: 32, height: 32), pixels: pixels, hasAlpha: true)
    }

    @Test(arguments: [ImageFormat.png, .tiff, .webp, .gif])
    func transparencyIsKeptIfFormatSupportsIt(format: ImageFormat) throws {
        let file = try ImageEngine.encode(transparent(), as: format, quality: 90)
        #expect(try ImageEngine.inspect(file.bytes).hasAlpha)
        let decoded = try ImageEngine.decode(file.bytes)
        #expect(decoded.hasAlpha)
        #expect(decoded.pixel(0, 0)[3] == 255 && decoded.pixel(1, 0)[3] == 0)
    }

    @Test func transparencyBecomesWhiteInJPEG() throws {
        let clear = try Bitmap(
            size: PixelSize(width: 16, height: 16),
            pixels: [UInt8](repeating: 0, count: 16 * 16 * 4), hasAlpha: true)
        let file = try ImageEngine.encode(clear, as: .jpeg, quality: 100)
        let decoded = try ImageEngine.decode(file.bytes)
        #expect(!decoded.hasAlpha)
        #expect(largestDifference(decoded.pixel(8, 8), [255, 255, 255]) <= 1)
    }

    @Test func opaqueAlphaChannelIsDropped() throws {
        let pixels = Array(repeating: [10, 20, 30, 255] as [UInt8], count: 64).flatMap(\.self)
        let opaque = try Bitmap(
            size: PixelSize(width: 8, height: 8), pixels: pixels, hasAlpha: true)
        let file = try ImageEngine.encode(opaque, as: .png)
        let decoded = try ImageEngine.decode(file.bytes)
        #expect(!decoded.hasAlpha)
        #expect(decoded.pixel(7, 7) == [10, 20, 30])
    }

    /// The numbers of quality mean about the same in all formats.
    @Test(arguments: [ImageFormat.heif, .avif].filter(\.canEncode))
    func filesAreSmallerThanThoseOfJPEG(format: ImageFormat) throws {
        // Without the grain, which no other encoder keeps so well.
        let picture = try ImageEngine.apply(
            [.blur(radius: 8)], to: Pictures.colorful(width: 320, height: 240))
        let sizes = try [format, .jpeg].map { format in
            try ImageEngine.encode(picture, as: format, quality: 88).bytes.count
        }
        #expect(sizes[0] < sizes[1], "\(sizes)")
        let best = try ImageEngine.encode(picture, as: format, quality: 100).bytes.count
        let least = try ImageEngine.encode(picture, as: format, quality: 1).bytes.count
        #expect(least < sizes[0] && sizes[0] < best)
    }

    /// A picture with a number of colors that are as different or as similar as can be.
    private func picture(colors: Int, step: Int) throws -> Bitmap {
        let (width, height) = (97, 60)
        let pixels = (0..<width * height).flatMap { place -> [UInt8] in
            let color = (place * 7 + place / width * 3) % colors * step
            return [color, color >> 3, color >> 6].map { UInt8(truncatingIfNeeded: $0) }
        }
        return try Bitmap(size: PixelSize(width: width, height: height), pixels: pixels)
    }

    @Test(arguments: [1, 2, 3, 16, 17, 255, 256, 257], [1, 73])
    func pictureOfFewColorsIsSmallPNGWithoutLoss(colors: Int, step: Int) throws {
        let picture = try picture(colors: colors, step: step)
        let file = try ImageEngine.encode(picture, as: .png)
        #expect(try ImageEngine.decode(file.bytes).pixels() == picture.pixels())
        // The byte after the size and the depth: 3 stands for a palette, 2 for colors.
        #expect(file.bytes[25] == (colors <= 256 ? 3 : 2))
        let depths: [UInt8] = [8, 1, 1, 2]
        if colors <= 3 { #expect(file.bytes[24] == depths[colors]) }
        if colors == 16 { #expect(file.bytes[24] == 4) }
    }

    /// An uncompressed TIFF with one gray channel.
    private static func grayTIFF(_ levels: [UInt8], width: Int, height: Int) -> [UInt8] {
        let tags = [
            (256, width), (257, height), (258, 8), (259, 1), (262, 1), (273, 134), (277, 1),
            (278, height), (279, levels.count),
        ]
        func little(_ value: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        var file: [UInt8] = [0x49, 0x49, 42, 0, 8, 0, 0, 0] + little(tags.count, 2)
        // Each entry: the tag, the type LONG, one value.
        for (tag, value) in tags {
            file += little(tag, 2) + little(4, 2) + little(1, 4) + little(value, 4)
        }
        file += [UInt8](repeating: 0, count: 134 - file.count)
        return file + levels
    }

    @Test(arguments: [(255, 1), (85, 2), (17, 4), (1, 8)] as [(Int, UInt8)])
    func grayOfFewLevelsHasFewBits(step: Int, bits: UInt8) throws {
        let pixels = (0..<64 * 64).flatMap { place -> [UInt8] in
            Array(repeating: UInt8(place % (255 / step + 1) * step), count: 3)
        }
        let bitmap = try Bitmap(size: PixelSize(width: 64, height: 64), pixels: pixels)
        // The PNG of a bitmap without the mark of gray has a palette of few gray colors.
        let file = try ImageEngine.encode(bitmap, as: .png)
        #expect(try ImageEngine.decode(file.bytes).pixels() == pixels)
        #expect(file.bytes[24] == bits && file.bytes[25] == 3)
        let levels = stride(from: 0, to: pixels.count, by: 3).map { pixels[$0] }
        let gray = try ImageEngine.decode(
            Self.grayTIFF(levels, width: 64, height: 64), keeping: .gray)
        let grayFile = try ImageEngine.encode(gray, as: .png)
        #expect(try ImageEngine.inspect(grayFile.bytes).isGray)
        #expect(try ImageEngine.decode(grayFile.bytes).pixels() == pixels)
        #expect(grayFile.bytes[24] == bits && grayFile.bytes[25] == 0)
    }

    @Test(arguments: [ImageFormat.jpeg, .webp])
    func higherQualityProducesMoreBytes(format: ImageFormat) throws {
        let picture = try Pictures.colorful(width: 200, height: 200)
        let small = try ImageEngine.encode(picture, as: format, quality: 30)
        let large = try ImageEngine.encode(picture, as: format, quality: 95)
        #expect(small.bytes.count < large.bytes.count)
    }

    @Test(arguments: [0, 101, -5])
    func qualityOutOfRangeThrows(quality: Int) throws {
        let picture = try Pictures.colorful(width: 8, height: 8)
        let error = ImagingError.invalidArgument("The quality must be 1 to 100, not \(quality).")
        #expect(throws: error) { try ImageEngine.encode(picture, as: .jpeg, quality: quality) }
    }

    @Test func pictureTooWideForFormatThrows() throws {
        let wide = try Pictures.plain(1, 2, 3, size: PixelSize(width: 17_000, height: 1))
        let error = #expect(throws: ImagingError.self) { try ImageEngine.encode(wide, as: .webp) }
        #expect(error?.description.contains("16383") == true)
        #expect(try ImageEngine.encode(wide, as: .png).size == wide.size)
    }

    @Test func bitmapWithWrongByteCountThrows() {
        let error = #expect(throws: ImagingError.self) {
            try Bitmap(size: PixelSize(width: 2, height: 2), pixels: [1, 2, 3])
        }
        #expect(error?.description.contains("12 samples") == true)
        #expect(throws: ImagingError.self) {
            try Bitmap(size: PixelSize(width: 0, height: 2), pixels: [])
        }
    }

    @Test func bitmapReturnsItsPixels() throws {
        let pixels = (0..<24).map { UInt8($0) }
        let bitmap = try Bitmap(size: PixelSize(width: 4, height: 2), pixels: pixels)
        #expect(bitmap.pixels() == pixels && bitmap.byteCount == 24)
        #expect(bitmap.size.description == "4 × 2")
    }

    /// A smooth picture with a little noise, as photographs are. Neighbors differ little, and few
    /// bytes repeat.
    @Test(arguments: [false, true])
    func photographAsPNGIsFiltered(hasAlpha: Bool) throws {
        let (width, height, bands) = (300, 200, hasAlpha ? 4 : 3)
        var noise: UInt32 = 1
        var pixels: [UInt8] = []
        for index in 0..<width * height {
            let (x, y) = (index % width, index / width)
            for band in 0..<bands {
                noise = noise &* 1_664_525 &+ 1_013_904_223
                let smooth = (x * (band + 2) + y * 3) / 5
                pixels.append(UInt8(truncatingIfNeeded: smooth + Int(noise >> 30)))
            }
        }
        let bitmap = try Bitmap(
            size: PixelSize(width: width, height: height), pixels: pixels, hasAlpha: hasAlpha)
        let bytes = try ImageEngine.encode(bitmap, as: .png).bytes
        // A sample has two bits of noise. Without a filter, the file has 83 % of the bytes.
        #expect(bytes.count < pixels.count / 2)
        #expect(try ImageEngine.decode(bytes).pixels() == pixels)
    }
}
