#if PhotoImaging
/// Reads the directories of a TIFF file, and of what is built like one: EXIF blocks, and most
/// cameras' raw files.
///
/// Every number comes from the file and may be anything. No read goes beyond the bytes, no
/// directory is read twice, and the numbers of directories, entries and values are limited.
///
/// Layout: TIFF 6.0, section 2.
struct TIFFReader {
    /// One entry of a directory.
    struct Entry {
        let tag: Int
        let type: Int
        /// The number of values, which may be much more than the file has.
        let count: Int
        /// The place of the first value in the bytes.
        let place: Int

        /// The length of a value; 0 for an unknown type.
        var valueLength: Int { TIFFReader.valueLengths[type] ?? 0 }

        /// The length of all values.
        var length: Int { count * valueLength }
    }

    /// The entries of a directory by tag.
    typealias Directory = [Int: Entry]

    /// The lengths of the types, by their numbers.
    private static let valueLengths = [
        1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4,
    ]

    /// Files with more of something are damaged: cameras write about ten directories, with at most
    /// some hundred entries each.
    private static let mostDirectories = 64
    private static let mostEntries = 1_000
    private static let mostValues = 64

    private let bytes: [UInt8]
    private let isLittle: Bool
    /// The place from which the offsets count.
    private let base: Int
    /// The end of the structure.
    private let end: Int

    /// The number that says what the file is: 42 for TIFF.
    let version: Int

    /// Begins to read a structure; nil if the bytes do not begin like one.
    ///
    /// - Parameter range: the place of the structure; nil for all bytes.
    init?(_ bytes: [UInt8], in range: Range<Int>? = nil) {
        let range = range ?? bytes.indices
        guard range.count >= 8, bytes.indices.contains(range) else { return nil }
        switch (bytes[range.lowerBound], bytes[range.lowerBound + 1]) {
        case (UInt8(ascii: "I"), UInt8(ascii: "I")): isLittle = true
        case (UInt8(ascii: "M"), UInt8(ascii: "M")): isLittle = false
        default: return nil
        }
        self.bytes = bytes
        (base, end) = (range.lowerBound, range.upperBound)
        let (first, second) = (Int(bytes[base + 2]), Int(bytes[base + 3]))
        version = isLittle ? second << 8 | first : first << 8 | second
    }

    /// A reader of the same bytes whose offsets count from another place.
    init(_ other: TIFFReader, offsetsFrom base: Int) {
        (bytes, isLittle, end, version) = (other.bytes, other.isLittle, other.end, other.version)
        self.base = base
    }

    // MARK: Numbers

    /// The unsigned number at a place of the bytes; nil beyond their end.
    private func number(at place: Int, length: Int) -> Int? {
        guard place >= 0, length <= end - place else { return nil }
        let part = bytes[place..<place + length]
        return isLittle
            ? part.reversed().reduce(0) { $0 << 8 | Int($1) }
            : part.reduce(0) { $0 << 8 | Int($1) }
    }

    /// The unsigned numbers of an entry, at most 64 of them; empty for other types.
    func numbers(_ entry: Entry?) -> [Int] {
        guard let entry, [1, 3, 4, 13].contains(entry.type) else { return [] }
        return (0..<min(entry.count, Self.mostValues)).map { index in
            number(at: entry.place + index * entry.valueLength, length: entry.valueLength)
        }.prefix { $0 != nil }.compactMap(\.self)
    }

    /// The first number of an entry.
    func number(_ entry: Entry?) -> Int? { numbers(entry).first }

    /// The place in the bytes that an offset names.
    func place(ofOffset offset: Int) -> Int { base + offset }

    /// Whether the values of an entry begin with a text.
    func starts(_ entry: Entry, with text: String) -> Bool {
        guard entry.place >= 0, entry.place < end, entry.length >= text.utf8.count else {
            return false
        }
        return bytes[entry.place..<end].starts(with: text.utf8)
    }

    /// The bytes of an entry's values, in the order of a little-endian file; nil if they are not
    /// all there, or more than a limit.
    func values(of entry: Entry, limit: Int) -> [UInt8]? {
        guard entry.valueLength > 0, entry.length <= limit, entry.place >= 0,
            entry.length <= end - entry.place
        else { return nil }
        let values = Array(bytes[entry.place..<entry.place + entry.length])
        // A fraction is two numbers.
        let unit = entry.type == 5 || entry.type == 10 ? 4 : entry.valueLength
        guard !isLittle, unit > 1 else { return values }
        return stride(from: 0, to: values.count, by: unit).flatMap {
            values[$0..<$0 + unit].reversed()
        }
    }

    // MARK: Directories

    /// The entries at an offset, and the offset of the next directory; nil if there is none.
    ///
    /// Entries beyond the end are left out.
    func directory(at offset: Int) -> (entries: Directory, next: Int)? {
        guard offset >= 0, let count = number(at: base + offset, length: 2),
            (1...Self.mostEntries).contains(count)
        else { return nil }
        var entries: Directory = [:]
        for index in 0..<count {
            let place = base + offset + 2 + 12 * index
            guard let tag = number(at: place, length: 2),
                let type = number(at: place + 2, length: 2),
                let values = number(at: place + 4, length: 4),
                let offset = number(at: place + 8, length: 4)
            else { break }
            let length = values * (Self.valueLengths[type] ?? 0)
            let isInline = length <= 4
            entries[tag] = Entry(
                tag: tag, type: type, count: values,
                place: isInline ? place + 8 : base + offset)
        }
        return (entries, number(at: base + offset + 2 + 12 * count, length: 4) ?? 0)
    }

    /// The directory that an entry of another one names, or contains.
    func directory(_ entry: Entry?) -> Directory? {
        let isContained = entry?.type == 7
        let offset = isContained ? entry.map { $0.place - base } : number(entry)
        return offset.flatMap { directory(at: $0)?.entries }
    }

    /// All directories of pictures: those of the chain that begins the file, and their parts, in
    /// the order in which they are found.
    func directories() -> [Directory] {
        var found: [Directory] = []
        var visited: Set<Int> = []
        var offsets = number(at: base + 4, length: 4).map { [$0] } ?? []
        while let offset = offsets.popLast(), found.count < Self.mostDirectories {
            guard offset > 0, visited.insert(offset).inserted,
                let (entries, next) = directory(at: offset)
            else { continue }
            found.append(entries)
            offsets.append(next)
            offsets += numbers(entries[Tag.parts]).reversed()
        }
        return found
    }
}

extension TIFFReader {
    /// The tags that this module reads, of TIFF 6.0, TIFF/EP (ISO 12234-2), Exif 2.32 and DNG 1.6.
    enum Tag {
        static let width = 0x100
        static let height = 0x101
        static let compression = 0x103
        static let photometric = 0x106
        static let strips = 0x111
        static let orientation = 0x112
        static let stripLengths = 0x117
        /// SubIFDs.
        static let parts = 0x14A
        static let jpeg = 0x201
        static let jpegLength = 0x202
        static let xmp = 0x2BC
        static let exif = 0x8769
        static let gps = 0x8825
        static let taken = 0x9003
        static let makerNote = 0x927C
        static let colorSpace = 0xA001
        static let interoperability = 0xA005
        static let dngVersion = 0xC612
        static let previewColorSpace = 0xC71A
    }
}
#endif
