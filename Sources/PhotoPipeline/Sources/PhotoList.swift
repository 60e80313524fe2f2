public import FoundationEssentials

/// The photos that a source names, in the order in which they are shown.
public struct PhotoList: Sendable, Equatable {
    /// One record per entry; an entry that is wrong is a failed record that says why.
    public let records: [PhotoRecord]

    /// How many files of a folder were passed over because they are no pictures by their
    /// extension and their first bytes, are no regular files, or are links out of the folder.
    /// Hidden ones do not count.
    public let skippedFileCount: Int

    /// The pictures of a folder that were passed over because their formats are not read.
    public let unreadFiles: [UnreadFile]

    /// A picture in a format that is not read.
    public struct UnreadFile: Sendable, Hashable {
        /// Its path in the folder.
        public let name: String
        /// What it is by its extension, with an article, as in "a BMP picture".
        public let format: String
    }

    init(
        records: [PhotoRecord], skippedFileCount: Int = 0, unreadFiles: [UnreadFile] = []
    ) {
        self.records = records
        self.skippedFileCount = skippedFileCount
        self.unreadFiles = unreadFiles
    }
}

extension PhotoList {
    /// Makes a list out of the bytes of a file or of an answer from the web.
    ///
    /// The bytes decide what it is: a property list (XML or binary), JSON, a text with one URL a
    /// line (blank lines and those that begin with # do not count), or a picture, which makes a
    /// list of itself. Property lists and JSON may be a dictionary of name → URL, an array of
    /// dictionaries with `name` and `url`, or an array of URLs. Dictionaries have no order and are
    /// sorted by name as people sort (photo2 before photo10); all else keeps its order.
    ///
    /// URLs may be relative to the list's own. http and https are fine everywhere; file only in a
    /// list that is a file itself, so that a list from the web cannot name this machine's files.
    ///
    /// Any thread; takes time in proportion to the bytes.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - name: what the source is called in messages, as in `photos.plist`.
    ///   - baseURL: where the bytes came from, absolute; `nil` if that is not known.
    ///   - limits: how large the list may be.
    /// - Throws: ``PhotoSourceError`` if it is no list at all, and also if the list is empty:
    ///   whoever names a source expects photos, and silence would hide a wrong file.
    public static func parse(
        bytes: [UInt8], named name: String, relativeTo baseURL: URL?,
        limits: PhotoListLimits = .standard
    ) throws(PhotoSourceError) -> PhotoList {
        // A picture may be as large as pictures are; its bytes are not read here.
        guard bytes.count <= limits.bytes || PictureFiles.isPicture(bytes) else {
            throw .tooManyBytes(name, limits)
        }
        let builder = PhotoListBuilder(source: name, baseURL: baseURL, limits: limits)
        return try PhotoListParser(bytes: bytes, source: name, limits: limits).parse(into: builder)
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
