import OperationsTestSupport
import PhotoImaging
import Testing

@Suite(.ownThreads) struct DamageAcceptanceTests {
    /// GIF and WebP are decoded frame by frame, and an incomplete frame has no picture.
    @Test(arguments: [ImageFormat.jpeg, .png, .tiff])
    func upperPartOfIncompleteFileIsDecoded(format: ImageFormat) throws {
        let picture = try Pictures.colorful(width: 400, height: 300)
        let whole = try ImageEngine.encode(picture, as: format, quality: 95).bytes
        let part = Array(whole.prefix(whole.count * 3 / 4))
        guard format != .tiff else {
            // The directory of the file is at its end.
            #expect(throws: ImagingError.self) {
                try ImageEngine.decode(part, acceptingDamage: true)
            }
            return
        }
        #expect(throws: ImagingError.self) { try ImageEngine.decode(part) }
        let decoded = try ImageEngine.decode(part, acceptingDamage: true)
        #expect(decoded.size == picture.size)
        #expect(largestDifference(decoded.pixel(100, 20), picture.pixel(100, 20)) <= 24)
        let small = try ImageEngine.decode(
            part, fitting: PixelSize(width: 100, height: 100), acceptingDamage: true)
        #expect(small.size == PixelSize(width: 100, height: 75))
    }

    @Test func otherFilesAreStillRefused() {
        for text in ["", "<html>", "BM"] {
            #expect(throws: ImagingError.self) {
                try ImageEngine.decode(Array(text.utf8), acceptingDamage: true)
            }
        }
    }
}
