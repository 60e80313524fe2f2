@_spi(ClassicPhotos) import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Detects the type of a source's bytes, and converts them to records.
struct PhotoListParser {
    let bytes: [UInt8]
    let source: String
    let limits: PhotoListLimits
    /// Whether the list is a file on this machine.
    let isLocal: Bool

    /// The valid forms of a list of values, for messages.
    static let shapes =
        "expected a dictionary of name → URL, an array of {name, url}, or an array of URLs"

    func parse(into builder: PhotoListBuilder) throws(PhotoSourceError) -> PhotoList {
        var builder = builder
        switch try shape() {
        case .picture: try addPicture(to: &builder)
        case .binaryPropertyList:
            let value = try read { () throws(ListSyntaxError) in
                try BinaryListReader(bytes, limits: limits).read()
            }
            try add(value, to: &builder)
        case .xmlPropertyList:
            var reader = XMLListReader(textBytes, limits: limits)
            try add(try read { () throws(ListSyntaxError) in try reader.read() }, to: &builder)
        case .json:
            var reader = JSONListReader(textBytes, limits: limits)
            try add(try read { () throws(ListSyntaxError) in try reader.read() }, to: &builder)
        case .text:
            try addLines(to: &builder)
        }
        guard !builder.records.isEmpty else { throw empty }
        return PhotoList(records: builder.records)
    }

    // MARK: Type detection

    private enum Shape { case picture, binaryPropertyList, xmlPropertyList, json, text }

    /// A byte order mark only says that the text is UTF-8, so it is dropped.
    private var textBytes: [UInt8] {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        return bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes
    }

    private func shape() throws(PhotoSourceError) -> Shape {
        let unsupported = UnsupportedFormat(of: source.utf8)
        if let unsupported, unsupported.isRaw { throw notRead(unsupported) }
        if PictureFiles.isPicture(bytes) { return .picture }
        if bytes.starts(with: "bplist0".utf8) { return .binaryPropertyList }
        // An empty file or a web page under a picture's name counts as a picture, which fails later
        // with its own reason.
        if PictureFiles.isPicture(named: source) { return .picture }
        guard !bytes.isEmpty else {
            throw PhotoSourceError(
                .notAList, source: source, problem: "the file is empty", advice: Self.shapes)
        }
        if let unsupported { throw notRead(unsupported) }
        guard isText || isListOfPaths else {
            throw PhotoSourceError(
                .notAList, source: source, problem: "this is neither a picture nor UTF-8 text",
                advice: "expected a property list, JSON, or a UTF-8 text file with one URL per line"
            )
        }
        return try textShape()
    }

    private func notRead(_ format: UnsupportedFormat) -> PhotoSourceError {
        PhotoSourceError(
            .notAList, source: source, problem: format.clause,
            advice: format.advice)
    }

    private func textShape() throws(PhotoSourceError) -> Shape {
        let text = textBytes
        let start = text.firstIndex { !isListWhitespace($0) } ?? text.endIndex
        guard start < text.endIndex else { return .text }
        switch text[start] {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            return .json
        case UInt8(ascii: "<"):
            let head = String(decoding: text[start...].prefix(512), as: UTF8.self).lowercased()
            guard !head.hasPrefix("<!doctype html"), !head.contains("<html") else {
                throw PhotoSourceError(
                    .notAList, source: source, problem: "this is a web page, not a list of photos",
                    advice: Self.shapes)
            }
            return .xmlPropertyList
        default:
            return .text
        }
    }

    private var isText: Bool {
        !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }

    /// Whether this may be a local list of paths that are not UTF-8.
    private var isListOfPaths: Bool {
        isLocal && !bytes.contains(0)
            && bytes.split(separator: UInt8(ascii: "\n")).contains {
                PictureFiles.isPicture(named: $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0)
            }
    }

    // MARK: A picture

    private func addPicture(to builder: inout PhotoListBuilder) throws(PhotoSourceError) {
        guard let url = builder.baseURL else {
            throw PhotoSourceError(
                .notAList, source: source,
                problem: "this is a picture whose address is unknown",
                advice: Self.shapes)
        }
        try builder.add(url)
    }

    // MARK: A text file

    private func addLines(to builder: inout PhotoListBuilder) throws(PhotoSourceError) {
        let lines = textBytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // Any text can be read as relative URLs, but a letter is not a list of photos. One line
        // that is certainly a photo makes a list of a text, whichever line that is.
        let isList = lines.contains { line in
            String(validating: line, as: UTF8.self) == nil
                || mayBeURL(PhotoURL.trim(String(decoding: line, as: UTF8.self)))
        }
        for (index, line) in lines.enumerated() {
            let place = PhotoSourceError.Place.line(index + 1)
            guard String(validating: line, as: UTF8.self) != nil else {
                try builder.add(
                    path: line.last == UInt8(ascii: "\r") ? line.dropLast() : Array(line),
                    at: place)
                continue
            }
            let text = PhotoURL.trim(String(decoding: line, as: UTF8.self))
            guard !text.isEmpty, !text.hasPrefix("#") else { continue }
            guard isList else {
                throw PhotoSourceError(
                    .notAList, source: source, place: place,
                    problem: "\(quoted(text)) is not the URL of a picture",
                    advice: "expected one URL per line, a property list, or JSON")
            }
            // A name may begin or end with a space.
            let entry = isLocal ? String(decoding: line, as: UTF8.self) : text
            try builder.add(name: nil, url: entry, at: place)
        }
    }

    /// Adds the photos of a list whose entries end with a zero byte each.
    func parseZeroSeparated(into builder: PhotoListBuilder) throws(PhotoSourceError) -> PhotoList {
        var builder = builder
        for (index, entry) in bytes.split(separator: 0).enumerated() {
            let place = PhotoSourceError.Place.entry(index + 1)
            if let text = String(validating: entry, as: UTF8.self) {
                try builder.add(name: nil, url: text, at: place)
            } else {
                try builder.add(path: Array(entry), at: place)
            }
        }
        guard !builder.records.isEmpty else { throw empty }
        return PhotoList(records: builder.records)
    }

    private var empty: PhotoSourceError {
        PhotoSourceError(
            .noPhotos, source: source, problem: "the list is empty",
            advice: "expected at least one photo")
    }

    private func mayBeURL(_ text: String) -> Bool {
        guard !text.isEmpty, !text.hasPrefix("#") else { return false }
        guard let scheme = PhotoURL.scheme(of: text) else {
            return PictureFiles.isPicture(named: text)
        }
        return text.dropFirst(scheme.count).hasPrefix("://")
    }

    // MARK: Values

    private func read(
        _ body: () throws(ListSyntaxError) -> ListValue
    ) throws(PhotoSourceError) -> ListValue {
        do throws(ListSyntaxError) {
            return try body()
        } catch {
            throw PhotoSourceError(
                error.kind, source: source, place: error.line.map { .line($0) },
                problem: error.problem, advice: error.advice)
        }
    }

    private func add(
        _ value: ListValue, to builder: inout PhotoListBuilder
    ) throws(PhotoSourceError) {
        switch value {
        case .dictionary(let members): try add(members, to: &builder)
        case .array(let elements): try add(elements, to: &builder)
        case .text, .other:
            throw PhotoSourceError(
                .notAList, source: source, problem: "this is \(value.kindName), not a list",
                advice: Self.shapes)
        }
    }
}
