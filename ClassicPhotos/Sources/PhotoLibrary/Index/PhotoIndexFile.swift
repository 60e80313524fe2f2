@_spi(ClassicPhotos) import PhotoPipeline
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
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

/// A file that keeps what a ``PhotoIndex`` has read, for later runs of the program.
///
/// The file is a cache: anybody may delete it at any time. Only its owner can read it. Several
/// programs may use one file at the same time: each locks it while it appends, and finds what the
/// others have appended. Nothing is synced, since each record has a checksum: what a crash has torn
/// is read from the photos again. The page <doc:PhotoIndexFile> describes the bytes.
///
/// Records are only appended; the last one of a file counts. When more than half of the records are
/// superseded, or when the file exceeds its limit, it is written anew without them. Over the limit,
/// the records that were not used for the longest time are dropped.
///
/// All methods block their thread while they read or write.
public final class PhotoIndexFile: Sendable {
    /// What became of records.
    enum Outcome { case done, busy, failed }

    private struct State {
        /// The file whose first bytes are known to be whole records, and their number.
        var known: (inode: UInt64, end: Int)?
        var hasProblem = false
    }

    private static let name = "photos.index"
    /// Smaller files are not written anew.
    private static let leastRecords = 512

    private let folder: LocalPath
    private let path: LocalPath
    private let limit: Int
    private let problem: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// Names a file in a folder. Both are made when something is stored.
    ///
    /// - Parameters:
    ///   - folder: the folder of the cache.
    ///   - byteLimit: the size of the file above which records are dropped.
    ///   - problem: called at most once, on any thread, with a sentence for people, if the file
    ///     cannot be used. The index then works without the file.
    /// - Returns: nil if the URL is not that of a folder on the disk.
    public init?(
        folder: URL, byteLimit: Int = 32 << 20, problem: @escaping @Sendable (String) -> Void
    ) {
        guard folder.isFileURL, let path = LocalPath(folder) else { return nil }
        self.folder = path
        self.path = path.appending(Self.name.utf8)
        limit = byteLimit
        self.problem = problem
    }

    // MARK: Reading

    /// The latest records of some files. Also writes the file anew if that is worth it.
    func records(of keys: Set<PhotoFileKey>) -> [PhotoFileKey: PhotoIndexRecord] {
        guard !keys.isEmpty, let file = opened(O_RDONLY) else { return [:] }
        defer { close(file) }
        var found: [PhotoFileKey: PhotoIndexRecord] = [:]
        var places: Set<PhotoFileKey.Place> = []
        var count = 0
        let end = visit(file, from: 0) { bytes, _ in
            count += 1
            guard let (key, _) = PhotoIndexRecord.header(of: bytes) else { return }
            places.insert(key.place)
            if keys.contains(key) { found[key] = PhotoIndexRecord(bytes) }
        }
        let isSparse = count > Self.leastRecords && count > 2 * places.count
        if isSparse || end > limit { compact() }
        return found
    }

    /// Visits the records of an open file, with their places in it.
    ///
    /// - Returns: the end of the last whole record; 0 for a file without a valid head.
    private func visit(
        _ file: Int32, from start: Int, _ body: (ArraySlice<UInt8>, _ at: Int) -> Void
    ) -> Int {
        var end = start
        if start == 0 {
            guard PhotoIndexRecords.kind(ofHead: head(of: file)) == .index else { return 0 }
            end = PhotoIndexRecords.head.count
        }
        var rest: [UInt8] = []
        while true {
            let more = bytes(of: file, at: end + rest.count, atMost: 1 << 20)
            if more.isEmpty { return end }
            rest += more
            let (count, isDamaged) = PhotoIndexRecords.visit(rest[...]) { body($0, end + $1) }
            end += count
            if isDamaged { return end }
            rest.removeFirst(count)
        }
    }

    private func head(of file: Int32) -> [UInt8] {
        bytes(of: file, at: 0, atMost: PhotoIndexRecords.head.count)
    }

    private func bytes(of file: Int32, at place: Int, atMost count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var read = -1
            repeat {
                errno = 0
                read = pread(file, buffer.baseAddress, count, off_t(place))
            } while read < 0 && errno == EINTR
            filled = max(0, read)
        }
    }

    // MARK: Writing

    /// Appends records.
    ///
    /// - Returns: `busy` if another program has locked the file; then try again later.
    func append(_ records: [PhotoIndexRecord]) -> Outcome {
        guard !records.isEmpty else { return .done }
        let bytes = records.flatMap { PhotoIndexRecords.framed($0.bytes) }
        return changing { file, state in
            let (size, inode) = Self.status(of: file)
            var end = 0
            if let known = state.known, known.inode == inode, known.end <= size { end = known.end }
            if size > end { end = visit(file, from: end) { _, _ in } }
            var added = bytes
            if end == 0 {
                guard PhotoIndexRecords.kind(ofHead: head(of: file)) != .other else { return nil }
                added = PhotoIndexRecords.head + added
            }
            // What is behind the last whole record was torn.
            guard size == end || ftruncate(file, off_t(end)) == 0,
                lseek(file, off_t(end), SEEK_SET) == end
            else { return errno }
            let code = FileCalls.system.writeAll(added, to: file)
            guard code == 0 else {
                ftruncate(file, off_t(end))
                return code
            }
            state.known = (inode, end + added.count)
            return 0
        }
    }

    /// Writes the file anew with the latest record of each file, within the limit.
    private func compact() {
        _ = changing { file, state in
            var latest: [PhotoFileKey.Place: (at: Int, count: Int, day: UInt32)] = [:]
            let end = visit(file, from: 0) { bytes, at in
                guard let (key, day) = PhotoIndexRecord.header(of: bytes) else { return }
                latest[key.place] = (at, bytes.count + PhotoIndexRecords.frameLength, day)
            }
            guard end > 0 else { return 0 }
            var total = 0
            // The latest ones first; a quarter of the limit stays free for new records.
            let kept = latest.values.sorted { ($1.day, $1.at) < ($0.day, $0.at) }.prefix {
                total += $0.count
                return total <= limit / 4 * 3
            }
            let code = replace(file, by: kept.map { ($0.at, $0.count) }.sorted { $0.0 < $1.0 })
            state.known = nil
            return code
        }
    }

    /// - Parameter parts: the bytes of the old file that the new one has behind its head.
    private func replace(_ file: Int32, by parts: [(at: Int, count: Int)]) -> Int32 {
        let new = folder.appending("\(Self.name).new".utf8)
        _ = new.withCString { unlink($0) }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        let copy = new.withCString { open($0, flags, 0o600) }
        guard copy >= 0 else { return errno }
        defer { close(copy) }
        var (waiting, code) = (PhotoIndexRecords.head, Int32(0))
        for (at, count) in parts where code == 0 {
            waiting += bytes(of: file, at: at, atMost: count)
            guard waiting.count > 1 << 20 else { continue }
            code = FileCalls.system.writeAll(waiting, to: copy)
            waiting = []
        }
        if code == 0 { code = FileCalls.system.writeAll(waiting, to: copy) }
        if code == 0 {
            let result = new.withCString { new in path.withCString { rename(new, $0) } }
            code = result == 0 ? 0 : errno
        }
        if code != 0 { _ = new.withCString { unlink($0) } }
        return code
    }

    /// Opens and locks the file for a change.
    ///
    /// - Parameter change: returns 0, the number of an error, or nil if the file is no index.
    private func changing(_ change: (Int32, inout State) -> Int32?) -> Outcome {
        let (outcome, said) = state.withLock { state -> (Outcome, String?) in
            guard !state.hasProblem else { return (.failed, nil) }
            while true {
                let folderCode = makeFolder()
                guard folderCode == 0, let file = opened(O_RDWR | O_CREAT) else {
                    state.hasProblem = true
                    return (.failed, sentence(folderCode == 0 ? errno : folderCode))
                }
                // Closing the file unlocks it.
                defer { close(file) }
                guard flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
                    return (.busy, nil)
                }
                // Another program may have written the file anew before it unlocked the old one.
                guard isPresent(file) else { continue }
                let code = change(file, &state)
                guard code != 0 else { return (.done, nil) }
                state.hasProblem = true
                return (.failed, code.map(sentence) ?? Self.foreign(path))
            }
        }
        if let said { problem(said) }
        return outcome
    }

    private func isPresent(_ file: Int32) -> Bool {
        var status = stat()
        guard path.withCString({ lstat($0, &status) }) == 0 else { return false }
        return UInt64(truncatingIfNeeded: status.st_ino) == Self.status(of: file).inode
    }

    private static func status(of file: Int32) -> (size: Int, inode: UInt64) {
        var status = stat()
        guard fstat(file, &status) == 0 else { return (0, 0) }
        return (Int(status.st_size), UInt64(truncatingIfNeeded: status.st_ino))
    }

    // MARK: The file

    /// Opens the file, if it is a regular file of this user; nil with `errno` set otherwise.
    private func opened(_ flags: Int32) -> Int32? {
        // Neither follows a link to another file, nor waits for the reader of a pipe.
        let flags = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let file = path.withCString { open($0, flags, 0o600) }
        guard file >= 0 else { return nil }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid()
        else {
            close(file)
            errno = EACCES
            return nil
        }
        if status.st_mode & 0o077 != 0 { fchmod(file, 0o600) }
        return file
    }

    /// Makes the folder and those above it, which only this user can enter.
    ///
    /// - Returns: 0 if the folder exists, otherwise the number of the error.
    private func makeFolder() -> Int32 {
        do throws(FileProblem) {
            _ = try StagedFile.makeFolder(folder, mode: 0o700)
            return 0
        } catch {
            return error.code ?? EIO
        }
    }

    private func sentence(_ code: Int32) -> String {
        "\(path) cannot be used (\(String(cString: strerror(code)))), so the program reads the "
            + "headers of the photos again when it starts next."
    }

    private static func foreign(_ path: LocalPath) -> String {
        "\(path) is no index of photos, so the program does not use it. Delete the file, or choose "
            + "another folder with XDG_CACHE_HOME."
    }
}
