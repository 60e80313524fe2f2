#if PhotoImaging
extension ImageFormat {
    /// The name of a picture format that could be read only with a decoder that is not safe; nil
    /// for all other bytes.
    static func unsafeFormat(of bytes: [UInt8]) -> String? {
        if bytes.starts(with: "BM".utf8) { return "a BMP picture" }
        if bytes.starts(with: [0xFF, 0x0A]) { return "a JPEG XL picture" }
        if bytes.starts(with: [0, 0, 0, 12, 0x4A, 0x58, 0x4C, 0x20]) { return "a JPEG XL picture" }
        if bytes.starts(with: [0, 0, 0, 12, 0x6A, 0x50, 0x20, 0x20])
            || bytes.starts(with: [0xFF, 0x4F, 0xFF, 0x51])
        {
            return "a JPEG 2000 picture"
        }
        let start = bytes.prefix(1024)
        guard let text = lowercasedText(start), text.contains("<svg") else { return nil }
        return "an SVG drawing"
    }

    /// Describes bytes of an unknown format for an error message, or returns nil if nothing
    /// matches.
    static func guess(_ bytes: [UInt8]) -> String? {
        let signatures: [(String, String)] = [
            ("%PDF-", "a PDF document"), ("%!PS", "a PostScript document"),
            ("8BPS", "a Photoshop document"), ("PK\u{3}\u{4}", "a ZIP archive"),
            ("FUJIFILMCCD-RAW", "a Fujifilm raw file (RAF)"), ("FOVb", "a Sigma raw file (X3F)"),
            ("\0MRM", "a Minolta raw file (MRW)"),
        ]
        for (signature, name) in signatures where bytes.starts(with: signature.utf8) {
            return name
        }
        if bytes.starts(with: [0x1F, 0x8B]) { return "a gzip archive" }
        if bytes.starts(with: [0, 0, 1, 0]) { return "an icon (ICO)" }
        switch brand(of: Array(bytes.prefix(signatureLength))) {
        case "crx ": return "a Canon raw file (CR3)"
        case .some: return "a video"
        case nil: break
        }
        let start = bytes.prefix(1024)
        if start.allSatisfy({ $0 == 0 }) { return "only zero bytes" }
        return guessText(start)
    }

    /// The bytes as lower-case text without white space at the start; nil if they are not text.
    private static func lowercasedText(_ start: ArraySlice<UInt8>) -> Substring? {
        // A control character other than white space, or a lone byte order mark, means that this is
        // not text.
        let isText = start.allSatisfy { $0 >= 0x20 || (0x09...0x0D).contains($0) }
        guard isText else { return nil }
        return String(decoding: start, as: UTF8.self).lowercased()
            .drop { $0.isWhitespace || $0 == "\u{FEFF}" }
    }

    private static func guessText(_ start: ArraySlice<UInt8>) -> String? {
        guard let text = lowercasedText(start) else { return nil }
        if text.contains("<!doctype html") || text.contains("<html") { return "an HTML page" }
        if text.hasPrefix("<head") || text.hasPrefix("<body") { return "an HTML page" }
        if text.hasPrefix("<") { return "an XML document" }
        if text.hasPrefix("push graphic-context") { return "an ImageMagick drawing (MVG)" }
        if text.hasPrefix("{") || text.hasPrefix("[") { return "JSON" }
        return "text"
    }
}
#endif
