@_spi(ClassicPhotos) import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Collects the entries of one source: resolves and checks URLs, and assigns identifiers.
struct PhotoListBuilder {
    /// The first words of the reason for an invalid entry.
    let source: String
    let baseURL: URL?
    let limits: PhotoListLimits
    private(set) var records: [PhotoRecord] = []
    private var identifiers = PhotoIDMaker()

    init(source: String, baseURL: URL?, limits: PhotoListLimits) {
        self.source = source
        self.baseURL = baseURL
        self.limits = limits
    }

    /// Adds a photo, or a failed record if its URL is invalid.
    ///
    /// - Parameter name: `nil` to name the photo after the last component of its URL.
    mutating func add(
        name: String?, url text: String, at place: PhotoSourceError.Place
    ) throws(PhotoSourceError) {
        if let path = localPath(Array(text.utf8)) {
            let url = path.url
            if let name { return try add(name: name, url: url) }
            return try add(url)
        }
        let url: URL
        do throws(PhotoURLProblem) {
            url = try PhotoURL.resolve(text, relativeTo: baseURL)
        } catch {
            return try addFailure(
                name: name ?? PhotoURL.name(ofInvalidURL: text), problem: error.message, at: place)
        }
        if let name { try add(name: name, url: url) } else { try add(url) }
    }

    /// Adds the photo at a path in a local list, whose bytes are not UTF-8.
    mutating func add(
        path bytes: [UInt8], at place: PhotoSourceError.Place
    ) throws(PhotoSourceError) {
        if let path = localPath(bytes) { return try add(path.url) }
        try addFailure(
            name: displayText(bytes),
            problem: "\(quoted(displayText(bytes))) is neither UTF-8 nor a path on this machine",
            at: place)
    }

    /// The path that a text in a local list stands for; nil for a URL, and in a list from the web.
    ///
    /// A name may contain any character, so a text such as `100% #1?.jpg` is first taken as it is.
    /// Only if there is no such file, the text is taken as part of a URL, with `%20` for a space.
    private func localPath(_ text: [UInt8]) -> LocalPath? {
        guard let baseURL, baseURL.isFileURL, let base = LocalPath(baseURL) else { return nil }
        let shown = displayText(text)
        let isText = Array(shown.utf8) == text
        // A URL is text. It may start with the name of its host, which is not a file on this
        // machine.
        guard !isText || PhotoURL.scheme(of: shown) == nil && !shown.hasPrefix("//") else {
            return nil
        }
        let folder = baseURL.hasDirectoryPath ? base : base.folder ?? .workingFolder
        func path(_ bytes: [UInt8]) -> LocalPath? {
            guard !bytes.isEmpty, !bytes.contains(0) else { return nil }
            return bytes.first == UInt8(ascii: "/")
                ? LocalPath(bytes: bytes) : folder.appending(Self.withoutDots(bytes))
        }
        func exists(_ path: LocalPath?) -> Bool {
            guard let path else { return false }
            return (try? LocalFiles.kind(of: path, followingLinks: true, named: shown)) != nil
        }
        let trimmed = Array(PhotoURL.trim(shown).utf8)
        let candidates = [text] + (isText ? [trimmed, percentDecoded(PhotoURL.trim(shown))] : [])
        return path(candidates.first { exists(path($0)) } ?? (isText ? trimmed : text))
    }

    /// A relative path without the "./" that `find` writes before every name.
    private static func withoutDots(_ bytes: [UInt8]) -> [UInt8] {
        var rest = bytes[...]
        while rest.starts(with: "./".utf8), rest.count > 2 { rest = rest.dropFirst(2) }
        return Array(rest)
    }

    /// Adds a photo with a valid URL, named after the URL.
    mutating func add(_ url: URL) throws(PhotoSourceError) {
        try add(
            name: PhotoURL.name(of: url), nameBytes: PhotoURL.nonUTF8Name(of: url), url: url)
    }

    /// Adds a photo with a valid URL.
    ///
    /// - Parameter folder: the folder in which a search has found the photo; nil for none.
    mutating func add(
        name: String, nameBytes: [UInt8]? = nil, url: URL, in folder: LocalPath? = nil
    ) throws(PhotoSourceError) {
        // A download is not worth its time either.
        if let format = UnsupportedFormat(of: PhotoURL.name(of: url).utf8), format.isRaw {
            return try addFailure(
                name: name, reason: format.sentence,
                cause: .init(.formatNotRead, ["detail": format.name]))
        }
        let id = identifiers.make(name: name, url: url.absoluteString)
        var record = PhotoRecord(id: id, name: name, nameBytes: nameBytes, url: url)
        record.folder = folder
        try append(record)
    }

    /// Adds a failed record for an invalid entry.
    ///
    /// - Parameter problem: a clause, which follows the source and the place in the reason.
    mutating func addFailure(
        name: String, problem: String, at place: PhotoSourceError.Place
    ) throws(PhotoSourceError) {
        let reason = "\(source), \(place): \(problem)."
        try addFailure(
            name: name, reason: reason, cause: .init(.badEntry, ["detail": reason]))
    }

    /// Adds a failed record whose reason is a whole sentence.
    mutating func addFailure(
        name: String, reason: String, cause: PhotoFailure.Cause
    ) throws(PhotoSourceError) {
        let failure = PhotoFailure(
            stage: .source, reason: reason, isRetryable: false, cause: cause)
        let id = identifiers.make(name: name, url: "")
        try append(PhotoRecord(id: id, name: name, failure: failure))
    }

    private mutating func append(_ record: PhotoRecord) throws(PhotoSourceError) {
        guard records.count < limits.entries else { throw .tooManyEntries(source, limits) }
        records.append(record)
    }
}

/// Derives identifiers from the names and URLs of photos.
struct PhotoIDMaker {
    private var used: Set<UInt64> = []
    /// The number of times that each identifier was requested again. Without this table, a list of
    /// equal entries would take quadratic time.
    private var repetitions: [UInt64: UInt64] = [:]

    /// Makes the identifier of the next photo; equal entries get different identifiers, in order.
    mutating func make(name: String, url: String) -> PhotoID {
        // A byte that cannot occur in UTF-8 text distinguishes "ab" + "c" from "a" + "bc".
        let wanted = fnv1a(name.utf8, after: fnv1a([0xFF], after: fnv1a(url.utf8)))
        var candidate = wanted
        while !used.insert(candidate).inserted {
            let repetition = repetitions[wanted, default: 0] + 1
            repetitions[wanted] = repetition
            candidate = withUnsafeBytes(of: repetition.littleEndian) { fnv1a($0, after: wanted) }
        }
        return PhotoID(rawValue: candidate)
    }
}
