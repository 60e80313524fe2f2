/// Reads ``XMPFields``, with the XML reader of property lists.
///
/// Anybody may have written the packet, so the reader does not nest, reads a limited number of
/// bytes, and stops at a document type: no entity is ever expanded or fetched. A prefix stands for
/// the namespace that the packet gives it last; without a declaration, the usual prefixes have
/// their usual meaning.
struct XMPReader {
    private enum Namespace { case dublinCore, xmp, rdf }
    private enum Property { case title, keywords }

    private(set) var fields = XMPFields()
    private var xml: XMLListReader
    private var namespaces: [String: Namespace] = [
        "dc": .dublinCore, "xmp": .xmp, "xap": .xmp, "rdf": .rdf,
    ]
    /// The property whose values follow.
    private var property: Property?
    private var hasPreferredTitle = false

    private static let addresses: [String: Namespace] = [
        "http://purl.org/dc/elements/1.1/": .dublinCore, "http://ns.adobe.com/xap/1.0/": .xmp,
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#": .rdf,
    ]

    init(_ packet: [UInt8]) {
        xml = XMLListReader(
            Array(packet.prefix(XMPFields.longestPacket)), limits: .standard)
    }

    /// Reads all tags; throws at the first error, after which the fields are those read until then.
    mutating func read() throws(ListSyntaxError) {
        while try skipToTag(), let tag = try xml.readTag() { try read(tag) }
    }

    private mutating func skipToTag() throws(ListSyntaxError) -> Bool {
        while true {
            _ = xml.scanner.take { $0 == UInt8(ascii: "<") }
            if xml.scanner.isAtEnd { return false }
            if xml.scanner.isAt("<!--") {
                try xml.skipComment()
            } else if xml.scanner.isAt("<?") {
                _ = xml.scanner.skipPast("?>")
            } else if xml.scanner.isAt("<![CDATA[") {
                _ = xml.scanner.skipPast("]]>")
            } else if xml.scanner.isAt("<!") {
                throw xml.scanner.syntaxError("a packet has no declarations", expected: "a tag")
            } else {
                return true
            }
        }
    }

    private mutating func read(_ tag: XMLListReader.Tag) throws(ListSyntaxError) {
        let attributes = tag.form == .closing ? [] : tag.attributes
        for (name, value) in attributes where name.hasPrefix("xmlns:") {
            namespaces[String(name.dropFirst(6))] = Self.addresses[value]
        }
        guard let (namespace, name) = resolve(tag.name) else { return }
        switch (namespace, name) {
        case (.dublinCore, "title"): begin(.title, tag)
        case (.dublinCore, "subject"): begin(.keywords, tag)
        case (.rdf, "li") where property != nil && tag.form == .opening:
            let language = attributes.first { $0.name == "xml:lang" }?.value
            add(try xml.readText(of: tag), in: language)
        case (.rdf, "Description"):
            for (name, value) in attributes {
                if case (.xmp, "Rating")? = resolve(name) { setRating(value) }
            }
        case (.xmp, "Rating") where tag.form == .opening:
            setRating(try xml.readText(of: tag))
        default: break
        }
    }

    private mutating func begin(_ property: Property, _ tag: XMLListReader.Tag) {
        self.property = tag.form == .opening ? property : nil
        if property == .keywords, tag.form != .closing, fields.keywords == nil {
            fields.keywords = []
        }
    }

    private mutating func add(_ text: String, in language: String?) {
        switch property {
        case .title:
            let isPreferred = language == "x-default"
            guard fields.title == nil || isPreferred && !hasPreferredTitle,
                let title = text.tidied(XMPFields.longestTitle)
            else { return }
            fields.title = title
            hasPreferredTitle = isPreferred
        case .keywords:
            guard let keyword = text.tidied(XMPFields.longestKeyword),
                let keywords = fields.keywords, keywords.count < XMPFields.mostKeywords,
                !keywords.contains(keyword)
            else { return }
            fields.keywords?.append(keyword)
        case nil: return
        }
    }

    /// Programs write whole numbers, with or without a decimal point.
    private mutating func setRating(_ text: String) {
        guard let number = text.tidied(20).flatMap(Double.init), (-1...5).contains(number) else {
            return
        }
        fields.rating = Int(number.rounded())
    }

    private func resolve(_ name: String) -> (Namespace, String)? {
        guard let colon = name.utf8.firstIndex(of: UInt8(ascii: ":")),
            let namespace = namespaces[String(name[..<colon])]
        else { return nil }
        return (namespace, String(name[name.utf8.index(after: colon)...]))
    }
}
