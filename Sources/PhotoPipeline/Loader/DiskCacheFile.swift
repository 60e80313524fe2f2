#if PhotoPipeline
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The format of a file in a ``PhotoDiskCache``.
///
/// A file has a line with the format's name, a line of JSON about the photo, and the photo's bytes.
enum DiskCacheFile {
    static let suffix = ".photo"
    private static let firstLine = "classicphotos cache 1\n"
    private static let newline = UInt8(ascii: "\n")

    private struct About: Codable {
        let url: String
        let version: String
        let modifiedSeconds: Int?
        let freshUntil: Int
        let byteCount: Int
        let checksum: UInt64
    }

    /// The name of the file for a URL. Different URLs may have one name: the file contains the URL.
    static func name(for url: URL) -> String {
        let text = url.absoluteString.utf8
        let number = fnv1a(text)
        return number.hexadecimalDigits + fnv1a(text, after: ~number).hexadecimalDigits + suffix
    }

    static func bytes(of entry: PhotoDiskCache.Entry, for url: URL) -> [UInt8] {
        let about = About(
            url: url.absoluteString, version: entry.version.text,
            modifiedSeconds: entry.version.modified?.seconds, freshUntil: entry.freshness.end,
            byteCount: entry.bytes.count, checksum: fnv1a(entry.bytes))
        guard let line = try? JSONEncoder().encode(about) else {
            preconditionFailure("texts and numbers can be encoded")
        }
        return Array(firstLine.utf8) + line + [newline] + entry.bytes
    }

    /// The entry in a file; nil if the file is damaged, or belongs to another URL.
    static func entry(in file: [UInt8], of url: URL) -> PhotoDiskCache.Entry? {
        let rest = file.dropFirst(firstLine.utf8.count)
        guard file.starts(with: firstLine.utf8), let end = rest.firstIndex(of: newline),
            let about = try? JSONDecoder().decode(About.self, from: Data(rest[..<end])),
            about.url == url.absoluteString
        else { return nil }
        let bytes = Array(file[(end + 1)...])
        guard bytes.count == about.byteCount, fnv1a(bytes) == about.checksum else { return nil }
        let modified = about.modifiedSeconds.map { FileTime(seconds: $0, nanoseconds: 0) }
        return PhotoDiskCache.Entry(
            version: PhotoVersion(text: about.version, modified: modified),
            freshness: ResponseFreshness(isStorable: true, end: about.freshUntil), bytes: bytes)
    }
}
#endif
