import OperationsTestSupport
import PhotoImaging
import RawFiles
import Testing

/// Pictures whose files name a color space without an ICC profile.
@Suite(.ownThreads) struct ColorSpaceTests {
    private static let adobe: TIFFWriter.Directory = [
        (0xA001, .short(0xFFFF)),
        (0xA005, .directories([[(1, .text("R03")), (2, .bytes(Array("0100".utf8)))]])),
    ]

    /// A JPEG of one color with EXIF as a camera writes it.
    private func jpeg(
        _ level: [UInt8], exif: TIFFWriter.Directory?
    ) throws -> [UInt8] {
        let bitmap = try Pictures.plain(
            level[0], level[1], level[2], size: PixelSize(width: 64, height: 48))
        let plain = try ImageEngine.encode(bitmap, as: .jpeg, quality: 98).bytes
        guard let exif else { return plain }
        let chain: [TIFFWriter.Directory] = [
            [(0x10F, .text("Maker")), (0x8769, .directories([exif]))]
        ]
        return RawFileForm.inserting(chain, into: plain)
    }

    /// Colors in Adobe RGB, and the same ones in sRGB by the formulas of both specifications.
    static let colors: [(adobe: [UInt8], srgb: [UInt8])] = [
        ([128, 128, 128], [129, 129, 129]), ([150, 100, 80], [167, 100, 78]),
        ([100, 150, 200], [66, 151, 203]), ([0, 0, 0], [0, 0, 0]),
        ([255, 255, 255], [255, 255, 255]),
    ]

    @Test(arguments: colors, [nil, PixelSize(width: 20, height: 20)])
    func adobeRGBOfCamerasIsConverted(
        color: (adobe: [UInt8], srgb: [UInt8]), box: PixelSize?
    ) throws {
        let file = try jpeg(color.adobe, exif: Self.adobe)
        let bitmap = try ImageEngine.decode(file, fitting: box, keeping: .metadata)
        #expect(largestDifference(bitmap.pixel(5, 5), color.srgb) <= 2)
        for format in [ImageFormat.jpeg, .png, .webp] {
            let copy = try ImageEngine.encode(bitmap, as: format, quality: 98).bytes
            // The copy is not converted again, and says that it is in sRGB.
            let again = try ImageEngine.decode(copy)
            #expect(largestDifference(again.pixel(5, 5), color.srgb) <= 4, "\(format)")
            if format == .jpeg { #expect(!copy.contains("R03") && copy.contains("R98")) }
        }
    }

    @Test func onlyAdobeRGBIsConverted() throws {
        let color: [UInt8] = [150, 100, 80]
        let uncalibrated: TIFFWriter.Directory = [(0xA001, .short(0xFFFF))]
        let srgb: TIFFWriter.Directory = [
            (0xA001, .short(1)), (0xA005, .directories([[(1, .text("R98"))]])),
        ]
        let other: TIFFWriter.Directory = [
            (0xA001, .short(0xFFFF)), (0xA005, .directories([[(1, .text("R98"))]])),
        ]
        for exif in [nil, uncalibrated, srgb, other] {
            let bitmap = try ImageEngine.decode(try jpeg(color, exif: exif))
            #expect(largestDifference(bitmap.pixel(5, 5), color) <= 2)
        }
        // A profile says more than EXIF.
        let profile = Profiles.display(
            red: Profiles.red, green: Profiles.green, blue: Profiles.blue)
        let tagged = JPEGSegments.inserting(
            JPEGSegments.profile(profile), into: try jpeg(color, exif: Self.adobe))
        #expect(largestDifference(try ImageEngine.decode(tagged).pixel(5, 5), color) <= 2)
    }

    /// The EXIF block of a file that was converted by its profile says sRGB, too.
    @Test func exifOfConvertedFileSaysSRGB() throws {
        let wide = Profiles.display(
            red: [0.6097, 0.3111, 0.0195], green: [0.2053, 0.6257, 0.0609],
            blue: [0.1492, 0.0632, 0.7446])
        let tagged = JPEGSegments.inserting(
            JPEGSegments.profile(wide), into: try jpeg([150, 100, 80], exif: Self.adobe))
        let xmp = JPEGSegments.xmp(
            "<x:xmpmeta><rdf:Description exif:ColorSpace=\"65535\" "
                + "photoshop:ICCProfile=\"Adobe RGB (1998)\" dc:title=\"Sea\"/></x:xmpmeta>")
        let bitmap = try ImageEngine.decode(
            JPEGSegments.inserting(xmp, into: tagged), keeping: .metadata)
        let copy = try ImageEngine.encode(bitmap, as: .jpeg).bytes
        #expect(copy.contains("R98") && !copy.contains("R03") && copy.contains("Maker"))
        #expect(copy.contains("dc:title=\"Sea\""))
        #expect(!copy.contains("exif:ColorSpace") && !copy.contains("Adobe RGB (1998)"))
        // Without a conversion, EXIF stays as it is.
        let plain = try ImageEngine.decode(
            try jpeg([9, 9, 9], exif: [(0xA001, .short(0xFFFF))]), keeping: .metadata)
        let same = try ImageEngine.encode(plain, as: .jpeg).bytes
        #expect(!same.contains("R98") && same.contains("Maker"))
    }

    @Test func adobeRGBOfRawFilesIsConverted() throws {
        let jpeg = try jpeg([150, 100, 80], exif: nil)
        let raw = RawFileForm.nef.bytes(
            around: jpeg, adding: [(0x8769, .directories([Self.adobe]))])
        let bitmap = try ImageEngine.decode(raw, limits: .ownFiles)
        #expect(largestDifference(bitmap.pixel(5, 5), [167, 100, 78]) <= 2)
    }

    // MARK: PNG

    /// A PNG with chunks before its pixels.
    private func png(_ level: [UInt8], _ chunks: [(String, [UInt8])]) throws -> [UInt8] {
        let bitmap = try Pictures.plain(
            level[0], level[1], level[2], size: PixelSize(width: 40, height: 30))
        let plain = try ImageEngine.encode(bitmap, as: .png).bytes
        // The header takes 33 bytes.
        return plain[..<33] + chunks.flatMap { HostileFiles.chunk($0.0, $0.1) } + plain[33...]
    }

    private static func numbers(_ values: Int...) -> [UInt8] {
        values.flatMap(HostileFiles.bigEndian)
    }

    private static let linear = ("gAMA", numbers(100_000))
    private static let usual = ("gAMA", numbers(45_455))
    private static let srgbPrimaries = (
        "cHRM", numbers(31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000)
    )
    private static let adobePrimaries = (
        "cHRM", numbers(31_270, 32_900, 64_000, 33_000, 21_000, 71_000, 15_000, 6_000)
    )

    static let pngs: [(chunks: [(String, [UInt8])], level: [UInt8], expected: [UInt8])] = [
        ([], [200, 100, 50], [200, 100, 50]),
        ([usual], [200, 100, 50], [200, 100, 50]),
        ([usual, srgbPrimaries], [200, 100, 50], [200, 100, 50]),
        // By the formula of sRGB.
        ([linear], [200, 100, 50], [229, 168, 122]),
        ([usual, adobePrimaries], [150, 100, 80], [165, 100, 79]),
        // What says more counts.
        ([("sRGB", [0]), linear, adobePrimaries], [200, 100, 50], [200, 100, 50]),
        ([("cICP", [1, 13, 0, 1]), linear], [200, 100, 50], [200, 100, 50]),
        ([("cICP", [1, 8, 0, 1])], [200, 100, 50], [229, 168, 122]),
        // PQ: 128 / 255 is 93.7 of 203 cd/m2.
        ([("cICP", [9, 16, 0, 1])], [128, 128, 128], [181, 181, 181]),
        ([("cICP", [9, 16, 0, 1])], [255, 255, 255], [255, 255, 255]),
        // HLG: three quarters are white.
        ([("cICP", [9, 18, 0, 1])], [191, 191, 191], [255, 255, 255]),
        // Numbers that cannot be.
        ([("gAMA", numbers(0))], [200, 100, 50], [200, 100, 50]),
        ([("cHRM", [UInt8](repeating: 0, count: 32))], [200, 100, 50], [200, 100, 50]),
        (
            [linear, ("cHRM", [UInt8](repeating: 255, count: 32))], [200, 100, 50],
            [229, 168, 122]
        ),
        ([("cICP", [77, 99, 3, 0]), ("gAMA", [1])], [200, 100, 50], [200, 100, 50]),
    ]

    @Test(arguments: pngs, [nil, PixelSize(width: 20, height: 20)])
    func chunksOfPNGsAreHonored(
        png: (chunks: [(String, [UInt8])], level: [UInt8], expected: [UInt8]), box: PixelSize?
    ) throws {
        let file = try self.png(png.level, png.chunks)
        let bitmap = try ImageEngine.decode(file, fitting: box, keeping: .all)
        #expect(largestDifference(bitmap.pixel(5, 5), png.expected) <= 2, "\(png.chunks)")
        // The copy has none of the chunks that no longer hold.
        let copy = try ImageEngine.encode(bitmap, as: .png).bytes
        for name in ["cICP", "gAMA", "cHRM"] { #expect(!copy.contains(name)) }
        let again = try ImageEngine.decode(copy)
        #expect(largestDifference(again.pixel(5, 5), png.expected) <= 2)
    }

    @Test func brightPNGSaysWhatItLoses() throws {
        let pq = try png([9, 9, 9], [("cICP", [9, 16, 0, 1])])
        #expect(try ImageEngine.inspect(pq).extraParts == [.highlights])
        let p3 = try png([9, 9, 9], [("cICP", [12, 13, 0, 1])])
        #expect(try ImageEngine.inspect(p3).extraParts == [])
    }
}
