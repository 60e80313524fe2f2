#if PhotoPipeline
import HTTPTypes

/// A text that identifies the contents of a photo, to find out later whether the photo has changed.
///
/// A file's version is made of its size and its time of modification. A download's version is the
/// validator of its response (RFC 9110, 8.8): the entity tag, otherwise the date. Without a
/// validator, the version is a hash of the bytes, and only another download can compare it.
public struct PhotoVersion: Sendable, Hashable {
    /// The time of the last modification; nil if unknown.
    public let modified: FileTime?

    /// The text: a word for the kind of the version, a space and its value.
    @_spi(ClassicPhotos) public let text: String

    private static let tag = "tag "
    private static let date = "date "

    /// A version whose text was kept.
    @_spi(ClassicPhotos) public init(text: String, modified: FileTime?) {
        self.text = text
        self.modified = modified
    }

    /// The version of a file on the disk.
    init(byteCount: Int, modified: FileTime) {
        text = "file \(byteCount) \(modified.seconds).\(modified.nanoseconds)"
        self.modified = modified
    }

    /// The version of a download.
    ///
    /// - Parameters:
    ///   - entityTag: the value of the header `ETag`.
    ///   - lastModified: the value of the header `Last-Modified`.
    init(bytes: [UInt8], entityTag: String?, lastModified: String?, now: Int) {
        let seconds = lastModified.flatMap { HTTPDate.seconds($0, now: now) }
        modified = seconds.map { FileTime(seconds: $0, nanoseconds: 0) }
        if let entityTag, !entityTag.isEmpty {
            text = Self.tag + entityTag
        } else if let lastModified, seconds != nil {
            text = Self.date + lastModified
        } else {
            text = "hash \(bytes.count) \(String(fnv1a(bytes), radix: 16))"
        }
    }

    /// The header that asks a server to answer only if its version differs; nil if the text has no
    /// validator.
    static func condition(for text: String) -> (name: HTTPField.Name, value: String)? {
        if let tag = value(of: text, after: tag) { return (.ifNoneMatch, tag) }
        if let date = value(of: text, after: date) { return (.ifModifiedSince, date) }
        return nil
    }

    /// The text after a word for its kind. A tag may begin with a mark that Swift would take as a
    /// part of the space before it.
    private static func value(of text: String, after kind: String) -> String? {
        guard text.utf8.starts(with: kind.utf8) else { return nil }
        return String(decoding: text.utf8.dropFirst(kind.utf8.count), as: UTF8.self)
    }
}

/// A time of a file: seconds since 1970, and the rest in nanoseconds.
public struct FileTime: Sendable, Hashable {
    /// Seconds since the beginning of 1970 in UTC; negative before.
    public var seconds: Int
    /// Nanoseconds after that second, less than a billion.
    public var nanoseconds: Int

    /// A time.
    public init(seconds: Int, nanoseconds: Int) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }
}
#endif
