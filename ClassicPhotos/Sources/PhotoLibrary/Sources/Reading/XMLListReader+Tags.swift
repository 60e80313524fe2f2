import PhotoPipeline

// Reads the tags of an XML property list, and the text around its values.
extension XMLListReader {
    struct Tag {
        enum Form { case opening, closing, empty }
        let name: String
        let form: Form
        let line: Int
        /// The text after the name, in which a quoted value may contain any character.
        var attributeText: ArraySlice<UInt8> = []
    }

    /// Reads the next tag after white space and comments; `nil` at the end.
    mutating func nextTag() throws(ListSyntaxError) -> Tag? {
        try skipBetweenTags()
        return try readTag()
    }

    /// Reads the tag at the current position; `nil` at the end.
    mutating func readTag() throws(ListSyntaxError) -> Tag? {
        if scanner.isAtEnd { return nil }
        let line = scanner.line()
        var start = scanner
        guard scanner.skip("<") else {
            throw scanner.syntaxError(
                "found \(scanner.upcomingText) between the tags", expected: "a tag")
        }
        let isClosing = scanner.skip("/")
        let name = scanner.take {
            isListWhitespace($0) || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: ">")
                || $0 == UInt8(ascii: "<")
        }
        let attributes = takeAttributes()
        let isEmpty = attributes.last == UInt8(ascii: "/")
        guard scanner.skip(">") else {
            throw start.syntaxError("this tag is never closed", expected: "\">\"")
        }
        return Tag(
            name: String(decoding: name, as: UTF8.self),
            form: isClosing ? .closing : (isEmpty ? .empty : .opening), line: line,
            attributeText: attributes)
    }

    private mutating func takeAttributes() -> ArraySlice<UInt8> {
        let first = scanner.index
        while true {
            _ = scanner.take {
                $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "\"")
                    || $0 == UInt8(ascii: "'")
            }
            guard let quote = scanner.current,
                quote == UInt8(ascii: "\"")
                    || quote == UInt8(ascii: "'")
            else { return scanner.bytes[first..<scanner.index] }
            scanner.advance()
            _ = scanner.take { $0 == quote }
            if !scanner.isAtEnd { scanner.advance() }
        }
    }

    mutating func expectClosing(_ name: String) throws(ListSyntaxError) {
        let line = scanner.line()
        let opening = Tag(name: name, form: .opening, line: line)
        guard let tag = try nextTag() else { throw neverClosed(opening) }
        try check(tag, closes: opening)
    }

    mutating func check(_ tag: Tag, closes opening: Tag) throws(ListSyntaxError) {
        guard tag.form == .closing, tag.name == opening.name else {
            let slash = tag.form == .closing ? "/" : ""
            throw error(
                at: tag, "found <\(slash)\(tag.name)>",
                expected: "</\(opening.name)> for the <\(opening.name)> of line \(opening.line)")
        }
    }

    mutating func neverClosed(_ opening: Tag) -> ListSyntaxError {
        error(
            at: opening, "this <\(opening.name)> is never closed",
            expected: "</\(opening.name)>")
    }

    func error(at tag: Tag, _ problem: String, expected: String) -> ListSyntaxError {
        ListSyntaxError(
            kind: .invalidSyntax, line: tag.line, problem: problem, advice: "expected \(expected)")
    }

    // MARK: Text around the values

    mutating func skipBetweenTags() throws(ListSyntaxError) {
        scanner.skipWhitespace()
        while scanner.isAt("<!--") {
            try skipComment()
            scanner.skipWhitespace()
        }
    }

    mutating func skipComment() throws(ListSyntaxError) {
        var start = scanner
        _ = scanner.skip("<!--")
        guard scanner.skipPast("-->") else {
            throw start.syntaxError("this comment is never closed", expected: "-->")
        }
    }

    mutating func skipProlog() throws(ListSyntaxError) {
        try skipBetweenTags()
        if scanner.isAt("<?xml") { try skipDeclaration() }
        try skipBetweenTags()
        if scanner.isAt("<!DOCTYPE") { try skipDocumentType() }
        try skipBetweenTags()
    }

    mutating func skipDeclaration() throws(ListSyntaxError) {
        var start = scanner
        let first = scanner.index
        guard scanner.skipPast("?>") else {
            throw start.syntaxError("this <?xml declaration is never closed", expected: "?>")
        }
        let text = String(decoding: scanner.bytes[first..<scanner.index], as: UTF8.self)
            .lowercased()
        let declaresEncoding = text.contains("encoding")
        guard !declaresEncoding || text.contains("utf-8") || text.contains("us-ascii") else {
            throw start.syntaxError(
                "the property list declares an encoding other than UTF-8", expected: "UTF-8")
        }
    }

    mutating func skipDocumentType() throws(ListSyntaxError) {
        var start = scanner
        _ = scanner.take { $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "[") }
        guard scanner.skip(">") else {
            throw start.syntaxError(
                "the document type declares entities, which are not supported",
                expected: "a document type without [ ]")
        }
    }
}

extension XMLListReader.Tag {
    /// The names and the values of the attributes. References to characters are left as they are.
    var attributes: [(name: String, value: String)] {
        var result: [(name: String, value: String)] = []
        var rest = attributeText
        while let equals = rest.firstIndex(of: UInt8(ascii: "=")) {
            let name = rest[..<equals].drop(while: isListWhitespace)
            rest = rest[(equals + 1)...].drop(while: isListWhitespace)
            guard let quote = rest.first,
                quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
                let end = rest.dropFirst().firstIndex(of: quote)
            else { return result }
            let value = rest[(rest.startIndex + 1)..<end]
            rest = rest[(end + 1)...]
            let first = name.firstIndex(where: isListWhitespace) ?? name.endIndex
            result.append(
                (
                    String(decoding: name[..<first], as: UTF8.self),
                    String(decoding: value, as: UTF8.self)
                ))
        }
        return result
    }
}
