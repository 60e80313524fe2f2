#if PhotoImaging
/// The fields that a copy of a photo keeps, from structures like TIFF, as an EXIF block.
///
/// Maker notes are left out: their offsets count from places in the original file. So is what
/// describes other pixels than those of the copy: sizes, thumbnails, and how raw data is developed.
struct ExifBlock {
    private typealias Tag = TIFFReader.Tag

    /// The value of a field, in little-endian order.
    private struct Field {
        let type: Int
        let count: Int
        let bytes: [UInt8]
    }

    /// The parts of a block, each a directory of its own.
    private enum Part: CaseIterable {
        case image, exif, interoperability, gps
    }

    private var fields: [Part: [Int: Field]] = [:]

    /// What a copy keeps of the first directory: description, camera, orientation, software, date,
    /// artist, rating and copyright.
    private static let imageTags = [
        0x10E, 0x10F, 0x110, 0x112, 0x131, 0x132, 0x13B, 0x4746, 0x8298,
    ]
    /// What TIFF/EP (ISO 12234-2) has of the exposure in the first directory: its time and program,
    /// the aperture, the sensitivity, the date, and the lens' values.
    private static let exposureTags: Set = [
        0x829A, 0x829D, 0x8822, 0x8827, Tag.taken, 0x9201, 0x9202, 0x9203, 0x9204, 0x9205, 0x9206,
        0x9207, 0x9208, 0x9209, 0x920A,
    ]
    /// The maker's notes, sizes in pixels, and offsets of other directories.
    private static let droppedExifTags: Set = [
        Tag.makerNote, 0xA002, 0xA003, Tag.interoperability, Tag.exif, Tag.gps,
    ]

    /// Longer values are left out, so that a block stays far below the 64 KiB of a segment.
    private static let mostValueBytes = 2_048
    private static let mostBytes = 48 << 10

    /// Creates a block without fields.
    init() {}

    /// Creates the block of a TIFF file, whose first directory is also that of the picture; nil if
    /// the file says nothing of the photo.
    init?(ofTIFF bytes: [UInt8]) {
        // A large file (BigTIFF) has another number.
        guard let reader = TIFFReader(bytes), reader.version == 42,
            let first = reader.directories().first
        else { return nil }
        add(first, of: reader)
        fields[.image]?[Tag.orientation] = nil
        if fields.allSatisfy(\.value.isEmpty) { return nil }
    }

    /// Whether there are fields that only EXIF has: of the exposure, or of the place.
    var hasExifFields: Bool { [.exif, .gps].contains { fields[$0]?.isEmpty == false } }

    /// Adds the fields of a structure that the block does not have.
    ///
    /// - Parameter directory: the structure's first directory.
    mutating func add(_ directory: TIFFReader.Directory, of reader: TIFFReader) {
        add(directory.filter { Self.imageTags.contains($0.key) }, to: .image, reader)
        if let exif = reader.directory(directory[Tag.exif]) {
            add(exif.filter { !Self.droppedExifTags.contains($0.key) }, to: .exif, reader)
            if let entries = reader.directory(exif[Tag.interoperability]) {
                add(entries, to: .interoperability, reader)
            }
        }
        add(directory.filter { Self.exposureTags.contains($0.key) }, to: .exif, reader)
        if let gps = reader.directory(directory[Tag.gps]) { add(gps, to: .gps, reader) }
    }

    private mutating func add(
        _ entries: TIFFReader.Directory, to part: Part, _ reader: TIFFReader
    ) {
        for (tag, entry) in entries where fields[part]?[tag] == nil {
            // The type 13 is the place of a directory, which means nothing in another file.
            guard entry.type != 13, entry.count > 0,
                let bytes = reader.values(of: entry, limit: Self.mostValueBytes)
            else { continue }
            fields[part, default: [:]][tag] = Field(
                type: entry.type, count: entry.count, bytes: bytes)
        }
    }

    /// Replaces the color space by that of a structure, if it names one.
    ///
    /// - Parameter directory: the structure's first directory.
    mutating func replaceColorSpace(
        by directory: TIFFReader.Directory, of reader: TIFFReader
    ) {
        guard let exif = reader.directory(directory[Tag.exif]), exif[Tag.colorSpace] != nil else {
            return
        }
        fields[.exif]?[Tag.colorSpace] = nil
        fields[.interoperability] = nil
        add(exif.filter { $0.key == Tag.colorSpace }, to: .exif, reader)
        if let entries = reader.directory(exif[Tag.interoperability]) {
            add(entries, to: .interoperability, reader)
        }
    }

    /// The color spaces that EXIF can name.
    enum ColorSpace {
        case sRGB, adobeRGB
    }

    /// Names the color space of the pixels, as the Design rule for Camera File system (DCF 2.0)
    /// does: sRGB by its own number, Adobe RGB as "uncalibrated" with an index of its own.
    mutating func set(_ space: ColorSpace) {
        let number: [UInt8] = space == .sRGB ? [1, 0] : [0xFF, 0xFF]
        fields[.exif, default: [:]][Tag.colorSpace] = Field(type: 3, count: 1, bytes: number)
        let index = space == .sRGB ? "R98" : "R03"
        fields[.interoperability] = [
            1: Field(type: 2, count: 4, bytes: Array(index.utf8) + [0]),
            2: Field(type: 7, count: 4, bytes: Array("0100".utf8)),
        ]
    }

    // MARK: Writing

    /// The block as a TIFF structure.
    var bytes: [UInt8] {
        // Little-endian TIFF; the place of the first directory follows.
        var result: [UInt8] = [0x49, 0x49, 0x2A, 0, 0, 0, 0, 0]
        var pointers: [Part: Int] = [:]
        // A directory is written before the one that names its place.
        for part in [Part.gps, .interoperability, .exif] {
            var entries = fields[part] ?? [:]
            if part == .exif, let place = pointers[.interoperability] {
                entries[Tag.interoperability] = Self.pointer(place)
            }
            if !entries.isEmpty { pointers[part] = Self.write(entries, to: &result) }
        }
        var image = fields[.image] ?? [:]
        if let place = pointers[.exif] { image[Tag.exif] = Self.pointer(place) }
        if let place = pointers[.gps] { image[Tag.gps] = Self.pointer(place) }
        let first = Self.write(image, to: &result)
        result.replaceSubrange(4..<8, with: Self.little(first, 4))
        return result
    }

    private static let pointers: Set = [Tag.exif, Tag.gps, Tag.interoperability]

    private static func pointer(_ place: Int) -> Field {
        Field(type: 4, count: 1, bytes: little(place, 4))
    }

    private static func little(_ number: Int, _ length: Int) -> [UInt8] {
        (0..<length).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    /// Appends a directory with its values; returns its place.
    private static func write(_ fields: [Int: Field], to result: inout [UInt8]) -> Int {
        var entries: [UInt8] = []
        var count = 0
        for (tag, field) in fields.sorted(by: { $0.key < $1.key }) {
            let length = result.count + entries.count + field.bytes.count
            guard length <= mostBytes || pointers.contains(tag) else { continue }
            entries += little(tag, 2) + little(field.type, 2) + little(field.count, 4)
            if field.bytes.count <= 4 {
                entries += field.bytes + [UInt8](repeating: 0, count: 4 - field.bytes.count)
            } else {
                entries += little(result.count, 4)
                result += field.bytes
                // Values begin at even places.
                if !result.count.isMultiple(of: 2) { result.append(0) }
            }
            count += 1
        }
        let place = result.count
        result += little(count, 2) + entries + little(0, 4)
        return place
    }

    // MARK: Segments

    private static let mark = Array("Exif\0\0".utf8)

    /// A block as a segment of a JPEG.
    static func segment(_ block: [UInt8]) -> [UInt8] {
        let length = 2 + mark.count + block.count
        return [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + mark + block
    }

    /// The place of the TIFF structure in a segment; nil if the segment has none.
    static func place(in file: [UInt8], marker: Int, body: Range<Int>) -> Range<Int>? {
        guard marker == 0xE1, file[body].starts(with: mark) else { return nil }
        return body.lowerBound + mark.count..<body.upperBound
    }

    /// A JPEG that has nothing but the head of a picture of one pixel, and a block.
    static func head(with block: [UInt8]) -> [UInt8] {
        // A frame of 8 bits, 1 x 1, one component; and the head of its only scan.
        [0xFF, 0xD8] + segment(block)
            + [0xFF, 0xC0, 0, 11, 8, 0, 1, 0, 1, 1, 1, 0x11, 0]
            + [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0xFF, 0xD9]
    }
}
#endif
