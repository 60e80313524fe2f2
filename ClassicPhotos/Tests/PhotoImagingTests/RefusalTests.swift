import OperationsTestSupport
import PhotoImaging
import Testing

@Suite(.ownThreads) struct RefusalTests {
    @Test func zeroBytesAreEmptyInput() {
        #expect(throws: ImagingError.emptyInput) { try ImageEngine.decode([]) }
    }

    @Test(arguments: [
        ("<!DOCTYPE html><html><body>Not found</body></html>", "an HTML page"),
        ("\n\n  <HTML>", "an HTML page"),
        ("%PDF-1.7\n%âãÏÓ", "a PDF document"),
        ("%!PS-Adobe-3.0 EPSF-3.0", "a PostScript document"),
        (
            "push graphic-context\nfill 'url(https://x|id)'\npop graphic-context",
            "an ImageMagick drawing (MVG)"
        ),
        ("{\"error\": 404}", "JSON"), ("P3 1 1 255 0 0 0", "text"),
        ("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "only zero bytes"),
        ("PK\u{3}\u{4}", "a ZIP archive"), ("\0\0\0\u{18}ftypmp42", "a video"),
    ])
    func otherFileTypesAreNamed(content: String, name: String) {
        #expect(throws: ImagingError.unknownFormat(looksLike: name)) {
            try ImageEngine.decode(Array(content.utf8))
        }
    }

    @Test(arguments: [
        (
            Array("\u{FEFF}<?xml version=\"1.0\"?><svg width=\"40000\" height=\"40000\"/>".utf8),
            "an SVG drawing"
        ),
        (Array("BM".utf8) + [10, 0, 0, 0], "a BMP picture"),
        ([0xFF, 0x0A, 1, 2], "a JPEG XL picture"),
        ([0, 0, 0, 12, 0x4A, 0x58, 0x4C, 0x20, 1], "a JPEG XL picture"),
        ([0, 0, 0, 12, 0x6A, 0x50, 0x20, 0x20, 1], "a JPEG 2000 picture"),
        ([0xFF, 0x4F, 0xFF, 0x51, 0], "a JPEG 2000 picture"),
    ])
    func unsafeFormatsAreNamedWithReason(bytes: [UInt8], name: String) {
        let error = #expect(throws: ImagingError.formatNotRead(name: name)) {
            try ImageEngine.decode(bytes)
        }
        #expect(
            error?.description
                == "The file is \(name). This format is not read, because its decoder "
                + "is not safe with damaged or malicious files. Convert the file to PNG, TIFF or "
                + "JPEG.")
    }

    @Test func randomBytesHaveNoName() {
        #expect(throws: ImagingError.unknownFormat(looksLike: nil)) {
            try ImageEngine.inspect([0x9B, 0x01, 0xF3, 0x02, 0xC7, 0x88])
        }
    }

    @Test func heifIsReadOnlyIfAllowed() {
        let heif = [0, 0, 0, 24] + Array("ftypheic\0\0\0\0mif1heic".utf8)
        let allowed = ImageLimits.standard.allowedFormats
        #expect(throws: ImagingError.formatNotAllowed(.heif, allowed: allowed)) {
            try ImageEngine.inspect(heif)
        }
        var limits = ImageLimits.standard
        limits.allowedFormats.insert(.heif)
        let error = #expect(throws: ImagingError.self) {
            try ImageEngine.inspect(heif, limits: limits)
        }
        #expect(error?.isDecodeFailure == true)
    }

    @Test(arguments: ImageFormat.always, [0.3, 0.5, 0.9])
    func truncatedFileThrows(format: ImageFormat, share: Double) throws {
        let whole = try Pictures.file(format, width: 400, height: 300)
        let half = Array(whole.prefix(Int(Double(whole.count) * share)))
        for box in [nil, PixelSize(width: 100, height: 100)] {
            let error = #expect(throws: ImagingError.self) {
                try ImageEngine.decode(half, fitting: box)
            }
            #expect(error?.isDecodeFailure == true)
        }
    }

    @Test func truncatedJPEGErrorNamesItsLength() throws {
        let half = Array(try Pictures.file(.jpeg, width: 400, height: 300).prefix(3000))
        let error = #expect(throws: ImagingError.self) { try ImageEngine.decode(half) }
        #expect(error?.description.contains("ends too early, after 3000 bytes") == true)
    }

    /// A long panorama has few pixels.
    @Test func ownFilesMayBeLong() throws {
        let size = PixelSize(width: 65_000, height: 4)
        let bitmap = try Bitmap(size: size, pixels: [UInt8](repeating: 90, count: 65_000 * 4 * 3))
        let file = try ImageEngine.encode(bitmap, as: .png).bytes
        #expect(try ImageEngine.inspect(file, limits: .ownFiles).size == size)
        let small = try ImageEngine.decode(
            file, fitting: PixelSize(width: 650, height: 650), limits: .ownFiles)
        #expect(small.size == PixelSize(width: 650, height: 1))
        #expect(throws: ImagingError.self) { try ImageEngine.inspect(file) }
    }

    @Test(arguments: [
        HostileFiles.png(width: 50_000, height: 50_000),
        HostileFiles.jpeg(width: 50_000, height: 50_000),
    ])
    func hugeHeaderThrowsBeforeDecoding(file: [UInt8]) {
        let limit = "30,000 pixels per side"
        let size = PixelSize(width: 50_000, height: 50_000)
        #expect(throws: ImagingError.tooLarge(size: size, limit: limit)) {
            try ImageEngine.decode(file)
        }
    }

    @Test func tooManyPixelsThrows() {
        let size = PixelSize(width: 19_000, height: 19_000)
        #expect(throws: ImagingError.tooLarge(size: size, limit: "100,000,000 pixels")) {
            try ImageEngine.decode(HostileFiles.png(width: 19_000, height: 19_000))
        }
    }

    @Test(arguments: [
        HostileFiles.jpeg(width: 9_000, height: 9_000, progressive: true),
        HostileFiles.png(width: 9_000, height: 9_000, interlaced: true),
    ])
    func progressivePicturesHaveLowerLimit(file: [UInt8]) throws {
        let error = #expect(throws: ImagingError.self) { try ImageEngine.decode(file) }
        let limit = "60,000,000 pixels for a progressive picture"
        let size = PixelSize(width: 9_000, height: 9_000)
        #expect(error == .tooLarge(size: size, limit: limit))
    }

    @Test func limitsAreConfigurable() throws {
        let file = try Pictures.file(.png, width: 120, height: 80)
        let tight = ImageLimits(maximumPixels: 9_599)
        #expect(throws: ImagingError.self) { try ImageEngine.inspect(file, limits: tight) }
        let exact = ImageLimits(maximumPixels: 9_600, maximumSide: 120)
        #expect(try ImageEngine.inspect(file, limits: exact).size.pixelCount == 9_600)
    }

    @Test func flippedBitsNeverCrash() throws {
        for format in ImageFormat.always {
            let whole = try Pictures.file(format)
            for step in 1...40 {
                var broken = whole
                broken[(step * 7919) % whole.count] ^= 0x5A
                // Some damage is not detected. If it is, the error must be an ImagingError.
                do throws(ImagingError) {
                    let bitmap = try ImageEngine.decode(broken)
                    #expect(bitmap.byteCount == bitmap.pixels().count)
                } catch {
                    #expect(!error.description.isEmpty)
                    #expect(error != .cancelled && error != .timedOut)
                }
            }
        }
    }

    @Test func invalidHuffmanTableThrows() throws {
        var file = try Pictures.file(.jpeg)
        // More one-bit codes than one bit can distinguish.
        let tables = try #require(file.indices.first { file[$0...].starts(with: [0xFF, 0xC4]) })
        file[tables + 5] = 200
        let error = #expect(throws: ImagingError.self) { try ImageEngine.decode(file) }
        #expect(error?.isDecodeFailure == true)
    }
}

extension ImagingError {
    var isDecodeFailure: Bool {
        if case .decodeFailed = self { true } else { false }
    }
}
