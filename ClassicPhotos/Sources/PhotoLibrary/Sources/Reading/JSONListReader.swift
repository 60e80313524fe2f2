@_spi(ClassicPhotos) import PhotoPipeline

/// Reads JSON (RFC 8259) into a ``ListValue``, and records the line of each entry and error.
struct JSONListReader {
    private var scanner: ListScanner

    init(_ bytes: [UInt8], limits: PhotoListLimits) {
        self.scanner = ListScanner(bytes, limits: limits)
    }

    mutating func read() throws(ListSyntaxError) -> ListValue {
        scanner.skipWhitespace()
        let value = try readValue(depth: 0)
        scanner.skipWhitespace()
        guard scanner.isAtEnd else {
            throw scanner.syntaxError(
                "found \(scanner.upcomingText) after the end of the list",
                expected: "the end of the file")
        }
        return value
    }

    private mutating func readValue(depth: Int) throws(ListSyntaxError) -> ListValue {
        try scanner.countValue()
        switch scanner.current {
        case UInt8(ascii: "{"): return try readDictionary(depth: depth)
        case UInt8(ascii: "["): return try readArray(depth: depth)
        case UInt8(ascii: "\""): return .text(try readText())
        case .some(let byte) where isNumberByte(byte): return try readNumber()
        case .some, .none: return try readWord()
        }
    }

    private mutating func readArray(depth: Int) throws(ListSyntaxError) -> ListValue {
        try scanner.checkDepth(depth)
        scanner.advance()
        scanner.skipWhitespace()
        var elements: [ListValue.Element] = []
        if scanner.skip("]") { return .array(elements) }
        while true {
            let line = scanner.line()
            let value = try readValue(depth: depth + 1)
            elements.append(.init(line: line, value: value))
            scanner.skipWhitespace()
            if scanner.skip("]") { return .array(elements) }
            guard scanner.skip(",") else {
                throw scanner.syntaxError(
                    "found \(scanner.upcomingText) after an element", expected: "\",\" or \"]\"")
            }
            scanner.skipWhitespace()
        }
    }

    private mutating func readDictionary(depth: Int) throws(ListSyntaxError) -> ListValue {
        try scanner.checkDepth(depth)
        scanner.advance()
        scanner.skipWhitespace()
        var members: [ListValue.Member] = []
        if scanner.skip("}") { return .dictionary(members) }
        while true {
            members.append(try readMember(depth: depth))
            scanner.skipWhitespace()
            if scanner.skip("}") { return .dictionary(members) }
            guard scanner.skip(",") else {
                throw scanner.syntaxError(
                    "found \(scanner.upcomingText) after an entry", expected: "\",\" or \"}\"")
            }
            scanner.skipWhitespace()
        }
    }

    private mutating func readMember(depth: Int) throws(ListSyntaxError) -> ListValue.Member {
        guard scanner.current == UInt8(ascii: "\"") else {
            throw scanner.syntaxError(
                "found \(scanner.upcomingText) in a dictionary",
                expected: "a key in quotation marks")
        }
        let line = scanner.line()
        let key = try readText()
        scanner.skipWhitespace()
        guard scanner.skip(":") else {
            throw scanner.syntaxError(
                "found \(scanner.upcomingText) after the key \(quoted(key))", expected: "\":\"")
        }
        scanner.skipWhitespace()
        return .init(key: key, line: line, value: try readValue(depth: depth + 1))
    }

    private mutating func readText() throws(ListSyntaxError) -> String {
        var start = scanner
        scanner.advance()
        var result: [UInt8] = []
        while true {
            result += scanner.take {
                $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") || $0 < 0x20
            }
            switch scanner.current {
            case UInt8(ascii: "\""):
                scanner.advance()
                return String(decoding: result, as: UTF8.self)
            case UInt8(ascii: "\\"):
                try readEscape(into: &result)
            case .some:
                throw scanner.syntaxError(
                    "a string contains a control character or a line break",
                    expected: "a closing quotation mark, or an escape such as \\n")
            case .none:
                throw start.syntaxError(
                    "this string is never closed", expected: "a closing quotation mark")
            }
        }
    }

    private mutating func readEscape(into result: inout [UInt8]) throws(ListSyntaxError) {
        var start = scanner
        scanner.advance()
        let letter = scanner.current
        if letter != nil { scanner.advance() }
        switch letter {
        case UInt8(ascii: "\""): result.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): result.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): result.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): result.append(0x08)
        case UInt8(ascii: "f"): result.append(0x0C)
        case UInt8(ascii: "n"): result.append(0x0A)
        case UInt8(ascii: "r"): result.append(0x0D)
        case UInt8(ascii: "t"): result.append(0x09)
        case UInt8(ascii: "u"):
            guard let scalar = readUnicodeEscape() else {
                throw start.syntaxError(
                    "a \\u escape is invalid",
                    expected: "four hexadecimal digits, or two escapes that form a surrogate pair")
            }
            result += Array(String(Character(scalar)).utf8)
        case .some, .none:
            throw start.syntaxError(
                "a string contains an unknown escape",
                expected: "\\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u"
            )
        }
    }

    private mutating func readUnicodeEscape() -> Unicode.Scalar? {
        guard let first = readFourDigits() else { return nil }
        guard (0xD800..<0xDC00).contains(first) else { return Unicode.Scalar(first) }
        guard scanner.skip("\\u"), let second = readFourDigits(),
            (0xDC00..<0xE000).contains(second)
        else { return nil }
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private mutating func readFourDigits() -> UInt32? {
        var number: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = scanner.current.flatMap(hexadecimalDigit) else { return nil }
            number = number << 4 | digit
            scanner.advance()
        }
        return number
    }

    private mutating func readNumber() throws(ListSyntaxError) -> ListValue {
        let text = scanner.take { !isNumberByte($0) && !isLetter($0) }
        // Lists of photos do not use numbers, so only the syntax is checked.
        guard Double(String(decoding: text, as: UTF8.self)) != nil else {
            throw scanner.syntaxError(
                "\(quoted(String(decoding: text, as: UTF8.self))) is not a number",
                expected: "a value")
        }
        return .other("a number")
    }

    private mutating func readWord() throws(ListSyntaxError) -> ListValue {
        if scanner.skip("true") || scanner.skip("false") { return .other("a Boolean value") }
        if scanner.skip("null") { return .other("null") }
        throw scanner.syntaxError(
            "found \(scanner.upcomingText)",
            expected: "a value: a string in quotation marks, [ or {")
    }
}

/// The value of a hexadecimal digit; `nil` for any other byte.
func hexadecimalDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
}

private func isNumberByte(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") || byte == UInt8(ascii: ".")
}

private func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
}
