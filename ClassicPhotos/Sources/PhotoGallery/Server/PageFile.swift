/// A file of the page as browsers receive it.
struct PageFile {
    let path: String
    let mediaType: String
    let bytes: [UInt8]

    static func page(_ path: String, _ text: String) -> PageFile {
        PageFile(
            path: path, mediaType: "text/html; charset=utf-8",
            bytes: compact(withoutComments(text, from: "<!--", to: "-->")))
    }

    static func script(_ path: String, _ text: String) -> PageFile {
        PageFile(
            path: path, mediaType: "text/javascript; charset=utf-8",
            bytes: compact(text))
    }

    static func style(_ path: String, _ text: String) -> PageFile {
        PageFile(
            path: path, mediaType: "text/css; charset=utf-8",
            bytes: compact(
                withoutComments(text, from: "/*", to: "*/")
                    .replacing(" {", with: "{").replacing("; }", with: "}")
                    .replacing(": ", with: ":").replacing(", ", with: ",")))
    }

    static func picture(_ path: String, _ text: String) -> PageFile {
        PageFile(path: path, mediaType: "image/svg+xml", bytes: Array(text.utf8))
    }

    private static func withoutComments(
        _ source: String, from start: String, to end: String
    ) -> String {
        var text = source
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
