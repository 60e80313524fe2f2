/// A file of the page as browsers receive it.
struct PageFile {
    let path: String
    let mediaType: String
    let bytes: [UInt8]

    static func page(_ path: String, _ bytes: [UInt8]) -> PageFile {
        PageFile(
            path: path, mediaType: "text/html; charset=utf-8",
            bytes: compact(withoutComments(bytes, from: "<!--", to: "-->")))
    }

    static func script(_ path: String, _ bytes: [UInt8]) -> PageFile {
        PageFile(
            path: path, mediaType: "text/javascript; charset=utf-8",
            bytes: compact(String(decoding: bytes, as: UTF8.self)))
    }

    static func style(_ path: String, _ bytes: [UInt8]) -> PageFile {
        PageFile(
            path: path, mediaType: "text/css; charset=utf-8",
            bytes: compact(
                withoutComments(bytes, from: "/*", to: "*/")
                    .replacing(" {", with: "{").replacing("; }", with: "}")
                    .replacing(": ", with: ":").replacing(", ", with: ",")))
    }

    static func picture(_ path: String, _ bytes: [UInt8]) -> PageFile {
        PageFile(path: path, mediaType: "image/svg+xml", bytes: bytes)
    }

    private static func withoutComments(
        _ bytes: [UInt8], from start: String, to end: String
    ) -> String {
        var text = String(decoding: bytes, as: UTF8.self)
        while let begin = text.firstRange(of: start),
            let close = text[begin.upperBound...].firstRange(of: end)
        {
            text.removeSubrange(begin.lowerBound..<close.upperBound)
        }
        return text
    }

    /// The text without comment lines and indentation, which are for the readers of the source.
    ///
    /// A quarter of the page would be comments otherwise. No string of the page spans two lines.
    private static func compact(_ text: String) -> [UInt8] {
        let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }
        return Array(
            lines.filter { !$0.isEmpty && !$0.hasPrefix("//") }.joined(separator: "\n").utf8)
    }
}
