#if PhotoPipeline
// Reads the tags of an XML property list, and the text around its values.
extension XMLListReader {
    struct Tag {
        enum Form { case opening, closing, empty }
        let name: String
        let form: Form
        let line: Int
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
        // Attributes have no meaning in a property list.
        _ = scanner.take { $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "<") }
        let isEmpty = scanner.index > 0 && scanner.bytes[scanner.index - 1] == UInt8(ascii: "/")
        guard scanner.skip(">") else {
            throw start.syntaxError("this tag is never closed", expected: "\">\"")
        }
        return Tag(
            name: String(decoding: name, as: UTF8.self),
            form: isClosing ? .closing : (isEmpty ? .empty : .opening), line: line)
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
#endif
