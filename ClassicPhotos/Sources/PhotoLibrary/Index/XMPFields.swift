/// The fields of a packet of XMP (ISO 16684-1) by which people find their photos; nil for what the
/// packet does not say.
///
/// The texts come from a file: show them as text, never as markup.
struct XMPFields: Sendable, Hashable {
    /// `dc:title` in the language that the packet prefers.
    var title: String?
    /// `xmp:Rating`: 0 for none, 1 to 5 stars, or -1 for a rejected photo.
    var rating: Int?
    /// `dc:subject`.
    var keywords: [String]?

    static let longestPacket = 64 << 10
    static let longestTitle = 400
    static let longestKeyword = 100
    static let mostKeywords = 64

    init() {}

    /// Reads the first 64 KiB of a packet. What follows an error is left out.
    init(_ packet: [UInt8]) {
        var reader = XMPReader(packet)
        try? reader.read()
        self = reader.fields
    }
}

extension String {
    /// The text on one line and without control characters, at most a number of scalars long; nil
    /// if nothing is left.
    func tidied(_ limit: Int) -> String? {
        var line = String.UnicodeScalarView()
        var (count, hasSpace) = (0, false)
        for scalar in unicodeScalars {
            let isControl = scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
            if isControl || scalar.properties.isWhitespace {
                hasSpace = !line.isEmpty
                continue
            }
            guard count + (hasSpace ? 2 : 1) <= limit else { break }
            if hasSpace { line.append(" ") }
            line.append(scalar)
            count += hasSpace ? 2 : 1
            hasSpace = false
        }
        return line.isEmpty ? nil : String(line)
    }
}
