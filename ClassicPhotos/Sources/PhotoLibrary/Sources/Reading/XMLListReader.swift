@_spi(ClassicPhotos) import PhotoPipeline

/// Reads an XML property list into a ``ListValue``, and records the line of each entry and error.
///
/// Only the elements of property lists are supported; ``XMPReader`` takes the tags and texts of
/// other elements. A document type is skipped and never fetched.
/// A document type that declares entities is rejected, so that a list can neither include external
/// files nor expand without bound.
struct XMLListReader {
    var scanner: ListScanner

    init(_ bytes: [UInt8], limits: PhotoListLimits) {
        self.scanner = ListScanner(bytes, limits: limits)
    }

    mutating func read() throws(ListSyntaxError) -> ListValue {
        try skipProlog()
        guard let root = try readTag(), root.name == "plist", root.form != .closing else {
            throw scanner.syntaxError("this is not a property list", expected: "<plist>")
        }
        guard root.form == .opening, let tag = try nextTag(), tag.form != .closing else {
            throw scanner.syntaxError("the property list is empty", expected: "<dict> or <array>")
        }
        let value = try readValue(tag, depth: 0)
        try expectClosing("plist")
        try skipBetweenTags()
        guard scanner.isAtEnd else {
            throw scanner.syntaxError(
                "found \(scanner.upcomingText) after </plist>", expected: "the end of the file")
        }
        return value
    }

    // MARK: Values

    private mutating func readValue(_ tag: Tag, depth: Int) throws(ListSyntaxError) -> ListValue {
        try scanner.countValue()
        switch tag.name {
        case "string":
            return .text(try readText(of: tag))
        case "array":
            return try readArray(tag, depth: depth)
        case "dict":
            return try readDictionary(tag, depth: depth)
        case "integer", "real":
            _ = try readText(of: tag)
            return .other("a number")
        case "date":
            _ = try readText(of: tag)
            return .other("a date")
        case "data":
            _ = try readText(of: tag)
            return .other("data")
        case "true", "false":
            if tag.form == .opening { try expectClosing(tag.name) }
            return .other("a Boolean value")
        case "key":
            throw error(
                at: tag, "found <key> in place of a value",
                expected: "<string>, <dict> or <array>")
        default:
            throw error(
                at: tag, "unknown element <\(tag.name)>",
                expected: "<string>, <dict> or <array>")
        }
    }

    private mutating func readArray(_ opening: Tag, depth: Int) throws(ListSyntaxError) -> ListValue
    {
        try scanner.checkDepth(depth)
        var elements: [ListValue.Element] = []
        guard opening.form == .opening else { return .array(elements) }
        while let tag = try nextTag() {
            if tag.form == .closing {
                try check(tag, closes: opening)
                return .array(elements)
            }
            let value = try readValue(tag, depth: depth + 1)
            elements.append(.init(line: tag.line, value: value))
        }
        throw neverClosed(opening)
    }

    private mutating func readDictionary(
        _ opening: Tag, depth: Int
    ) throws(ListSyntaxError) -> ListValue {
        try scanner.checkDepth(depth)
        var members: [ListValue.Member] = []
        guard opening.form == .opening else { return .dictionary(members) }
        while let tag = try nextTag() {
            if tag.form == .closing {
                try check(tag, closes: opening)
                return .dictionary(members)
            }
            guard tag.name == "key" else {
                throw error(
                    at: tag, "found <\(tag.name)> in place of a key",
                    expected: "<key> before each value")
            }
            let key = try readText(of: tag)
            guard let valueTag = try nextTag() else { throw neverClosed(opening) }
            guard valueTag.form != .closing else {
                throw error(
                    at: valueTag, "the key \(quoted(key)) has no value",
                    expected: "<string> after each <key>")
            }
            let value = try readValue(valueTag, depth: depth + 1)
            members.append(.init(key: key, line: tag.line, value: value))
        }
        throw neverClosed(opening)
    }

    // MARK: Text

    /// Reads the text between a tag and its end tag.
    mutating func readText(of opening: Tag) throws(ListSyntaxError) -> String {
        guard opening.form == .opening else { return "" }
        var result: [UInt8] = []
        while true {
            result += scanner.take { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&") }
            if scanner.isAtEnd {
                throw neverClosed(opening)
            } else if scanner.current == UInt8(ascii: "&") {
                try readReference(into: &result)
            } else if scanner.isAt("<![CDATA[") {
                try readCharacterData(into: &result)
            } else if scanner.isAt("<!--") {
                try skipComment()
            } else if let tag = try readTag() {
                guard tag.form == .closing else {
                    throw error(
                        at: tag, "found <\(tag.name)> inside <\(opening.name)>",
                        expected: "text, then </\(opening.name)>")
                }
                try check(tag, closes: opening)
                return String(decoding: result, as: UTF8.self)
            }
        }
    }

    private mutating func readCharacterData(into result: inout [UInt8]) throws(ListSyntaxError) {
        var start = scanner
        _ = scanner.skip("<![CDATA[")
        let first = scanner.index
        guard scanner.skipPast("]]>") else {
            throw start.syntaxError("this CDATA section is never closed", expected: "]]>")
        }
        result += scanner.bytes[first..<(scanner.index - 3)]
    }

    private mutating func readReference(into result: inout [UInt8]) throws(ListSyntaxError) {
        var start = scanner
        scanner.advance()
        let name = String(decoding: scanner.take { !isReferenceByte($0) }, as: UTF8.self)
        guard scanner.skip(";"), let scalar = scalar(forReference: name) else {
            throw start.syntaxError(
                "invalid character reference \(quoted("&" + name))",
                expected: "&amp; for an ampersand, &lt; &gt; &quot; &apos; or &#…;")
        }
        result += Array(String(Character(scalar)).utf8)
    }

    private func scalar(forReference name: String) -> Unicode.Scalar? {
        switch name {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        case _ where name.hasPrefix("#x"):
            UInt32(name.dropFirst(2), radix: 16).flatMap { .init($0) }
        case _ where name.hasPrefix("#"): UInt32(name.dropFirst(1)).flatMap { .init($0) }
        default: nil
        }
    }
}

/// Whether a byte may occur between & and ; in a reference: letters, digits and #.
private func isReferenceByte(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "#")
}
