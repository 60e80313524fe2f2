import FoundationEssentials

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The record, in an output folder, of what each result was made of: a hidden file with a line of
/// JSON for each.
///
///     {"version":1,"result":"b/a.jpg","source":"file:///a.jpg","bytes":5123,"fnv1a":"00f3…"}
///
/// `result` is the percent-encoded path in the folder, `source` the photo's URL, `bytes` and
/// `fnv1a` (64 bits, in hexadecimal) are the size and the hash of the result's content. Later
/// versions of the program may add keys; a program that changes what these mean counts `version`
/// up, and this one then touches nothing in the folder.
///
/// A line is written, and on the disk, before the result gets its name. (The name of the log itself
/// gets there with the names of the results, which is soon enough.) A line without its result
/// therefore does no harm, since an older file of that name has other content; a result without its
/// line, which would be taken for somebody else's file, cannot be. Lines are only ever added. The
/// last one of several for the same result is the newest, but whatever stops the program, one of
/// the others may be the true one. A line that was not written to its end does not count.
struct ResultLog {
    static let fileName = ".classicphotos-results.jsonl"

    /// What a result was made of.
    struct Entry: Hashable {
        /// The path in the folder.
        let result: [UInt8]
        let source: URL
        let byteCount: Int
        let checksum: UInt64
    }

    /// The log is there, and cannot be used.
    enum Problem: Error, Equatable {
        case unreadable(PhotoSourceError)
        /// The log has a version that only a later program knows.
        case newer(version: Int)
    }

    /// An entry without its result, with the source as a hash, so that a long log takes little
    /// memory.
    fileprivate struct Content: Hashable {
        let source: UInt64
        let byteCount: Int
        let checksum: UInt64
    }

    private var contents: [String: [Content]] = [:]

    /// Reads a folder's log; without a file it is empty.
    ///
    /// - Returns: also the file, to which entries are added.
    static func read(in folder: LocalPath) throws(Problem) -> (log: ResultLog, file: ResultLogFile)
    {
        let file = folder.appending(fileName.utf8)
        let bytes: [UInt8]
        do throws(PhotoSourceError) {
            bytes = try LocalFiles.bytes(of: file, named: file.description)
        } catch {
            guard error.kind == .notFound else { throw .unreadable(error) }
            return (ResultLog(), ResultLogFile(path: file, isTorn: false))
        }
        var log = ResultLog()
        let decoder = JSONDecoder()
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let line = try? decoder.decode(Line.self, from: Data(line)) else { continue }
            guard line.version == 1 else { throw .newer(version: line.version) }
            if let (result, content) = line.entry {
                log.contents[result, default: []].append(content)
            }
        }
        let isTorn = bytes.last.map { $0 != UInt8(ascii: "\n") } ?? false
        return (log, ResultLogFile(path: file, isTorn: isTorn))
    }

    /// A line of the file. What else than the version is in it, only its version tells.
    private struct Line: Decodable {
        let version: Int
        let entry: (result: String, content: Content)?

        private enum Key: String, CodingKey { case version, result, source, bytes, fnv1a }

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
                byteCount: try line.decode(Int.self, forKey: .bytes), checksum: checksum)
            entry = (try line.decode(String.self, forKey: .result), content)
        }
    }

    /// Whether the log has an entry for a file of that name and size.
    func hasResult(_ result: some Sequence<UInt8>, byteCount: Int) -> Bool {
        contents[percentEncoded(result)]?.contains { $0.byteCount == byteCount } ?? false
    }

    /// The hashes that a result of a source has, if it has that size.
    func checksums(of result: [UInt8], from source: URL, byteCount: Int) -> [UInt64] {
        let source = fnv1a(source.absoluteString.utf8)
        return contents[percentEncoded(result), default: []]
            .filter { $0.source == source && $0.byteCount == byteCount }.map(\.checksum)
    }

    /// Those of the entries that the log does not have yet.
    func missing(of entries: [Entry]) -> [Entry] {
        entries.filter { entry in
            contents[percentEncoded(entry.result)]?.contains(Content(entry)) != true
        }
    }

    /// Takes entries in that are in the file.
    mutating func add(_ entries: [Entry]) {
        for entry in entries {
            contents[percentEncoded(entry.result), default: []].append(Content(entry))
        }
    }
}

extension ResultLog.Content {
    fileprivate init(_ entry: ResultLog.Entry) {
        self.init(
            source: fnv1a(entry.source.absoluteString.utf8), byteCount: entry.byteCount,
            checksum: entry.checksum)
    }
}

/// The end of a ``ResultLog``'s file.
struct ResultLogFile {
    let path: LocalPath
    /// Whether the last line may have no end.
    var isTorn: Bool

    /// Adds lines for entries, and returns when they are on the disk.
    mutating func append(
        _ entries: [ResultLog.Entry], calls: FileCalls
    ) throws(FileProblem) {
        guard !entries.isEmpty else { return }
        let file = path.withCString { open($0, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o666) }
        guard file >= 0 else { throw FileProblem(path, errno: errno) }
        defer { close(file) }
        let text = entries.reduce(into: isTorn ? "\n" : "") { $0 += Self.line(for: $1) }
        isTorn = true
        let code = calls.writeAll(Array(text.utf8), to: file)
        guard code == 0 else { throw FileProblem(path, errno: code) }
        isTorn = false
        guard calls.sync(file) == 0 else { throw FileProblem(path, errno: errno) }
    }

    private static func line(for entry: ResultLog.Entry) -> String {
        """
        {"version":1,"result":"\(percentEncoded(entry.result))",\
        "source":"\(escaped(entry.source.absoluteString))","bytes":\(entry.byteCount),\
        "fnv1a":"\(String(entry.checksum, radix: 16))"}\n
        """
    }

    /// URLs have neither quotation marks nor backslashes; nothing relies on it here.
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
