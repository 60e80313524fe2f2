@_spi(ClassicPhotos) import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// The record of the photo behind each result in an output folder: a hidden file with one line of
/// JSON for each result.
///
///     {"version":1,"result":"b/a.jpg","source":"file:///a.jpg","bytes":5123,"fnv1a":"00f3…",
///      "recipe":"7b1e…","photo":"file 81234 1700000000.25"}
///
/// `result` is the percent-encoded path in the folder, and `source` is the photo's URL. `bytes` and
/// `fnv1a` (64 bits, in hexadecimal) are the size and the hash of the result's content. `recipe` is
/// the fingerprint of the ``PhotoRecipe`` (64 bits, in hexadecimal), and `photo` is the text of the
/// ``PhotoVersion`` of the photo; lines of earlier versions of the program lack these two. Later
/// versions of the program may add keys. A version that changes the meaning of a key increments
/// `version`; this version then leaves the folder untouched.
///
/// A line is on the disk before its result gets its name. (The name of the log itself reaches the
/// disk together with the names of the results, which is soon enough.) A line without a result is
/// harmless, because an older file of that name has different content. A result without a line
/// would look like another program's file, but cannot occur.
///
/// Lines are only ever appended. If a result has several lines, the last line is the newest; but
/// after a crash, an earlier line may describe the file on the disk. An incomplete last line is
/// ignored.
struct ResultLog {
    static let fileName = ".classicphotos-results.jsonl"

    /// The source and the content of a result.
    struct Entry: Hashable {
        /// The path in the folder.
        let result: [UInt8]
        let origin: ResultOrigin
        let byteCount: Int
        let checksum: UInt64
    }

    /// The log exists but cannot be used.
    enum Problem: Error, Equatable {
        case unreadable(PhotoSourceError)
        /// The log has a version that only a later program can read.
        case newer(version: Int)
    }

    /// The rest of an entry for a known result. Paths and URLs are stored as hashes, so that a long
    /// log takes little memory.
    fileprivate struct Content: Hashable {
        let source: UInt64
        let byteCount: Int
        let checksum: UInt64
        let recipe: UInt64?
        let photo: String?
    }

    /// The size of the file when it was read.
    private(set) var byteCount = 0

    /// By the hash of the result's path.
    private var contents: [UInt64: [Content]] = [:]

    private static func key(_ result: some Sequence<UInt8>) -> UInt64 {
        fnv1a(percentEncoded(result).utf8)
    }

    /// Reads a folder's log; without a file, the log is empty.
    ///
    /// - Returns: the log, and its file for appending entries.
    static func read(in folder: LocalPath) throws(Problem) -> (log: ResultLog, file: ResultLogFile)
    {
        let file = folder.appending(fileName.utf8)
        let bytes: [UInt8]
        do throws(PhotoSourceError) {
            bytes = try LocalFiles.bytes(
                of: LocalFile(file, in: folder), named: file.description)
        } catch {
            guard error.kind == .notFound else { throw .unreadable(error) }
            return (ResultLog(), ResultLogFile(path: file))
        }
        var log = ResultLog()
        let decoder = JSONDecoder()
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let line = try? decoder.decode(Line.self, from: Data(line)) else { continue }
            guard line.version == 1 else { throw .newer(version: line.version) }
            if let (result, content) = line.entry {
                log.contents[fnv1a(result.utf8), default: []].append(content)
            }
        }
        log.byteCount = bytes.count
        return (log, ResultLogFile(path: file))
    }

    /// A line of the file. The version decides which other keys the line has.
    private struct Line: Decodable {
        let version: Int
        let entry: (result: String, content: Content)?

        private enum Key: String, CodingKey {
            case version, result, source, bytes, fnv1a, recipe, photo
        }

        init(from decoder: any Decoder) throws {
            let line = try decoder.container(keyedBy: Key.self)
            version = try line.decode(Int.self, forKey: .version)
            guard version == 1,
                let checksum = UInt64(try line.decode(String.self, forKey: .fnv1a), radix: 16)
            else {
                entry = nil
                return
            }
            let content = Content(
                source: PhotoPipeline.fnv1a(try line.decode(String.self, forKey: .source).utf8),
                byteCount: try line.decode(Int.self, forKey: .bytes), checksum: checksum,
                recipe: try line.decodeIfPresent(String.self, forKey: .recipe).flatMap {
                    UInt64($0, radix: 16)
                },
                photo: try line.decodeIfPresent(String.self, forKey: .photo))
            entry = (try line.decode(String.self, forKey: .result), content)
        }
    }

    /// Whether the log has an entry for a file of the given name and size.
    func hasResult(_ result: some Sequence<UInt8>, byteCount: Int) -> Bool {
        contents[Self.key(result)]?.contains { $0.byteCount == byteCount } ?? false
    }

    /// The logged hashes for a result of the given source and size.
    func checksums(of result: [UInt8], from source: URL, byteCount: Int) -> [UInt64] {
        let source = fnv1a(source.absoluteString.utf8)
        return contents[Self.key(result), default: []]
            .filter { $0.source == source && $0.byteCount == byteCount }.map(\.checksum)
    }

    /// What the newest entry for a result says, if the result was made of the given source with the
    /// given recipe.
    func newest(
        _ result: [UInt8], from source: URL, recipe: UInt64
    ) -> (photo: String, byteCount: Int)? {
        guard let last = contents[Self.key(result)]?.last, last.recipe == recipe,
            last.source == fnv1a(source.absoluteString.utf8), let photo = last.photo
        else { return nil }
        return (photo, last.byteCount)
    }

    /// Returns the entries that the log does not have as the newest ones.
    func missing(of entries: [Entry]) -> [Entry] {
        entries.filter { entry in
            contents[Self.key(entry.result)]?.last != Content(entry)
        }
    }

    /// Adds entries that are already in the file.
    mutating func add(_ entries: [Entry]) {
        for entry in entries {
            contents[Self.key(entry.result), default: []].append(Content(entry))
        }
    }
}

extension ResultLog.Content {
    fileprivate init(_ entry: ResultLog.Entry) {
        self.init(
            source: fnv1a(entry.origin.url.absoluteString.utf8), byteCount: entry.byteCount,
            checksum: entry.checksum, recipe: entry.origin.recipe,
            photo: entry.origin.version?.text)
    }
}

/// What a result was made of.
struct ResultOrigin: Sendable, Hashable {
    /// The URL of the photo.
    let url: URL
    /// The version of the photo; nil if unknown.
    let version: PhotoVersion?
    /// The fingerprint of the recipe.
    let recipe: UInt64
}

/// The file of a ``ResultLog``, open for appending.
struct ResultLogFile {
    let path: LocalPath

    /// Appends lines for entries; returns once the lines are on the disk.
    ///
    /// Several processes may append to the same file: each locks it meanwhile. The lock also makes
    /// a network file system find the end of the file that other machines have extended.
    func append(
        _ entries: [ResultLog.Entry], calls: FileCalls
    ) throws(FileProblem) {
        guard !entries.isEmpty else { return }
        // Neither waits for the reader of a pipe, nor follows a link to another file.
        let flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let file = path.withCString { open($0, flags, 0o666) }
        guard file >= 0 else { throw FileProblem(path, errno: errno) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw FileProblem(refusal: "\(path) is not a regular file. Move it to another place.")
        }
        // Closing the file unlocks it. File systems without locks have one machine's files only.
        while flock(file, LOCK_EX) != 0, errno == EINTR {}
        let text = entries.reduce(into: Self.isTorn(file) ? "\n" : "") { $0 += Self.line(for: $1) }
        let code = calls.writeAll(Array(text.utf8), to: file)
        guard code == 0 else { throw FileProblem(path, errno: code) }
        guard calls.sync(file) == 0 else { throw FileProblem(path, errno: errno) }
    }

    /// Whether the last line of the open file is incomplete, because its writer was killed or the
    /// disk was full.
    private static func isTorn(_ file: Int32) -> Bool {
        var last: UInt8 = 0
        let end = lseek(file, 0, SEEK_END)
        return end > 0 && pread(file, &last, 1, end - 1) == 1 && last != UInt8(ascii: "\n")
    }

    private static func line(for entry: ResultLog.Entry) -> String {
        let origin = entry.origin
        var line = """
            {"version":1,"result":"\(percentEncoded(entry.result))",\
            "source":"\(escaped(origin.url.absoluteString))","bytes":\(entry.byteCount),\
            "fnv1a":"\(String(entry.checksum, radix: 16))",\
            "recipe":"\(String(origin.recipe, radix: 16))"
            """
        if let version = origin.version { line += ",\"photo\":\"\(escaped(version.text))\"" }
        return line + "}\n"
    }

    /// Escapes a text for JSON. URLs contain neither quotation marks nor backslashes, but entity
    /// tags do.
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}
