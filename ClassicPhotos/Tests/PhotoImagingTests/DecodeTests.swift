import OperationsTestSupport
import PhotoImaging
import Testing

@Suite(.ownThreads) struct DecodeTests {
    private static let written = ImageFormat.always

    @Test(arguments: written)
    func everyEncodableFormatRoundTrips(format: ImageFormat) throws {
        let picture = try Pictures.colorful(width: 120, height: 80)
        let file = try ImageEngine.encode(picture, as: format, quality: 95)
        #expect(file.format == format && file.size == picture.size)
        let info = try ImageEngine.inspect(file.bytes)
        #expect(info.format == format && info.size == picture.size && info.frames == 1)
        let decoded = try ImageEngine.decode(file.bytes)
        #expect(decoded.size == picture.size && !decoded.hasAlpha)
        let isLossless = format == .png || format == .tiff
        #expect(largestDifference(decoded.pixels(), picture.pixels()) <= (isLossless ? 0 : 70))
    }

    @Test(arguments: written)
    func decodingShrinksToFitBox(format: ImageFormat) throws {
        let file = try Pictures.file(format, width: 600, height: 300)
        let bitmap = try ImageEngine.decode(file, fitting: PixelSize(width: 100, height: 100))
        #expect(bitmap.size == PixelSize(width: 100, height: 50))
        #expect(bitmap.byteCount == 100 * 50 * 3)
    }

    @Test func decodingNeverEnlarges() throws {
        let file = try Pictures.file(.jpeg, width: 60, height: 30)
        let bitmap = try ImageEngine.decode(file, fitting: PixelSize(width: 4000, height: 4000))
        #expect(bitmap.size == PixelSize(width: 60, height: 30))
    }

    @Test func narrowPicturesKeepAtLeastOnePixel() throws {
        let file = try Pictures.file(.png, width: 2000, height: 2)
        let bitmap = try ImageEngine.decode(file, fitting: PixelSize(width: 100, height: 100))
        #expect(bitmap.size == PixelSize(width: 100, height: 1))
    }

    @Test func emptyBoxThrows() throws {
        let file = try Pictures.file(.png)
        #expect(throws: ImagingError.self) {
            try ImageEngine.decode(file, fitting: PixelSize(width: 0, height: 10))
        }
    }

    /// The first and the last color of a picture with a red left half, for each EXIF orientation.
    @Test(
        arguments: [
            (1, [255, 0, 0], [0, 0, 255]), (2, [0, 0, 255], [255, 0, 0]),
            (3, [0, 0, 255], [255, 0, 0]), (4, [255, 0, 0], [0, 0, 255]),
            (5, [255, 0, 0], [0, 0, 255]), (6, [255, 0, 0], [0, 0, 255]),
            (7, [0, 0, 255], [255, 0, 0]), (8, [0, 0, 255], [255, 0, 0]),
        ] as [(UInt8, [UInt8], [UInt8])])
    func orientationIsApplied(orientation: UInt8, first: [UInt8], last: [UInt8]) throws {
        let plain = try ImageEngine.encode(
            Pictures.halves(width: 64, height: 32), as: .jpeg, quality: 100)
        let file = JPEGSegments.inserting(
            JPEGSegments.exif(orientation: orientation), into: plain.bytes)
        let isTurned = orientation >= 5
        let size = isTurned ? PixelSize(width: 32, height: 64) : PixelSize(width: 64, height: 32)
        let info = try ImageEngine.inspect(file)
        #expect(info.orientation == Int(orientation) && info.size == size)
        let bitmap = try ImageEngine.decode(file)
        #expect(bitmap.size == size)
        #expect(largestDifference(bitmap.pixel(4, 4), first) <= 6)
        #expect(largestDifference(bitmap.pixel(size.width - 5, size.height - 5), last) <= 6)
        // The same while shrinking; the box applies to the upright picture.
        let small = try ImageEngine.decode(file, fitting: PixelSize(width: 16, height: 16))
        let half = PixelSize(width: isTurned ? 8 : 16, height: isTurned ? 16 : 8)
        #expect(small.size == half)
    }

    @Test func outputHasNoMetadata() throws {
        let file = JPEGSegments.inserting(
            JPEGSegments.exif(orientation: 6), into: try Pictures.file(.jpeg))
        let again = try ImageEngine.encode(ImageEngine.decode(file), as: .jpeg)
        #expect(try ImageEngine.inspect(again.bytes).orientation == 1)
        #expect(!String(decoding: again.bytes, as: Unicode.ASCII.self).contains("Exif"))
    }

    @Test func sRGBProfileDoesNotChangePixels() throws {
        let plain = try Pictures.file(.jpeg)
        let profile = Profiles.display(
            red: Profiles.red, green: Profiles.green, blue: Profiles.blue)
        let tagged = JPEGSegments.inserting(JPEGSegments.profile(profile), into: plain)
        #expect(try ImageEngine.decode(tagged).pixels() == ImageEngine.decode(plain).pixels())
    }

    @Test func otherProfileIsConvertedToSRGB() throws {
        // The profile swaps red and green, so red in the file appears as green.
        let profile = Profiles.display(
            red: Profiles.green, green: Profiles.red, blue: Profiles.blue)
        let red = try Pictures.plain(230, 40, 40, size: PixelSize(width: 32, height: 32))
        let plain = try ImageEngine.encode(red, as: .jpeg, quality: 100).bytes
        let tagged = JPEGSegments.inserting(JPEGSegments.profile(profile), into: plain)
        let color = try ImageEngine.decode(tagged).pixel(16, 16)
        #expect(largestDifference(color, [40, 230, 40]) <= 8)
    }

    @Test func invalidProfileIsIgnored() throws {
        let plain = try Pictures.file(.jpeg)
        let invalid = (0..<400).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        let tagged = JPEGSegments.inserting(JPEGSegments.profile(invalid), into: plain)
        #expect(try ImageEngine.decode(tagged).pixels() == ImageEngine.decode(plain).pixels())
    }
}
