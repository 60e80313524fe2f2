/// Reads a binary property list ("bplist00") into a ``ListValue``.
///
/// The format, according to CoreFoundation's `CFBinaryPList.c`, has a header, objects, a table of
/// their offsets, and a trailer of 32 bytes. The trailer gives the position of the table and the
/// width of its numbers. Objects refer to each other by number, so an object may be used many times
/// or contain itself: a few hundred bytes can expand to billions of values. Depth, number of values
/// and bytes of text are therefore counted before any value is built (``BinaryListSurvey``).
struct BinaryListReader {
    private let file: BinaryListFile
    private let limits: PhotoListLimits

    init(_ bytes: [UInt8], limits: PhotoListLimits) throws(ListSyntaxError) {
        file = try BinaryListFile(bytes)
        self.limits = limits
    }

    func read() throws(ListSyntaxError) -> ListValue {
        var survey = BinaryListSurvey(of: file, limits: limits)
        try survey.check()
        return try readObject(file.top)
    }

    private func readObject(_ object: Int) throws(ListSyntaxError) -> ListValue {
        let start = try file.start(of: object)
        switch try file.kind(at: start) {
        case .other(let name): return .other(name)
        case .text: return .text(try readText(at: start))
        case .array: return try readArray(at: start)
        case .dictionary: return try readDictionary(at: start)
        }
    }

    private func readArray(at start: Int) throws(ListSyntaxError) -> ListValue {
        var elements: [ListValue.Element] = []
        for reference in try file.references(at: start) {
            elements.append(.init(line: nil, value: try readObject(try file.object(at: reference))))
        }
        return .array(elements)
    }

    private func readDictionary(at start: Int) throws(ListSyntaxError) -> ListValue {
        let references = Array(try file.references(at: start))
        let count = references.count / 2
        var members: [ListValue.Member] = []
        for index in 0..<count {
            guard case .text(let name) = try readObject(try file.object(at: references[index]))
            else {
                throw file.damaged("a dictionary has a key that is not a string")
            }
            let value = try readObject(try file.object(at: references[index + count]))
            members.append(.init(key: name, line: nil, value: value))
        }
        return .dictionary(members)
    }

    private func readText(at start: Int) throws(ListSyntaxError) -> String {
        let range = try file.text(at: start)
        guard file.isUTF16(at: start) else {
            return String(decoding: file.bytes[range], as: UTF8.self)
        }
        let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map { index in
            UInt16(file.bytes[index]) << 8 | UInt16(file.bytes[index + 1])
        }
        return String(decoding: units, as: UTF16.self)
    }
}
