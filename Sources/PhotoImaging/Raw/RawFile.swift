#if PhotoImaging
/// A camera's raw file that is built like TIFF, and the largest JPEG in it.
///
/// The raw data is not developed. A camera puts a JPEG of its own into each raw file, which shows
/// the photo as the camera's screen does; most cameras write it in full size. This is NEF, NRW,
/// CR2, DNG, ARW, SR2, ORF, RW2, RWL, PEF and SRW. Their makers publish no descriptions, except
/// for DNG (Adobe, version 1.6); ExifTool's tables name the places of the JPEGs.
struct RawFile {
    private typealias Tag = TIFFReader.Tag

    /// The largest JPEG; nil if there is none.
    let jpeg: EmbeddedJPEG?
    /// The size of the raw data, as the file says; nil if it does not.
    let rawSize: PixelSize?
    /// Whether something that may be a JPEG goes on beyond the end of the file.
    let endsEarly: Bool
    /// The fields of the file itself.
    private(set) var exif: ExifBlock
    let hasXMP: Bool
    private let bytes: [UInt8]

    /// The numbers in place of TIFF's 42.
    private enum Version {
        static let tiff = 42
        /// "RO" and "RS".
        static let olympus: Set = [0x4F52, 0x5352]
        static let panasonic = 0x55
    }

    /// Whether the first bytes are those of a raw file of one kind; the others begin like TIFF.
    static func begins(_ start: [UInt8]) -> Bool {
        guard let reader = TIFFReader(start) else { return false }
        return Version.olympus.contains(reader.version) || reader.version == Version.panasonic
            || reader.version == Version.tiff && start.dropFirst(8).starts(with: [0x43, 0x52, 2])
    }

    /// Reads the directories of a raw file; nil for other files, also for a TIFF file.
    init?(_ bytes: [UInt8]) {
        guard let reader = TIFFReader(bytes) else { return nil }
        let isRaw = Self.begins(bytes)
        guard isRaw || reader.version == Version.tiff else { return nil }
        let directories = reader.directories()
        guard isRaw || directories.contains(where: { Self.hasRawData($0, reader) }) else {
            return nil
        }
        self.bytes = bytes
        let ranges = directories.flatMap { directory in
            Self.ranges(directory, reader).map { (range: $0, directory: directory) }
        }
        // What is left of a JPEG that goes on beyond the end is damaged, as a file of its own is.
        let found = ranges.compactMap { candidate in
            EmbeddedJPEG(in: bytes, at: candidate.range.clamped(to: bytes.indices)).map {
                ($0, candidate.directory)
            }
        }
        let largest = found.max { $0.0.size.pixelCount < $1.0.size.pixelCount }
        jpeg = largest?.0
        endsEarly = ranges.contains { !bytes.indices.contains($0.range) }
        rawSize = directories.compactMap { Self.size($0, reader) }
            .max { $0.pixelCount < $1.pixelCount }
        let first = directories.first ?? [:]
        hasXMP = first[Tag.xmp] != nil
        exif = ExifBlock()
        exif.add(first, of: reader)
        addFields(of: largest, reader)
    }

    /// Adds what the raw file lacks and its JPEG says: RW2 has the date there only.
    private mutating func addFields(
        of largest: (EmbeddedJPEG, TIFFReader.Directory)?, _ reader: TIFFReader
    ) {
        guard let (jpeg, directory) = largest else { return }
        if let place = jpeg.exif, let own = TIFFReader(bytes, in: place),
            let first = own.directories().first
        {
            exif.add(first, of: own)
            // Its pixels have its own color space; the raw data has none.
            exif.replaceColorSpace(by: first, of: own)
        }
        // A program that converts to DNG makes the JPEG in a space of its own.
        switch reader.number(directory[Tag.previewColorSpace]) {
        case 2: exif.set(.sRGB)
        case 3: exif.set(.adobeRGB)
        default: break
        }
    }

    /// The JPEG as a file with the fields of the raw file; nil if there is no JPEG.
    var picture: [UInt8]? { jpeg?.bytes(in: bytes, exif: exif.bytes) }

    // MARK: Directories

    /// Whether a directory describes raw data, or the file is a DNG.
    private static func hasRawData(
        _ directory: TIFFReader.Directory, _ reader: TIFFReader
    ) -> Bool {
        if directory[Tag.dngVersion] != nil { return true }
        // A color filter array, and linear raw data.
        if let space = reader.number(directory[Tag.photometric]), [32_803, 34_892].contains(space) {
            return true
        }
        // The compressions of ARW, SRW, NEF, lossy DNG and PEF.
        let compressions = [32_767, 32_770, 34_713, 34_892, 65_535]
        return reader.number(directory[Tag.compression]).map(compressions.contains) ?? false
    }

    private static func size(
        _ directory: TIFFReader.Directory, _ reader: TIFFReader
    ) -> PixelSize? {
        let tags: [(width: Int, height: Int)] =
            reader.version == Version.panasonic ? [(2, 3)] : [(Tag.width, Tag.height)]
        for tag in tags {
            if let width = reader.number(directory[tag.width]),
                let height = reader.number(directory[tag.height]), width > 0, height > 0
            {
                return PixelSize(width: width, height: height)
            }
        }
        return nil
    }

    // MARK: Places of JPEGs

    /// The tag of RW2 for the JPEG.
    private static let panasonicJPEG = 0x2E

    /// The places in which a directory says that there is a JPEG; they may lie beyond the file.
    private static func ranges(
        _ directory: TIFFReader.Directory, _ reader: TIFFReader
    ) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        func add(_ offset: Int?, _ length: Int?) {
            guard let offset, let length, offset > 0, length > 0 else { return }
            let place = reader.place(ofOffset: offset)
            ranges.append(place..<place + length)
        }
        add(reader.number(directory[Tag.jpeg]), reader.number(directory[Tag.jpegLength]))
        // JPEG of both kinds, in one strip.
        if let compression = reader.number(directory[Tag.compression]), 6...7 ~= compression,
            directory[Tag.strips]?.count == 1
        {
            add(reader.number(directory[Tag.strips]), reader.number(directory[Tag.stripLengths]))
        }
        if reader.version == Version.panasonic, let entry = directory[panasonicJPEG],
            entry.length > 4
        {
            ranges.append(entry.place..<entry.place + entry.length)
        }
        if Version.olympus.contains(reader.version) {
            ranges += olympusRanges(reader.directory(directory[Tag.exif])?[Tag.makerNote], reader)
        }
        return ranges
    }

    /// The place of the JPEG that Olympus' notes name: in the directory of the camera's settings.
    private static func olympusRanges(
        _ note: TIFFReader.Entry?, _ reader: TIFFReader
    ) -> [Range<Int>] {
        let settingsTag = 0x2020
        let (start, length) = (0x101, 0x102)
        // After the mark, the place of the directory. The oldest notes count from the start of the
        // file.
        let marks = [("OLYMPUS\0", 12), ("OM SYSTEM\0", 16), ("OLYMP\0", 8)]
        guard let note, let (mark, head) = marks.first(where: { reader.starts(note, with: $0.0) })
        else { return [] }
        let isOld = mark == "OLYMP\0"
        let notes = isOld ? reader : TIFFReader(reader, offsetsFrom: note.place)
        let first = isOld ? note.place + head : head
        guard let settings = notes.directory(notes.directory(at: first)?.entries[settingsTag]),
            let offset = notes.number(settings[start]), let count = notes.number(settings[length]),
            offset > 0, count > 0
        else { return [] }
        let place = notes.place(ofOffset: offset)
        return [place..<place + count]
    }
}
#endif
