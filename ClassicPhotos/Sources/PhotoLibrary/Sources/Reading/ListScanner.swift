@_spi(ClassicPhotos) import PhotoPipeline

/// A scanner that moves forward through a text list byte by byte and can report its line.
///
/// The text must be valid UTF-8; the creator of the scanner checks that. Line numbers are computed
/// on demand, starting from the last computed line, so reading does not pay for them.
struct ListScanner {
    let bytes: [UInt8]
    let limits: PhotoListLimits
    private(set) var index = 0
    private var valueCount = 0
    private var countedLine = 1
    private var countedIndex = 0

    init(_ bytes: [UInt8], limits: PhotoListLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    var isAtEnd: Bool { index == bytes.count }

    /// The byte at the current position; `nil` at the end.
    var current: UInt8? { index < bytes.count ? bytes[index] : nil }

    /// The line of the current position, counted from 1.
    mutating func line() -> Int {
        while countedIndex < index {
            if bytes[countedIndex] == UInt8(ascii: "\n") { countedLine += 1 }
            countedIndex += 1
        }
        return countedLine
    }

    mutating func advance() { index += 1 }

    mutating func skipWhitespace() {
        while let byte = current, isListWhitespace(byte) { index += 1 }
    }

    /// Whether the text continues with the given bytes.
    func isAt(_ text: StaticString) -> Bool {
        bytes[index...].starts(
            with: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Skips the given text if the scanner is in front of it.
    mutating func skip(_ text: StaticString) -> Bool {
        guard isAt(text) else { return false }
        index += text.utf8CodeUnitCount
        return true
    }

    /// Skips everything up to and including the next occurrence of the text; returns `false`, at
    /// the end, if there is none.
    mutating func skipPast(_ text: StaticString) -> Bool {
        while !isAtEnd {
            if skip(text) { return true }
            index += 1
        }
        return false
    }

    /// Advances to the next byte that meets the condition, and returns the bytes before it.
    mutating func take(until condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = index
        while index < bytes.count, !condition(bytes[index]) { index += 1 }
        return bytes[start..<index]
    }

    /// A description of the text at the current position, for messages.
    var upcomingText: String {
        guard index < bytes.count else { return "the end of the file" }
        // Takes all bytes of one character, so that messages stay readable.
        let upcoming = String(decoding: bytes[index...].prefix(16), as: UTF8.self)
        return upcoming.first.map { quoted(String($0)) } ?? "the end of the file"
    }

    mutating func syntaxError(_ problem: String, expected: String) -> ListSyntaxError {
        ListSyntaxError(
            kind: .invalidSyntax, line: line(), problem: problem, advice: "expected \(expected)")
    }

    /// Counts one more value, and checks the limit.
    mutating func countValue() throws(ListSyntaxError) {
        valueCount += 1
        guard valueCount <= limits.values else { throw .tooManyValues(limits, line: line()) }
    }

    /// Checks that a container may be nested at the given depth.
    mutating func checkDepth(_ depth: Int) throws(ListSyntaxError) {
        guard depth < limits.depth else { throw .tooDeep(limits, line: line()) }
    }
}

extension ListSyntaxError {
    static func tooManyValues(_ limits: PhotoListLimits, line: Int?) -> ListSyntaxError {
        ListSyntaxError(
            kind: .tooLarge, line: line, problem: "the list has more than \(limits.values) values",
            advice: "split it into several lists")
    }

    static func tooDeep(_ limits: PhotoListLimits, line: Int?) -> ListSyntaxError {
        ListSyntaxError(
            kind: .tooLarge, line: line,
            problem: "the list is nested deeper than \(limits.depth) levels",
            advice: "a list of photos needs only two")
    }
}

/// Whether a byte is white space in JSON and XML: space, tab, line feed or carriage return.
func isListWhitespace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
}
