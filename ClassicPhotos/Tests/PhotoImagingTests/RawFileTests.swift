import OperationsTestSupport
import RawFiles
import Testing

@testable import PhotoImaging

@Suite(.ownThreads, .timeLimit(.minutes(15))) struct RawFileTests {
    /// A JPEG whose left half is red and whose right half is blue.
    private static func halves(width: Int = 400, height: Int = 200) throws -> [UInt8] {
        try ImageEngine.encode(
            Pictures.halves(width: width, height: height), as: .jpeg, quality: 95
        ).bytes
    }

    private static func raw(_ form: RawFileForm, orientation: Int = 1) throws -> [UInt8] {
        form.bytes(
            around: try halves(), orientation: orientation,
            small: try halves(width: 64, height: 32))
    }

    // MARK: What is read

    @Test(arguments: RawFileForm.allCases)
    func largestJPEGIsThePicture(form: RawFileForm) throws {
        let file = try Self.raw(form, orientation: 6)
        let info = try ImageEngine.inspect(file, limits: .ownFiles)
        #expect(info.format == .raw && info.orientation == 6)
        #expect(info.size == PixelSize(width: 200, height: 400))
        let rawSize = PixelSize(width: RawFileForm.rawWidth, height: RawFileForm.rawHeight)
        #expect(info.rawSize == rawSize)
        #expect(ImageFormat(contents: file) == .raw)
        for box in [nil, PixelSize(width: 100, height: 100)] {
            let bitmap = try ImageEngine.decode(file, fitting: box, limits: .ownFiles)
            let size = bitmap.size
            #expect(size.height == (box == nil ? 400 : 100))
            // Turned by 90° to the right, the left half is above.
            let top = bitmap.pixel(size.width / 2, size.height / 4)
            let bottom = bitmap.pixel(size.width / 2, size.height * 3 / 4)
            #expect(largestDifference(top, [255, 0, 0]) <= 6)
            #expect(largestDifference(bottom, [0, 0, 255]) <= 6)
        }
    }

    @Test(arguments: RawFileForm.allCases)
    func fieldsAreThoseOfTheRawFile(form: RawFileForm) throws {
        let file = try Self.raw(form)
        let fields = try ImageEngine.exif(of: file, limits: .ownFiles)
        #expect(fields.taken == "2021-03-04T05:06:07")
        #expect(fields.camera == "\(RawFileForm.maker) \(RawFileForm.model)")
        #expect(fields.lens == RawFileForm.lens)
        #expect(fields.aperture == 1.8 && fields.latitude == 52.5 && fields.longitude == -13.25)
        // A copy keeps them, without the notes and the size of the raw data.
        let bitmap = try ImageEngine.decode(file, keeping: .metadata, limits: .ownFiles)
        let copy = try ImageEngine.encode(bitmap, as: .jpeg)
        #expect(try ImageEngine.exif(of: copy.bytes) == fields)
        #expect(try ImageEngine.inspect(copy.bytes).orientation == 1)
        #expect(!copy.bytes.contains(RawFileForm.note))
        let plain = try ImageEngine.decode(file, limits: .ownFiles)
        let stripped = try ImageEngine.encode(plain, as: .jpeg).bytes
        #expect(try ImageEngine.exif(of: stripped) == ExifFields())
    }

    /// A list reads the dates of many files from their starts.
    @Test(arguments: [RawFileForm.nef, .cr2, .dng, .arw])
    func startIsEnoughForFields(form: RawFileForm) throws {
        let file = try Self.raw(form)
        let jpeg = try #require(file.firstRange(of: try Self.halves()))
        // In the smallest files, the fields may follow the JPEG.
        let taken = try #require(file.firstRange(of: Array(RawFileForm.taken.utf8)))
        let end = max(jpeg.lowerBound, taken.upperBound) + 200
        let start = Array(file.prefix(min(end, file.count - 20)))
        #expect(
            try ImageEngine.exif(of: start, limits: .ownFiles).taken == "2021-03-04T05:06:07")
    }

    @Test func xmpOfRawDataIsNotThatOfTheJPEG() throws {
        let packet = TIFFWriter.Value.bytes(Array("<x:xmpmeta>develop</x:xmpmeta>".utf8))
        let file = RawFileForm.dng.bytes(around: try Self.halves(), adding: [(0x2BC, packet)])
        let info = try ImageEngine.inspect(file, limits: .ownFiles)
        #expect(info.metadataKinds == [.exif, .xmp])
        let bitmap = try ImageEngine.decode(file, keeping: .all, limits: .ownFiles)
        #expect(try !ImageEngine.encode(bitmap, as: .jpeg).bytes.contains("develop"))
    }

    // MARK: What is not read

    @Test(arguments: RawFileForm.allCases)
    func rawFilesNeedPermission(form: RawFileForm) throws {
        let file = try Self.raw(form)
        let allowed = ImageLimits.standard.allowedFormats
        let error = ImagingError.formatNotAllowed(.raw, allowed: allowed)
        #expect(throws: error) { _ = try ImageEngine.inspect(file) }
        #expect(throws: error) { _ = try ImageEngine.decode(file) }
        #expect(throws: error) { _ = try ImageEngine.exif(of: file) }
        #expect(!ImageFormat.raw.canEncode)
    }

    @Test(arguments: [RawFileForm.nef, .cr2, .dng, .arw])
    func fieldsNeedNoPicture(form: RawFileForm) throws {
        let file = form.bytes(around: Array(repeating: 7, count: 100), orientation: 1)
        #expect(throws: ImagingError.self) {
            _ = try ImageEngine.inspect(file, limits: .ownFiles)
        }
        #expect(
            try ImageEngine.exif(of: file, limits: .ownFiles).taken == "2021-03-04T05:06:07")
    }

    @Test func plainTIFFIsNoRawFile() throws {
        let tiff = try Pictures.file(.tiff)
        #expect(ImageFormat(contents: tiff) == .tiff)
        #expect(try ImageEngine.inspect(tiff).format == .tiff)
        #expect(ImageFormat(contents: try Pictures.file(.jpeg)) == .jpeg)
    }

    /// The JPEG of raw data is lossless, and the JPEG of a strip may lack its tables.
    @Test func onlyWholeJPEGsCount() throws {
        let small = try Self.halves(width: 32, height: 16)
        var bare = try Self.halves()
        while let table = bare.firstRange(of: [0xFF, 0xDB]) {
            bare.removeSubrange(table.lowerBound..<table.upperBound + 67)
        }
        let file = RawFileForm.cr2.bytes(around: bare, small: small)
        #expect(
            try ImageEngine.inspect(file, limits: .ownFiles).size
                == PixelSize(width: 32, height: 16))
        for form in RawFileForm.allCases where form != .rw2 {
            let without = form.bytes(around: bare)
            #expect(throws: ImagingError.noPictureInRawFile) {
                try ImageEngine.inspect(without, limits: .ownFiles)
            }
        }
    }

    /// In these files, the JPEG follows the directories.
    @Test(arguments: [RawFileForm.cr2, .arw, .orf, .rw2])
    func cutFilesSaySo(form: RawFileForm) throws {
        let file = try Self.raw(form)
        let jpeg = try #require(file.firstRange(of: [0xFF, 0xDA, 0, 12]))
        let error = #expect(throws: ImagingError.self) {
            _ = try ImageEngine.decode(Array(file[..<jpeg.upperBound]), limits: .ownFiles)
        }
        #expect("\(try #require(error))".contains("ends too early"), "\(form)")
        // As of a JPEG, what is left can be shown.
        let part = Array(file[..<(jpeg.upperBound + 400)])
        #expect(throws: ImagingError.self) { try ImageEngine.decode(part, limits: .ownFiles) }
        let left = try ImageEngine.decode(part, limits: .ownFiles, acceptingDamage: true)
        #expect(left.size == PixelSize(width: 400, height: 200))
        #expect(largestDifference(left.pixel(50, 4), [255, 0, 0]) <= 6)
    }
}

/// Raw files of strangers: every number in their directories may be anything.
@Suite(.ownThreads, .timeLimit(.minutes(15))) struct HostileRawFileTests {
    private static let jpeg =
        (try? Pictures.file(.jpeg, width: 120, height: 80)) ?? []

    /// Reads everything of a file; the result matters to nobody.
    private func read(_ file: [UInt8], decoding isDecoded: Bool = true) {
        _ = ImageFormat(contents: file)
        guard isDecoded else { return }
        _ = try? ImageEngine.exif(of: file, limits: .ownFiles)
        let cancellation = ImagingCancellation(processorTime: .seconds(10))
        do throws(ImagingError) {
            let bitmap = try ImageEngine.decode(
                file, fitting: PixelSize(width: 40, height: 40), keeping: .all, limits: .ownFiles,
                acceptingDamage: true, cancellation: cancellation)
            #expect(bitmap.size.longerSide <= 40)
        } catch {
            #expect(error != .timedOut && error != .outOfMemory)
        }
    }

    /// A directory that is its own successor, and its own part.
    @Test func circlesOfDirectoriesEnd() throws {
        let circle = RawFileForm.dng.bytes(
            around: Self.jpeg, adding: [(0x14A, .claim(type: 4, count: 1, place: 8))])
        #expect(throws: ImagingError.noPictureInRawFile) {
            try ImageEngine.inspect(circle, limits: .ownFiles)
        }
        let many = TIFFWriter.Directory(repeating: (0x14A, .long(8)), count: 900)
        let chain = [[(0xC612, TIFFWriter.Value.bytes([1, 4, 0, 0]))] + many]
        read(TIFFWriter.file(head: [0x49, 0x49, 0x2A, 0, 0, 0, 0, 0], isLittle: true, chain))
        var file = RawFileForm.nef.bytes(around: Self.jpeg)
        // The exif directory of the file is the file's first one.
        let pointer = try #require(file.firstRange(of: [0x87, 0x69, 0, 4, 0, 0, 0, 1]))
        file.replaceSubrange(pointer.upperBound..<pointer.upperBound + 4, with: [0, 0, 0, 8])
        #expect(try ImageEngine.exif(of: file, limits: .ownFiles).camera == "Maker Model 5")
    }

    @Test(arguments: [0x10F, 0x111, 0x14A, 0x201, 0x8769, 0x8825, 0x2E, 0x2BC])
    func claimsBeyondTheFileAreLeftOut(tag: Int) throws {
        for form in RawFileForm.allCases {
            for type in [2, 4, 5, 7, 13, 0xFFFF] {
                for (count, place) in [
                    (0xFFFF_FFFF, 0), (0xFFFF_FFFF, 0xFFFF_FFFF), (1, 0xFFFF_FFFF),
                    (0x2000_0000, 0xFFFF_FFF0), (65, 8), (0, 0), (2, 4),
                ] {
                    let claim = TIFFWriter.Value.claim(type: type, count: count, place: place)
                    let file = form.bytes(around: Self.jpeg, adding: [(tag, claim)])
                    read(file, decoding: type == 4 || type == 7)
                }
            }
        }
    }

    /// A JPEG of which the file has less than the directory says, or nothing.
    @Test(arguments: [1, 1_000, 0x7FFF_FFFF, 0xFFFF_FFFF])
    func jpegThatClaimsMoreThanTheFileEndsWithTheFile(more: Int) throws {
        let file = RawFileForm.arw.bytes(around: Self.jpeg)
        let place = try #require(file.firstRange(of: Self.jpeg)).lowerBound
        let length = TIFFWriter.Value.claim(
            type: 4, count: 1, place: min(file.count - place + more, 0xFFFF_FFFF))
        let long = RawFileForm.arw.bytes(around: Self.jpeg, adding: [(0x202, length)])
        #expect(
            try ImageEngine.decode(long, limits: .ownFiles).size
                == PixelSize(width: 120, height: 80))
        let beyond = TIFFWriter.Value.claim(
            type: 4, count: 1, place: min(file.count + more, 0xFFFF_FFFF))
        let none = RawFileForm.arw.bytes(around: Self.jpeg, adding: [(0x201, beyond)])
        let detail = "the raw file ends too early, within its JPEG"
        #expect(throws: ImagingError.decodeFailed(detail: detail)) {
            try ImageEngine.inspect(none, limits: .ownFiles)
        }
    }

    @Test(arguments: RawFileForm.allCases)
    func changedBytesAreRefusedOrRead(form: RawFileForm) throws {
        let file = form.bytes(around: Self.jpeg, orientation: 3)
        // The tables and the pixels of JPEGs are changed by another suite.
        let frame = try #require(file.firstRange(of: [0xFF, 0xC0, 0, 17]))
        let start = try #require(file.firstRange(of: [0xFF, 0xDB])).upperBound + 2
        let tables = try #require(file[frame.upperBound...].firstRange(of: [0xFF, 0xC4]))
        let pixels = tables.upperBound..<(start + Self.jpeg.count - 60)
        let places = file.indices.filter {
            !(start..<frame.lowerBound).contains($0) && !pixels.contains($0)
        }
        for place in places {
            for value: UInt8 in [0xFF, file[place] ^ 0x80] {
                var changed = file
                changed[place] = value
                read(changed, decoding: place.isMultiple(of: 5))
            }
        }
        for length in stride(from: 0, to: file.count, by: 61) { read(Array(file[..<length])) }
    }
}
