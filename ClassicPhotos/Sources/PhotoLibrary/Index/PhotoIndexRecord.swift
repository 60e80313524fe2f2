import PhotoImaging
@_spi(ClassicPhotos) import PhotoPipeline

/// What an index says of one file, as a record of a ``PhotoIndexFile``. The page
/// <doc:PhotoIndexFile> describes the bytes.
struct PhotoIndexRecord: Sendable, Hashable {
    var key: PhotoFileKey
    /// The version of the sidecars that the facts are from; 0 without sidecars.
    var sidecars: UInt64
    /// The day on which the record was last used, in days since the beginning of 1970.
    var day: UInt32
    /// The facts, without what decoding has found.
    var facts: PhotoFacts

    /// The first byte of a record. A record with another one is left out, so that later versions of
    /// the program may add records.
    private static let kind: UInt8 = 1
    /// The longest side of a picture in pixels, more than any format can have.
    private static let longestSide: UInt32 = 100_000_000
    /// The longest text in bytes.
    private static let longestText = 4 * max(XMPFields.longestTitle, 200)

    private struct Parts: OptionSet {
        let rawValue: UInt8
        static let size = Parts(rawValue: 1)
        static let taken = Parts(rawValue: 2)
        static let offset = Parts(rawValue: 4)
        static let rating = Parts(rawValue: 8)
        static let placeholder = Parts(rawValue: 16)
    }

    init(key: PhotoFileKey, sidecars: UInt64, day: UInt32, facts: PhotoFacts) {
        (self.key, self.sidecars, self.day, self.facts) = (key, sidecars, day, facts)
    }

    /// The bytes of the record.
    var bytes: [UInt8] {
        var bytes = RecordWriter()
        bytes.put(Self.kind)
        bytes.put(key.place.device)
        bytes.put(key.place.inode)
        bytes.put(Int64(key.byteCount))
        bytes.put(Int64(key.modified.seconds))
        bytes.put(UInt32(truncatingIfNeeded: key.modified.nanoseconds))
        bytes.put(sidecars)
        bytes.put(day)
        bytes.put(parts.rawValue)
        bytes.put(UInt8(clamping: facts.orientation))
        if let size = facts.size {
            bytes.put(UInt32(clamping: size.width))
            bytes.put(UInt32(clamping: size.height))
        }
        if let taken = facts.taken { bytes.put(Int64(taken.seconds)) }
        if let offset = facts.taken?.offset { bytes.put(Int16(clamping: offset)) }
        if let rating = facts.rating { bytes.put(Int8(clamping: rating)) }
        for cell in facts.placeholder?.cells ?? [] { bytes.put(cell) }
        bytes.put(facts.camera ?? "", Self.longestText)
        bytes.put(facts.title ?? "", Self.longestText)
        let keywords = facts.keywords.prefix(XMPFields.mostKeywords)
        bytes.put(UInt8(keywords.count))
        for keyword in keywords { bytes.put(keyword, Self.longestText) }
        return bytes.bytes
    }

    private var parts: Parts {
        var parts: Parts = []
        if facts.size != nil { parts.insert(.size) }
        if facts.taken != nil { parts.insert(.taken) }
        if facts.taken?.offset != nil { parts.insert(.offset) }
        if facts.rating != nil { parts.insert(.rating) }
        if facts.placeholder != nil { parts.insert(.placeholder) }
        return parts
    }

    /// The file and the day of a record; nil for other bytes than those of a record.
    static func header(of bytes: ArraySlice<UInt8>) -> (key: PhotoFileKey, day: UInt32)? {
        var reader = RecordReader(bytes)
        return header(&reader).map { ($0.key, $0.day) }
    }

    private static func header(
        _ reader: inout RecordReader
    ) -> (key: PhotoFileKey, sidecars: UInt64, day: UInt32)? {
        guard reader.take(UInt8.self) == kind,
            let device = reader.take(UInt64.self), let inode = reader.take(UInt64.self),
            let byteCount = reader.take(Int64.self), byteCount >= 0,
            let seconds = reader.take(Int64.self), let nanoseconds = reader.take(UInt32.self),
            let sidecars = reader.take(UInt64.self), let day = reader.take(UInt32.self)
        else { return nil }
        let key = PhotoFileKey(
            place: .init(device: device, inode: inode), byteCount: Int(byteCount),
            modified: FileTime(seconds: Int(seconds), nanoseconds: Int(nanoseconds)))
        return (key, sidecars, day)
    }

    /// Reads a record; nil for other bytes than those of a record.
    init?(_ bytes: ArraySlice<UInt8>) {
        var reader = RecordReader(bytes)
        guard let (key, sidecars, day) = Self.header(&reader),
            let facts = Self.facts(&reader), reader.isAtEnd
        else { return nil }
        self.init(key: key, sidecars: sidecars, day: day, facts: facts)
        self.facts.byteCount = key.byteCount
    }

    private static func facts(_ reader: inout RecordReader) -> PhotoFacts? {
        guard let parts = reader.take(UInt8.self).map(Parts.init),
            let orientation = reader.take(UInt8.self), (1...8).contains(orientation)
        else { return nil }
        var facts = PhotoFacts()
        facts.orientation = Int(orientation)
        if parts.contains(.size) {
            guard let width = reader.take(UInt32.self), let height = reader.take(UInt32.self),
                (1...longestSide).contains(width), (1...longestSide).contains(height)
            else { return nil }
            facts.size = PixelSize(width: Int(width), height: Int(height))
        }
        if parts.contains(.taken) {
            facts.taken = reader.take(Int64.self).map { PhotoTime(seconds: Int($0)) }
        }
        if parts.contains(.offset) { facts.taken?.offset = reader.take(Int16.self).map { Int($0) } }
        if parts.contains(.rating) { facts.rating = reader.take(Int8.self).map { Int($0) } }
        if parts.contains(.placeholder) {
            let cells = (0..<PhotoPlaceholder.count).compactMap { _ in reader.take(UInt16.self) }
            facts.placeholder = PhotoPlaceholder(cells: cells)
        }
        guard let camera = reader.text(longestText), let title = reader.text(longestText),
            let count = reader.take(UInt8.self), count <= XMPFields.mostKeywords
        else { return nil }
        if !camera.isEmpty { facts.camera = camera }
        if !title.isEmpty { facts.title = title }
        for _ in 0..<count {
            guard let keyword = reader.text(longestText) else { return nil }
            facts.keywords.append(keyword)
        }
        return facts
    }
}

/// Writes numbers with the least significant byte first, and texts after their lengths.
struct RecordWriter {
    private(set) var bytes: [UInt8] = []

    mutating func put(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// Adds the longest beginning of a text that has at most a number of bytes.
    mutating func put(_ text: String, _ limit: Int) {
        var rest = Substring(text)
        while rest.utf8.count > limit { rest = rest.dropLast() }
        put(UInt16(rest.utf8.count))
        bytes.append(contentsOf: rest.utf8)
    }
}

/// Reads what a ``RecordWriter`` has written.
struct RecordReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    /// The next number; nil if there are too few bytes.
    mutating func take<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        let count = MemoryLayout<Number>.size
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(as: Number.self)) }
    }

    /// The next text of at most a number of bytes; nil if there are too few bytes, or if they are
    /// not UTF-8.
    mutating func text(_ limit: Int) -> String? {
        guard let count = take(UInt16.self), count <= limit, rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return String(validating: rest.prefix(Int(count)), as: UTF8.self)
    }
}
