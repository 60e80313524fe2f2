import PhotoPipeline

/// The layout of a binary property list; every returned position is checked to be inside the file.
struct BinaryListFile {
    enum Kind {
        case text
        case array
        case dictionary
        /// A value that lists of photos do not use, under its name in messages.
        case other(String)
    }

    let bytes: [UInt8]
    /// The number of the top object, which contains all other objects.
    let top: Int
    private let objectCount: Int
    private let offsetWidth: Int
    private let referenceWidth: Int
    private let tableStart: Int

    init(_ bytes: [UInt8]) throws(ListSyntaxError) {
        let trailerLength = 32
        let headerLength = 8
        guard bytes.count >= headerLength + trailerLength else {
            throw Self.damaged("it is truncated")
        }
        let trailer = bytes.count - trailerLength
        offsetWidth = Int(bytes[trailer + 6])
        referenceWidth = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetWidth), (1...8).contains(referenceWidth),
            let count = Self.number(in: bytes, at: trailer + 8, width: 8),
            let top = Self.number(in: bytes, at: trailer + 16, width: 8),
            let table = Self.number(in: bytes, at: trailer + 24, width: 8)
        else { throw Self.damaged("its trailer is invalid") }
        let tableLength = count.multipliedReportingOverflow(by: offsetWidth)
        guard table >= headerLength, table <= trailer, !tableLength.overflow,
            tableLength.partialValue <= trailer - table
        else { throw Self.damaged("its table of objects lies outside the file") }
        self.bytes = bytes
        self.top = top
        objectCount = count
        tableStart = table
    }

    /// The position of an object.
    func start(of object: Int) throws(ListSyntaxError) -> Int {
        guard object < objectCount,
            let start = number(at: tableStart + object * offsetWidth, width: offsetWidth),
            start < tableStart
        else { throw damaged("it refers to an object that does not exist") }
        return start
    }

    func kind(at start: Int) throws(ListSyntaxError) -> Kind {
        let marker = bytes[start]
        switch marker >> 4 {
        case 0x0: return .other(marker == 0x08 || marker == 0x09 ? "a Boolean value" : "null")
        case 0x1, 0x2: return .other("a number")
        case 0x3: return .other("a date")
        case 0x4: return .other("data")
        case 0x5, 0x6, 0x7: return .text
        case 0x8: return .other("an archive's identifier")
        case 0xA, 0xB, 0xC: return .array
        case 0xD: return .dictionary
        default: throw damaged("it has an object of unknown type")
        }
    }

    /// The positions of a container's references. A dictionary has all keys first, then all values.
    func references(at start: Int) throws(ListSyntaxError) -> StrideTo<Int> {
        let isDictionary = bytes[start] >> 4 == 0xD
        let range = try payload(
            at: start, itemWidth: isDictionary ? 2 * referenceWidth : referenceWidth)
        return stride(from: range.lowerBound, to: range.upperBound, by: referenceWidth)
    }

    /// The number of the object at a reference.
    func object(at reference: Int) throws(ListSyntaxError) -> Int {
        guard let object = number(at: reference, width: referenceWidth) else {
            throw damaged("it refers to an object that does not exist")
        }
        return object
    }

    /// The position of a text's characters.
    func text(at start: Int) throws(ListSyntaxError) -> Range<Int> {
        try payload(at: start, itemWidth: isUTF16(at: start) ? 2 : 1)
    }

    func isUTF16(at start: Int) -> Bool { bytes[start] >> 4 == 0x6 }

    private func payload(at start: Int, itemWidth: Int) throws(ListSyntaxError) -> Range<Int> {
        var first = start + 1
        var count = Int(bytes[start] & 0x0F)
        if count == 0x0F {
            // A count of fifteen or more is stored as an integer object after this byte.
            guard first < tableStart, bytes[first] >> 4 == 0x1, bytes[first] & 0x0F <= 3,
                let long = number(at: first + 1, width: 1 << Int(bytes[first] & 0x0F))
            else { throw damaged("the length of an object is invalid") }
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

    private func number(at position: Int, width: Int) -> Int? {
        Self.number(in: bytes, at: position, width: width)
    }

    /// A big-endian number; `nil` if it lies outside the file or exceeds the range of Int.
    private static func number(in bytes: [UInt8], at position: Int, width: Int) -> Int? {
        guard position >= 0, position <= bytes.count - width else { return nil }
        var result: UInt64 = 0
        for byte in bytes[position..<(position + width)] { result = result << 8 | UInt64(byte) }
        return Int(exactly: result)
    }

    func damaged(_ detail: String) -> ListSyntaxError { Self.damaged(detail) }

    private static func damaged(_ detail: String) -> ListSyntaxError {
        ListSyntaxError(
            kind: .invalidSyntax, line: nil,
            problem: "the binary property list is damaged: \(detail)",
            advice: "create it again, or save it as XML")
    }
}
