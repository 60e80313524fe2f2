#if PhotoImaging
/// Reads the lines of a `.cube` file.
///
/// The header has keywords, the table has a line with three numbers for each entry. A look of
/// DaVinci Resolve can have two tables, one after the other.
struct CubeReader {
    /// What the header says about a table.
    private struct Header {
        var size: Int?
        var range: [Float]?
    }

    private let bytes: [UInt8]
    private var position = 0
    /// The number of the current line, counted from 1.
    private var line = 0
    private var title: String?
    private var curves = Header()
    private var cube = Header()
    private var domainMinimum: [Float]?
    private var domainMaximum: [Float]?
    /// The number of entries of all tables; nil until the first entry.
    private var expected: Int?
    private var entries: [Float] = []

    /// The largest number that the format allows.
    private static let maximum: Float = 1e37

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        // A byte order mark.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    static func read(_ bytes: [UInt8]) throws(ImagingError) -> Look {
        var reader = CubeReader(bytes)
        guard bytes.count <= Look.maximumByteCount else {
            throw .invalidLook(
                line: 1, problem: "the file is larger than \(Look.maximumByteCount >> 20) MiB")
        }
        while let fields = reader.nextLine() { try reader.read(fields) }
        return try reader.finish()
    }

    private func problem(_ text: String) -> ImagingError {
        // An empty file has no line.
        .invalidLook(line: max(line, 1), problem: text)
    }

    // MARK: Lines

    /// The fields of the next line, but no more than five, and where the line ends; nil at the end
    /// of the file.
    private mutating func nextLine() -> (fields: [Range<Int>], end: Int)? {
        guard position < bytes.count else { return nil }
        line += 1
        var fields: [Range<Int>] = []
        var start: Int?
        while position < bytes.count {
            let byte = bytes[position]
            let isEnd = byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
            if isEnd || byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") {
                if let first = start, fields.count < 5 { fields.append(first..<position) }
                start = nil
                if isEnd { break }
            } else if start == nil {
                start = position
            }
            position += 1
        }
        let end = position
        if let first = start, fields.count < 5 { fields.append(first..<end) }
        if bytes[end...].starts(with: [UInt8(ascii: "\r"), UInt8(ascii: "\n")]) { position += 1 }
        position += 1
        return (fields, end)
    }

    private mutating func read(_ line: (fields: [Range<Int>], end: Int)) throws(ImagingError) {
        let fields = line.fields
        guard let first = fields.first, bytes[first.lowerBound] != UInt8(ascii: "#") else { return }
        if Self.beginsNumber(bytes[first.lowerBound]) {
            try readEntry(fields)
        } else {
            try readKeyword(fields, end: line.end)
        }
    }

    // MARK: Header

    private mutating func readKeyword(_ fields: [Range<Int>], end: Int) throws(ImagingError) {
        let name = text(fields[0])
        guard name.count <= 40, name.utf8.allSatisfy(Self.isInKeyword) else {
            throw problem("there is neither a keyword nor a number")
        }
        guard expected == nil else { throw problem("\(name) is in the table, not before it") }
        switch name.uppercased() {
        case "TITLE": try set(\.title, to: quotedText(from: fields[0].upperBound, to: end), name)
        case "LUT_1D_SIZE":
            try set(\.curves.size, to: size(fields, name, maximum: 65_536), name)
        case "LUT_3D_SIZE": try set(\.cube.size, to: size(fields, name, maximum: 256), name)
        case "LUT_1D_INPUT_RANGE": try set(\.curves.range, to: numbers(fields, name, 2), name)
        case "LUT_3D_INPUT_RANGE": try set(\.cube.range, to: numbers(fields, name, 2), name)
        case "DOMAIN_MIN": try set(\.domainMinimum, to: numbers(fields, name, 3), name)
        case "DOMAIN_MAX": try set(\.domainMaximum, to: numbers(fields, name, 3), name)
        default: throw problem("the keyword \(name) is not supported")
        }
    }

    private mutating func set<Value>(
        _ field: WritableKeyPath<CubeReader, Value?>, to value: Value, _ name: String
    ) throws(ImagingError) {
        guard self[keyPath: field] == nil else { throw problem("\(name) is given twice") }
        self[keyPath: field] = value
    }

    private func size(
        _ fields: [Range<Int>], _ name: String, maximum: Int
    ) throws(ImagingError) -> Int {
        guard fields.count == 2, bytes[fields[1]].allSatisfy({ (0x30...0x39).contains($0) }),
            let size = Int(text(fields[1])), (2...maximum).contains(size)
        else { throw problem("\(name) must be a whole number from 2 to \(maximum)") }
        return size
    }

    private func numbers(
        _ fields: [Range<Int>], _ name: String, _ count: Int
    ) throws(ImagingError) -> [Float] {
        guard fields.count == count + 1 else {
            throw problem("\(name) needs \(count) numbers")
        }
        var numbers: [Float] = []
        for field in fields.dropFirst() { numbers.append(try number(field)) }
        return numbers
    }

    /// The text between the first and the last quotation mark, or the whole text.
    private func quotedText(from start: Int, to end: Int) -> String {
        let rest = bytes[start..<end]
        let mark = UInt8(ascii: "\"")
        guard let first = rest.firstIndex(of: mark), let last = rest.lastIndex(of: mark),
            first < last
        else { return text(start..<end).split(separator: " ").joined(separator: " ") }
        return text(first + 1..<last)
    }

    // MARK: Table

    private mutating func readEntry(_ fields: [Range<Int>]) throws(ImagingError) {
        if expected == nil { expected = try countEntries() }
        let expected = expected ?? 0
        guard fields.count == 3 else { throw problem("an entry of the table has three numbers") }
        guard entries.count < 4 * expected else {
            throw problem("the table has more entries than the \(expected) of its size")
        }
        for field in fields { entries.append(try number(field)) }
        entries.append(0)
    }

    /// The number of entries of all tables, for which this method reserves memory.
    private mutating func countEntries() throws(ImagingError) -> Int {
        guard curves.size != nil || cube.size != nil else {
            throw problem("the table begins before LUT_1D_SIZE or LUT_3D_SIZE")
        }
        let side = cube.size ?? 0
        let count = (curves.size ?? 0) + side * side * side
        // An entry has at least six bytes, so the file limits the memory.
        entries.reserveCapacity(4 * min(count, bytes.count / 6 + 1))
        return count
    }

    private func finish() throws(ImagingError) -> Look {
        guard let expected else { throw problem("the file has no table") }
        guard entries.count == 4 * expected else {
            throw problem(
                "the table ends after \(entries.count / 4) of the \(expected) entries of its size")
        }
        let curveCount = 4 * (curves.size ?? 0)
        let curveTable = try table(curves, Array(entries[..<curveCount]), isFirst: true)
        let cubeTable = try table(
            cube, Array(entries[curveCount...]), isFirst: curves.size == nil)
        return Look(title: title, curves: curveTable, cube: cubeTable)
    }

    /// - Parameter isFirst: whether the domain of the file is the domain of this table.
    private func table(
        _ header: Header, _ entries: [Float], isFirst: Bool
    ) throws(ImagingError) -> Look.Table? {
        guard let size = header.size else { return nil }
        var (minimum, maximum): ([Float], [Float]) = ([0, 0, 0], [1, 1, 1])
        if let range = header.range {
            minimum = [range[0], range[0], range[0]]
            maximum = [range[1], range[1], range[1]]
        } else if isFirst {
            (minimum, maximum) = (domainMinimum ?? minimum, domainMaximum ?? maximum)
        }
        guard zip(minimum, maximum).allSatisfy(<) else {
            throw problem("the domain of the table ends where it begins, or before")
        }
        return Look.Table(size: size, entries: entries, minimum: minimum, maximum: maximum)
    }

    // MARK: Characters

    private func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    private func number(_ field: Range<Int>) throws(ImagingError) -> Float {
        guard field.count <= 60, bytes[field].allSatisfy(Self.isInNumber),
            let value = Float(text(field)), abs(value) <= Self.maximum
        else { throw problem("a number has the form 0.25 or 2.5e-1 and is at most 1e37") }
        return value
    }

    private static func beginsNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    private static func isInNumber(_ byte: UInt8) -> Bool {
        beginsNumber(byte) || byte | 0x20 == UInt8(ascii: "e")
    }

    private static func isInKeyword(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
#endif
