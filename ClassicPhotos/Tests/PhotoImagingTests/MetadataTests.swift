import OperationsTestSupport
import PhotoImaging
import RawFiles
import Testing

@Suite(.ownThreads) struct MetadataTests {
    private static let xmp = """
        <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">\
        <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description \
        xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="6" tiff:Model="Holiday"/>\
        </rdf:RDF></x:xmpmeta><?xpacket end="w"?>
        """

    /// A JPEG as of a camera that was turned by 90°, with EXIF, XMP, IPTC and a thumbnail.
    private static func photo() throws -> [UInt8] {
        var file = try ImageEngine.encode(Pictures.halves(width: 64, height: 32), as: .jpeg).bytes
        file = JPEGSegments.inserting(JPEGSegments.iptc(headline: "Parade"), into: file)
        file = JPEGSegments.inserting(JPEGSegments.xmp(xmp), into: file)
        return JPEGSegments.inserting(
            JPEGSegments.exif(orientation: 6, make: "Camera", thumbnail: "Thumbnail"), into: file)
    }

    @Test func headerNamesKindsOfMetadata() throws {
        let info = try ImageEngine.inspect(Self.photo())
        #expect(info.metadataKinds == [.exif, .xmp, .iptc])
        #expect(info.orientation == 6 && info.size == PixelSize(width: 32, height: 64))
        #expect(try ImageEngine.inspect(Pictures.file(.jpeg)).metadataKinds == [])
    }

    @Test(arguments: ImageFormat.allCases.filter(\.canEncode))
    func metadataIsWrittenAsFarAsFormatHasIt(format: ImageFormat) throws {
        let bitmap = try ImageEngine.decode(Self.photo(), keeping: .all)
        #expect(bitmap.hasMetadata)
        let filtered = try ImageEngine.apply([.sepia()], to: bitmap)
        let file = try ImageEngine.encode(filtered, as: format)
        let info = try ImageEngine.inspect(file.bytes, limits: .ownFiles)
        #expect(info.metadataKinds.isSuperset(of: format.metadataKinds))
        #expect(info.orientation == 1 && info.size == PixelSize(width: 32, height: 64))
        let kinds = format.metadataKinds
        #expect(file.bytes.contains("Camera") == kinds.contains(.exif))
        // PNG compresses the packet.
        if format != .png {
            #expect(file.bytes.contains("tiff:Model=\"Holiday\"") == kinds.contains(.xmp))
        }
        #expect(file.bytes.contains("Parade") == kinds.contains(.iptc))
    }

    /// A gray picture of 2 × 1 pixels as TIFF, which says more of the photo.
    private static func tiff(isLittle: Bool, _ more: TIFFWriter.Directory) -> [UInt8] {
        let picture: TIFFWriter.Directory = [
            (0x100, .short(2)), (0x101, .short(1)), (0x102, .short(8)), (0x103, .short(1)),
            (0x106, .short(1)), (0x111, .block([0, 255])), (0x115, .short(1)),
            (0x116, .short(1)), (0x117, .long(2)),
        ]
        let head: [UInt8] =
            isLittle ? [0x49, 0x49, 42, 0, 0, 0, 0, 0] : [0x4D, 0x4D, 0, 42, 0, 0, 0, 0]
        return TIFFWriter.file(head: head, isLittle: isLittle, [picture + more])
    }

    /// libvips does not read these fields.
    @Test(arguments: [true, false])
    func exifOfTIFFIsReadAndKept(isLittle: Bool) throws {
        let taken: TIFFWriter.Directory = [
            (0x829A, .fractions([(1, 250)])), (0x9003, .text("2021:03:04 05:06:07")),
        ]
        let file = Self.tiff(
            isLittle: isLittle,
            [
                (0x10F, .text("Maker")), (0x110, .text("Model 5")),
                (0x8769, .directories([taken])),
            ])
        #expect(try ImageEngine.inspect(file).metadataKinds == [.exif])
        let header = try ImageEngine.header(of: file)
        #expect(header.fields.camera == "Maker Model 5")
        #expect(header.fields.taken == "2021-03-04T05:06:07")
        #expect(try ImageEngine.exif(of: file) == header.fields)
        let bitmap = try ImageEngine.decode(file, keeping: .metadata)
        for format in [ImageFormat.jpeg, .png, .webp] {
            let copy = try ImageEngine.encode(bitmap, as: format).bytes
            #expect(try ImageEngine.exif(of: copy) == header.fields, "\(format)")
        }
        #expect(try !ImageEngine.decode(file).hasMetadata)
    }

    @Test func exposureInTheFirstDirectoryIsRead() throws {
        let file = Self.tiff(
            isLittle: true, [(0x829A, .fractions([(1, 250)])), (0x8827, .short(320))])
        let fields = try ImageEngine.exif(of: file)
        #expect(fields.exposure == "1/250" && fields.iso == 320)
        #expect(try ImageEngine.inspect(file).metadataKinds == [.exif])
    }

    @Test func tiffWithoutFieldsHasNone() throws {
        let file = Self.tiff(isLittle: true, [(0x112, .short(1))])
        #expect(try ImageEngine.inspect(file).metadataKinds == [])
        #expect(try ImageEngine.exif(of: file) == ExifFields())
        // The place of the directory lies beyond the file.
        let damaged = Self.tiff(
            isLittle: true, [(0x8769, .claim(type: 4, count: 1, place: 1 << 30))])
        #expect(try ImageEngine.exif(of: damaged) == ExifFields())
    }

    /// A copy has neither the gain map of an HDR photo nor the video of a motion photo.
    @Test func copyDoesNotNameWhatFollowedThePicture() throws {
        let xmp = """
            <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF \
            xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description \
            xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" \
            xmlns:Container="http://ns.google.com/photos/1.0/container/" \
            xmlns:GCamera="http://ns.google.com/photos/1.0/camera/" xmlns:tiff="http://t/" \
            hdrgm:Version="1.0" hdrgm:GainMapMax='2.5' GCamera:MotionPhoto="1" \
            GCamera:MotionPhotoVersion = "1" tiff:Model="Holiday"><Container:Directory><rdf:Seq>\
            <rdf:li>GainMap</rdf:li></rdf:Seq></Container:Directory></rdf:Description></rdf:RDF>\
            </x:xmpmeta>
            """
        let plain = try Pictures.file(.jpeg, width: 32, height: 32)
        let file = JPEGSegments.inserting(JPEGSegments.xmp(xmp), into: plain)
        let bitmap = try ImageEngine.decode(file, keeping: .metadata)
        let copy = try ImageEngine.encode(bitmap, as: .jpeg).bytes
        #expect(copy.contains("tiff:Model=\"Holiday\"") && copy.contains("</rdf:Description>"))
        for name in [
            "hdrgm:Version", "hdrgm:GainMapMax", "GCamera:MotionPhoto", "GainMap</rdf:li>",
            "Container:Directory",
        ] {
            #expect(file.contains(name) && !copy.contains(name), "\(name)")
        }
    }

    @Test(arguments: [
        ("hdrgm:Version=\"1.0\"", ExtraPart.gainMap),
        (
            "a=\"\"><Container:Directory><rdf:li Item:Semantic=\"GainMap\"/></Container:Directory>"
                + "</rdf:Description><rdf:Description b=\"\"", .gainMap
        ),
        ("HDRGainMap:HDRGainMapVersion=\"1\"", .gainMap),
        ("GCamera:MotionPhoto=\"1\"", .video), ("GCamera:MicroVideo=\"1\"", .video),
        ("GCamera:MotionPhoto=\"0\"", nil), ("dc:title=\"a map\"", nil),
    ])
    func headerNamesWhatNoCopyHas(field: String, part: ExtraPart?) throws {
        let plain = try Pictures.file(.jpeg, width: 32, height: 32)
        let xmp = JPEGSegments.xmp("<x:xmpmeta><rdf:Description \(field)/></x:xmpmeta>")
        let file = JPEGSegments.inserting(xmp, into: plain)
        #expect(try ImageEngine.inspect(file).extraParts == (part.map { [$0] } ?? []))
        let bitmap = try ImageEngine.decode(file, keeping: .metadata)
        let copy = try ImageEngine.encode(bitmap, as: .jpeg).bytes
        #expect(try ImageEngine.inspect(copy).extraParts == [])
    }

    /// A segment of ISO 21496-1, and a list of pictures of which one is Apple's map.
    @Test func gainMapsWithoutXMPAreFound() throws {
        let plain = try Pictures.file(.jpeg, width: 32, height: 32)
        func segment(_ text: String) -> [UInt8] {
            [0xFF, 0xE2, 0, UInt8(text.utf8.count + 2)] + Array(text.utf8)
        }
        let iso = JPEGSegments.inserting(segment("urn:iso:std:iso:ts:21496:-1\0ab"), into: plain)
        #expect(try ImageEngine.inspect(iso).extraParts == [.gainMap])
        let list = JPEGSegments.inserting(segment("MPF\0II*\0"), into: plain)
        #expect(try ImageEngine.inspect(list + plain).extraParts == [])
        let map = Array("urn:com:apple:photo:2020:aux:hdrgainmap".utf8)
        #expect(try ImageEngine.inspect(list + plain + map).extraParts == [.gainMap])
        #expect(try ImageEngine.inspect(plain + map).extraParts == [])
    }

    private static let panorama = """
        <x:xmpmeta><rdf:Description GPano:ProjectionType="equirectangular" \
        GPano:FullPanoWidthPixels="4000" GPano:CroppedAreaLeftPixels = '0' \
        GPano:CroppedAreaImageWidthPixels='1001' tiff:ImageWidth="400" dc:title="Sea">\
        <GPano:FullPanoHeightPixels>2000</GPano:FullPanoHeightPixels>\
        <GPano:CroppedAreaTopPixels>many</GPano:CroppedAreaTopPixels>\
        </rdf:Description></x:xmpmeta>
        """

    /// A program would show a small panorama as a small part of a large one.
    @Test func sizesOfPanoramaFollowThePicture() throws {
        let plain = try Pictures.file(.jpeg, width: 400, height: 200)
        let file = JPEGSegments.inserting(JPEGSegments.xmp(Self.panorama), into: plain)
        let small = try ImageEngine.decode(
            file, fitting: PixelSize(width: 100, height: 100), keeping: .metadata)
        let copy = try ImageEngine.encode(small, as: .jpeg).bytes
        for field in [
            "GPano:FullPanoWidthPixels=\"1000\"", "GPano:CroppedAreaLeftPixels = '0'",
            "GPano:CroppedAreaImageWidthPixels='250' ", "tiff:ImageWidth=\"100\"",
            "<GPano:FullPanoHeightPixels>500</GPano:FullPanoHeightPixels> <GPano:Cropped",
            ">many</GPano:CroppedAreaTopPixels>", "dc:title=\"Sea\"",
        ] {
            #expect(copy.contains(field), "\(field)")
        }
        // In full size, nothing changes.
        let whole = try ImageEngine.decode(file, keeping: .metadata)
        #expect(try ImageEngine.encode(whole, as: .jpeg).bytes.contains(Self.panorama))
    }

    @Test func turnedPanoramaIsNone() throws {
        let plain = try Pictures.file(.jpeg, width: 40, height: 20)
        var file = JPEGSegments.inserting(JPEGSegments.xmp(Self.panorama), into: plain)
        file = JPEGSegments.inserting(JPEGSegments.exif(orientation: 6), into: file)
        let bitmap = try ImageEngine.decode(file, keeping: .metadata)
        let copy = try ImageEngine.encode(bitmap, as: .jpeg).bytes
        #expect(!copy.contains("GPano:") && copy.contains("dc:title=\"Sea\""))
        #expect(!copy.contains("tiff:ImageWidth"))
    }

    @Test func orientationIsReset() throws {
        let bitmap = try ImageEngine.decode(Self.photo(), keeping: .metadata)
        let file = try ImageEngine.encode(bitmap, as: .jpeg).bytes
        #expect(file.contains("tiff:Orientation=\"1\""))
        let exif = try #require(EXIF(of: file))
        #expect(exif.orientation == 1)
        #expect(exif.make == "Camera")
    }

    @Test func thumbnailIsDropped() throws {
        let photo = try Self.photo()
        #expect(photo.contains("Thumbnail"))
        let bitmap = try ImageEngine.decode(photo, keeping: .metadata)
        #expect(try !ImageEngine.encode(bitmap, as: .jpeg).bytes.contains("Thumbnail"))
    }

    @Test func metadataIsStrippedUnlessKept() throws {
        let bitmap = try ImageEngine.decode(Self.photo(), keeping: [.depth, .gray, .frames])
        #expect(!bitmap.hasMetadata)
        for format in [ImageFormat.jpeg, .png, .webp, .tiff] {
            let file = try ImageEngine.encode(bitmap, as: format).bytes
            // The encoder of WebP always adds an EXIF block, with nothing but the size.
            let expected: Set<MetadataKind> = format == .webp ? [.exif] : []
            #expect(try ImageEngine.inspect(file).metadataKinds == expected, "\(format)")
            for text in ["Camera", "Holiday", "Parade"] { #expect(!file.contains(text)) }
        }
    }

    @Test func iptcSurvivesTIFFAndJPEG() throws {
        var file = try Self.photo()
        for format in [ImageFormat.tiff, .tiff, .jpeg, .jpeg] {
            let bitmap = try ImageEngine.decode(file, keeping: .metadata)
            file = try ImageEngine.encode(bitmap, as: format).bytes
            #expect(try ImageEngine.inspect(file).metadataKinds.contains(.iptc))
        }
        // The header, a resource of Photoshop and the data set 2:105 in it.
        let start: [UInt8] = Array("Photoshop 3.0\0".utf8) + Array("8BIM".utf8) + [4, 4]
        let range = try #require(file.firstRange(of: start))
        #expect(file[range.upperBound...].firstRange(of: [0x1C, 2, 105, 0, 6]) != nil)
    }

    @Test func fileWithProfileGetsSRGBProfile() throws {
        let wide = Profiles.display(
            red: [0.5151, 0.2412, -0.0011], green: [0.2920, 0.6922, 0.0419],
            blue: [0.1571, 0.0666, 0.7841])
        let plain = try ImageEngine.encode(Pictures.halves(width: 32, height: 32), as: .jpeg).bytes
        let tagged = JPEGSegments.inserting(JPEGSegments.profile(wide), into: plain)
        let bitmap = try ImageEngine.decode(tagged, keeping: .metadata)
        let file = try ImageEngine.encode(bitmap, as: .jpeg, quality: 95).bytes
        #expect(file.contains("ICC_PROFILE") && file.firstRange(of: wide) == nil)
        // The pixels are already in sRGB, so the profile changes nothing when the file is read.
        let again = try ImageEngine.decode(file)
        #expect(largestDifference(again.pixel(4, 4), bitmap.pixel(4, 4)) <= 3)
        let untagged = try ImageEngine.decode(plain, keeping: .metadata)
        #expect(try !ImageEngine.encode(untagged, as: .jpeg).bytes.contains("ICC_PROFILE"))
    }

    @Test func ownSRGBProfileIsKept() throws {
        let own = Profiles.display(red: Profiles.red, green: Profiles.green, blue: Profiles.blue)
        let plain = try ImageEngine.encode(Pictures.halves(width: 32, height: 32), as: .jpeg).bytes
        let tagged = JPEGSegments.inserting(JPEGSegments.profile(own), into: plain)
        let bitmap = try ImageEngine.decode(tagged, keeping: .metadata)
        #expect(try ImageEngine.encode(bitmap, as: .jpeg).bytes.firstRange(of: own) != nil)
    }

    @Test func damagedMetadataDoesNotMatter() throws {
        let plain = try Pictures.file(.jpeg)
        for length in [0, 5, 20, 60] {
            let exif = JPEGSegments.exif(orientation: 3, make: "Camera", thumbnail: "T")
            var cut = Array(exif[..<(4 + 6 + length)])
            cut[2] = UInt8((cut.count - 2) >> 8)
            cut[3] = UInt8((cut.count - 2) & 0xFF)
            let photo = JPEGSegments.inserting(cut, into: plain)
            let bitmap = try ImageEngine.decode(photo, keeping: .all)
            _ = try ImageEngine.encode(bitmap, as: .jpeg)
        }
    }
}

@Suite(.ownThreads) struct GrayTests {
    private static func gray(_ format: ImageFormat) throws -> [UInt8] {
        let file = try ImageEngine.encode(Pictures.colorful(width: 64, height: 48), as: .png)
        let noir = try ImageEngine.apply([.noir()], to: ImageEngine.decode(file.bytes))
        // A PNG with color type 0, which the engine writes only for a gray source.
        let samples = (0..<64 * 48).map { noir.pixel($0 % 64, $0 / 64)[0] }
        var adler: (a: UInt32, b: UInt32) = (1, 0)
        var raw: [UInt8] = []
        for row in 0..<48 { raw += [0] + samples[row * 64..<(row + 1) * 64] }
        for byte in raw {
            adler.a = (adler.a + UInt32(byte)) % 65_521
            adler.b = (adler.b + adler.a) % 65_521
        }
        let count = UInt16(raw.count)
        let data: [UInt8] =
            [0x78, 1, 1, UInt8(count & 0xFF), UInt8(count >> 8), UInt8(~count & 0xFF)]
            + [UInt8(~count >> 8)] + raw + HostileFiles.bigEndian(Int(adler.b << 16 | adler.a))
        let png = HostileFiles.png(width: 64, height: 48, colorType: 0, data: data)
        guard format != .png else { return png }
        return try ImageEngine.encode(
            ImageEngine.decode(png, keeping: .gray), as: format, quality: 95
        ).bytes
    }

    @Test(arguments: [ImageFormat.png, .jpeg, .tiff])
    func grayStaysGrayUntilFilterColorsIt(format: ImageFormat) throws {
        let file = try Self.gray(format)
        #expect(try ImageEngine.inspect(file).isGray)
        let bitmap = try ImageEngine.decode(file, keeping: .gray)
        #expect(bitmap.isGray)
        let contrast = CubeFile(side: 3) { [$0 * $0, $1 * $1, $2 * $2] }
        let warmCurves = CubeFile(size: 3) { [$0, $0, $0 * 0.9] }
        let warmCube = CubeFile(side: 2) { [$0, $1, $2 * 0.9] }
        for filter in [
            ImageFilter.blur(), .sharpen(), .vignette(), .tiltShift(), .noir(), .fade(),
            .look(try Look(cube: contrast.bytes)),
            .look(try Look(cube: warmCube.bytes), intensity: 0),
        ] {
            let result = try ImageEngine.apply([filter], to: bitmap)
            #expect(result.isGray, "\(filter)")
            let written = try ImageEngine.encode(result, as: format, quality: 95).bytes
            #expect(try ImageEngine.inspect(written).isGray, "\(filter)")
            let again = try ImageEngine.decode(written)
            #expect(largestDifference(again.pixel(20, 20), result.pixel(20, 20)) <= 3)
        }
        for filter in [
            ImageFilter.sepia(), .instant(), .transfer(), .sepiaCSS(),
            .look(try Look(cube: warmCurves.bytes)), .look(try Look(cube: warmCube.bytes)),
        ] {
            let result = try ImageEngine.apply([.blur(), filter], to: bitmap)
            #expect(!result.isGray, "\(filter)")
            let written = try ImageEngine.encode(result, as: format).bytes
            #expect(try !ImageEngine.inspect(written).isGray, "\(filter)")
        }
    }

    @Test func displayedPictureIsColorful() throws {
        let bitmap = try ImageEngine.decode(Self.gray(.jpeg))
        #expect(!bitmap.isGray)
    }
}

/// The entries of a JPEG's EXIF block that the tests read.
private struct EXIF {
    let orientation: Int?
    let make: String?

    init?(of jpeg: [UInt8]) {
        guard let range = jpeg.firstRange(of: Array("Exif\0\0".utf8)) else { return nil }
        let tiff = Array(jpeg[range.upperBound...])
        let isLittle = tiff[0] == UInt8(ascii: "I")
        func number(_ at: Int, _ count: Int) -> Int {
            let bytes = tiff[at..<at + count]
            return (isLittle ? bytes.reversed() : Array(bytes)).reduce(0) { $0 << 8 | Int($1) }
        }
        let directory = number(4, 4)
        var (orientation, make): (Int?, String?)
        for entry in 0..<number(directory, 2) {
            let at = directory + 2 + entry * 12
            if number(at, 2) == 0x112 { orientation = number(at + 8, 2) }
            if number(at, 2) == 0x10F {
                let text = tiff[number(at + 8, 4)...].prefix { $0 != 0 }
                make = String(decoding: text, as: UTF8.self)
            }
        }
        self.orientation = orientation
        self.make = make
    }
}
