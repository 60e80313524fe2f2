@_spi(ClassicPhotos) public import PhotoPipeline

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The photos of a source, in display order.
public struct PhotoList: Sendable, Equatable {
    /// One record for each entry; an invalid entry is a failed record with a reason.
    public let records: [PhotoRecord]

    /// The number of skipped files in a folder.
    ///
    /// A file is skipped if neither its extension nor its first bytes are those of a picture, if it
    /// is not a regular file, or if it is a link to such a file. Hidden files and XMP beside photos
    /// do not count.
    public let skippedFileCount: Int

    /// The number of links to pictures and folders outside of the folder that was read. They are
    /// skipped unless the call follows links.
    public let outwardLinkCount: Int

    /// The skipped pictures of a folder whose formats cannot be read.
    public let unsupportedFiles: [UnsupportedFile]

    /// The folders that were read, and the folder of the list itself.
    var folders: [LocalPath]

    /// A picture in a format that cannot be read.
    public struct UnsupportedFile: Sendable, Hashable {
        /// The path in the folder.
        public let name: String
        /// The format according to the extension, with an article, as in "a BMP picture".
        public let format: String
        /// Why the format is not read, as a clause.
        public let reason: String
    }

    init(
        records: [PhotoRecord], skippedFileCount: Int = 0, unsupportedFiles: [UnsupportedFile] = [],
        outwardLinkCount: Int = 0, folders: [LocalPath] = []
    ) {
        self.records = records
        self.skippedFileCount = skippedFileCount
        self.unsupportedFiles = unsupportedFiles
        self.outwardLinkCount = outwardLinkCount
        self.folders = folders
    }
}

extension PhotoList {
    /// Parses the bytes of a file or a web response as a list.
    ///
    /// The bytes decide the type: a property list (XML or binary), JSON, a text file with one URL
    /// per line (blank lines and lines starting with # are ignored; one line must have a scheme, or
    /// the extension of a picture), or a picture, which becomes a list of one photo. Property lists
    /// and JSON may be a dictionary of name → URL, an array of dictionaries with `name` and `url`,
    /// or an array of URLs. Dictionaries have no order and are sorted by name in natural order
    /// (photo2 before photo10); all other lists keep their order.
    ///
    /// URLs may be relative to the list's own URL. In a list that is a file, a text without a
    /// scheme is a path, in which `#`, `?`, `%` and spaces have no special meaning. The schemes
    /// http and https are allowed everywhere, but file only in a list that is a file itself, so
    /// that a list from the web cannot name files on this machine.
    ///
    /// Call from any thread; takes time in proportion to the number of bytes.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - name: the name of the source in messages, such as `photos.plist`.
    ///   - baseURL: the absolute URL of the bytes; `nil` if unknown.
    ///   - limits: the limits on the size of the list.
    /// - Throws: ``PhotoSourceError`` if the bytes are not a list, and also if the list is empty: a
    ///   person who names a source expects photos, and accepting an empty list would hide a wrong
    ///   file.
    public static func parse(
        bytes: [UInt8], named name: String, relativeTo baseURL: URL?,
        limits: PhotoListLimits = .standard
    ) throws(PhotoSourceError) -> PhotoList {
        // A picture may be larger than a list, because its bytes are not read here.
        guard bytes.count <= limits.bytes || PictureFiles.isPicture(bytes) else {
            throw .tooManyBytes(name, limits)
        }
        let builder = PhotoListBuilder(source: name, baseURL: baseURL, limits: limits)
        return try PhotoListParser(
            bytes: bytes, source: name, limits: limits, isLocal: baseURL?.isFileURL ?? false
        ).parse(into: builder)
    }
}

extension PhotoList {
    /// Parses paths and URLs that end with a zero byte each, as `find -print0` writes them.
    ///
    /// Each text is one entry, whatever other bytes it contains. The rest is as in
    /// ``parse(bytes:named:relativeTo:limits:)``.
    public static func parse(
        zeroSeparated bytes: [UInt8], named name: String, relativeTo baseURL: URL?,
        limits: PhotoListLimits = .standard
    ) throws(PhotoSourceError) -> PhotoList {
        guard bytes.count <= limits.bytes else { throw .tooManyBytes(name, limits) }
        let builder = PhotoListBuilder(source: name, baseURL: baseURL, limits: limits)
        return try PhotoListParser(
            bytes: bytes, source: name, limits: limits, isLocal: baseURL?.isFileURL ?? false
        ).parseZeroSeparated(into: builder)
    }
}

extension PhotoSourceError {
    static func tooManyBytes(_ source: String, _ limits: PhotoListLimits) -> PhotoSourceError {
        PhotoSourceError(
            .tooLarge, source: source, problem: "the list has more than \(limits.bytes) bytes",
            advice: "split it into several lists")
    }

    static func tooManyEntries(_ source: String, _ limits: PhotoListLimits) -> PhotoSourceError {
        PhotoSourceError(
            .tooLarge, source: source, problem: "there are more than \(limits.entries) photos",
            advice: "split them into several lists or folders")
    }
}
