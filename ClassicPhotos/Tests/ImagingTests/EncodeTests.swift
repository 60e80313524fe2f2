import Imaging
import OperationsTestSupport
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

    @Test(arguments: [ImageFormat.jpeg, .webp])
    func higherQualityProducesMoreBytes(format: ImageFormat) throws {
        let picture = try Pictures.colourful(width: 200, height: 200)
        let small = try ImageEngine.encode(picture, as: format, quality: 30)
        let large = try ImageEngine.encode(picture, as: format, quality: 95)
        #expect(small.bytes.count < large.bytes.count)
    }

    @Test(arguments: [0, 101, -5])
    func qualityOutOfRangeThrows(quality: Int) throws {
        let picture = try Pictures.colourful(width: 8, height: 8)
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
}
