/// Reads a binary property list ("bplist00") into a ``ListValue``.
///
/// The format, as CoreFoundation's `CFBinaryPList.c` describes it: a header, objects, a table of
/// their offsets, and a trailer of 32 bytes that says where the table is and how wide its numbers
/// are. Objects refer to each other by number, so that one may be used many times, or contain
/// itself; depth, number of values and bytes of text are therefore counted as they are read.
struct BinaryListReader {
    private let bytes: [UInt8]
    private let limits: PhotoListLimits
    private var objectCount = 0
    private var offsetWidth = 0
    private var referenceWidth = 0
    private var tableStart = 0
    private var valueCount = 0
    private var textByteCount = 0

    init(_ bytes: [UInt8], limits: PhotoListLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func read() throws(ListSyntaxError) -> ListValue {
        let trailerLength = 32
        let headerLength = 8
        guard bytes.count >= headerLength + trailerLength else { throw damaged("it is cut off") }
        let trailer = bytes.count - trailerLength
        offsetWidth = Int(bytes[trailer + 6])
        referenceWidth = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetWidth), (1...8).contains(referenceWidth),
            let count = number(at: trailer + 8, width: 8),
            let top = number(at: trailer + 16, width: 8),
            let table = number(at: trailer + 24, width: 8)
        else { throw damaged("its trailer makes no sense") }
        let tableLength = count.multipliedReportingOverflow(by: offsetWidth)
        guard table >= headerLength, table <= trailer, !tableLength.overflow,
            tableLength.partialValue <= trailer - table
        else { throw damaged("its table of objects lies outside the file") }
        objectCount = count
        tableStart = table
        return try readObject(top, depth: 0)
    }

    private mutating func readObject(_ object: Int, depth: Int) throws(ListSyntaxError) -> ListValue
    {
        valueCount += 1
        guard valueCount <= limits.values else { throw .tooManyValues(limits, line: nil) }
        guard object < objectCount,
            let start = number(at: tableStart + object * offsetWidth, width: offsetWidth),
            start < tableStart
        else { throw damaged("it refers to an object that does not exist") }
        let marker = bytes[start]
        switch marker >> 4 {
        case 0x0: return .other(marker == 0x08 || marker == 0x09 ? "true or false" : "null")
        case 0x1, 0x2: return .other("a number")
        case 0x3: return .other("a date")
        case 0x4: return .other("data")
        case 0x5, 0x6, 0x7: return .text(try readText(at: start))
        case 0x8: return .other("an archive's identifier")
        case 0xA, 0xB, 0xC: return try readArray(at: start, depth: depth)
        case 0xD: return try readDictionary(at: start, depth: depth)
        default: throw damaged("it has an object of unknown type")
        }
    }

    private mutating func readArray(at start: Int, depth: Int) throws(ListSyntaxError) -> ListValue
    {
        let references = try payload(at: start, itemWidth: referenceWidth)
        guard depth < limits.depth else { throw .tooDeep(limits, line: nil) }
        var elements: [ListValue.Element] = []
        for reference in stride(
            from: references.lowerBound, to: references.upperBound, by: referenceWidth)
        {
            let value = try readReferenced(reference, depth: depth)
            elements.append(.init(line: nil, value: value))
        }
        return .array(elements)
    }

    private mutating func readDictionary(
        at start: Int, depth: Int
    ) throws(ListSyntaxError) -> ListValue {
        let references = try payload(at: start, itemWidth: 2 * referenceWidth)
        let half = references.count / 2
        guard depth < limits.depth else { throw .tooDeep(limits, line: nil) }
        var members: [ListValue.Member] = []
        for key in stride(
            from: references.lowerBound, to: references.lowerBound + half, by: referenceWidth)
        {
            guard case .text(let name) = try readReferenced(key, depth: depth) else {
                throw damaged("a dictionary has a key that is no text")
            }
            let value = try readReferenced(key + half, depth: depth)
            members.append(.init(key: name, line: nil, value: value))
        }
        return .dictionary(members)
    }

    private mutating func readReferenced(
        _ position: Int, depth: Int
    ) throws(ListSyntaxError) -> ListValue {
        guard let object = number(at: position, width: referenceWidth) else {
            throw damaged("it refers to an object that does not exist")
        }
        return try readObject(object, depth: depth + 1)
    }

    private mutating func readText(at start: Int) throws(ListSyntaxError) -> String {
        let isUTF16 = bytes[start] >> 4 == 0x6
        let range = try payload(at: start, itemWidth: isUTF16 ? 2 : 1)
        textByteCount += range.count
        // Twice, because a name that many entries share is written once.
        guard textByteCount <= limits.bytes.multipliedReportingOverflow(by: 2).partialValue else {
            throw ListSyntaxError(
                kind: .tooLarge, line: nil, problem: "the list has too much text",
                advice: "split it into several lists")
        }
        guard isUTF16 else { return String(decoding: bytes[range], as: UTF8.self) }
        let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map { index in
            UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1])
        }
        return String(decoding: units, as: UTF16.self)
    }

    /// Where the items of an object lie, checked to be inside the file.
    private func payload(at start: Int, itemWidth: Int) throws(ListSyntaxError) -> Range<Int> {
        var first = start + 1
        var count = Int(bytes[start] & 0x0F)
        if count == 0x0F {
            // Fifteen or more: a whole number follows, which is an object of its own.
            guard first < tableStart, bytes[first] >> 4 == 0x1, bytes[first] & 0x0F <= 3,
                let long = number(at: first + 1, width: 1 << Int(bytes[first] & 0x0F))
            else { throw damaged("the length of an object makes no sense") }
            first += 1 + 1 << Int(bytes[first] & 0x0F)
            count = long
        }
        let length = count.multipliedReportingOverflow(by: itemWidth)
        guard !length.overflow, first <= tableStart, length.partialValue <= tableStart - first
        else {
            throw damaged("an object is longer than the file")
        }
        return first..<(first + length.partialValue)
    }

    /// A big-endian number; `nil` if it lies outside the file or is beyond what can be counted.
    private func number(at position: Int, width: Int) -> Int? {
        guard position >= 0, position <= bytes.count - width else { return nil }
        var result: UInt64 = 0
        for byte in bytes[position..<(position + width)] { result = result << 8 | UInt64(byte) }
        return Int(exactly: result)
    }

    private func damaged(_ detail: String) -> ListSyntaxError {
        ListSyntaxError(
            kind: .invalidSyntax, line: nil,
            problem: "the binary property list is damaged: \(detail)",
            advice: "make it anew, or save it as XML")
    }
}
