#if PhotoPipeline
import Operations
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

/// A cache of downloads in a folder, which several programs may use at the same time.
///
/// Each entry is one file: what is known about the photo, and the bytes as the server sent them. A
/// file appears complete or not at all, and its checksum is compared when it is read. So an entry
/// that was damaged, for example by a power failure, is a miss. When the files exceed the limit,
/// the least recently used are deleted. A response that the server marks with `no-store` is not
/// stored. Problems of the disk never fail a request: the photo is downloaded instead.
///
/// Anyone who can read the folder can see the photos; a new folder is readable only for its owner.
public final class PhotoDiskCache: Sendable {
    private let folder: LocalPath
    private let limit: Int
    private let queue = Operations.OperationQueue()
    private let usage = Mutex(Usage())

    /// The suffix of incomplete files, which remain if the program is killed while writing.
    private static let partialSuffix = ".classicphotos-partial"

    private struct Usage {
        /// The size of all files, as far as this object knows; nil before the first count.
        var byteCount: Int?
        /// The bytes that were stored since the last count. Other programs store files, too.
        var uncounted = 0
    }

    /// Opens a cache; makes the folder when it is first needed.
    ///
    /// - Parameters:
    ///   - folder: a folder that contains nothing else.
    ///   - byteLimit: the maximum size of all files, in bytes; 1 GiB unless given. While files are
    ///     stored, each program may exceed the limit by an eighth.
    /// - Throws: ``PhotoFailure`` if the URL is not that of a folder on the disk.
    public init(folder: URL, byteLimit: Int = 1 << 30) throws(PhotoFailure) {
        guard folder.isFileURL, let path = LocalPath(folder) else {
            throw PhotoFailure(
                stage: .download, reason: "A cache needs a folder on the disk, not \(folder).",
                isRetryable: false)
        }
        self.folder = path
        limit = max(0, byteLimit)
        queue.name = "Photo cache"
        queue.maxConcurrentOperationCount = 4
    }

    /// Returns once everything that was given to this object is stored.
    func written() async { await queue.finished() }

    /// Deletes all entries.
    public func removeAll() async {
        await queue.add { [self] in
            for file in files() { delete(file.path) }
            usage.withLock { $0 = Usage() }
        }.finished()
    }

    // MARK: Entries

    /// A photo in the cache.
    struct Entry: Sendable {
        let version: PhotoVersion
        let freshness: ResponseFreshness
        let bytes: [UInt8]

        func original(of url: URL) -> PhotoOriginal {
            PhotoOriginal(url: url, version: version, origin: .cache, bytes: bytes)
        }
    }

    /// The entry of a URL; nil if there is none, or a damaged one.
    func entry(for url: URL) async -> Entry? {
        await value { [self] in
            let path = path(of: url)
            guard let file = try? LocalFiles.bytes(of: path, named: ""),
                let entry = DiskCacheFile.entry(in: file, of: url)
            else { return nil }
            touch(path)
            return entry
        }
    }

    /// Stores a download, unless its server forbids that; replaces an earlier entry.
    func store(_ content: PhotoDownloader.Content, for url: URL) async {
        await store(
            Entry(version: content.version, freshness: content.freshness, bytes: content.bytes),
            for: url)
    }

    /// What was kept of a version of a photo; nil if there is no such entry.
    ///
    /// - Parameter url: an address that the program has chosen for what it has made of the photo.
    @_spi(ClassicPhotos) public func kept(
        for url: URL, of version: PhotoVersion
    ) async -> [UInt8]? {
        guard let entry = await entry(for: url), entry.version.text == version.text else {
            return nil
        }
        return entry.bytes
    }

    /// Keeps what a program has made of a version of a photo, without waiting; replaces an earlier
    /// entry.
    @_spi(ClassicPhotos) public func keep(
        _ bytes: [UInt8], for url: URL, of version: PhotoVersion
    ) {
        let entry = Entry(
            version: version, freshness: ResponseFreshness(isStorable: true, end: 0), bytes: bytes)
        queue.add { [self] in write(entry, for: url) }
    }

    /// Notes that an entry is still valid.
    func refresh(_ entry: Entry, with freshness: ResponseFreshness, for url: URL) async {
        guard freshness != entry.freshness else { return }
        await store(
            Entry(version: entry.version, freshness: freshness, bytes: entry.bytes), for: url)
    }

    private func store(_ entry: Entry, for url: URL) async {
        await value { [self] in write(entry, for: url) }
    }

    private func write(_ entry: Entry, for url: URL) {
        let path = path(of: url)
        guard entry.freshness.isStorable else { return delete(path) }
        let file = DiskCacheFile.bytes(of: entry, for: url)
        guard file.count <= limit else { return delete(path) }
        makeFolder(folder)
        if replace(path, by: file) { added(file.count) }
    }

    /// Runs work with the disk, which blocks its thread.
    private func value<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        let operation = queue.add { body() }
        guard let value = try? await operation.value else {
            preconditionFailure("nothing cancels the work of a cache")
        }
        return value
    }

    // MARK: Size

    private func added(_ count: Int) {
        let needsCount = usage.withLock { usage in
            usage.byteCount? += count
            usage.uncounted += count
            guard let total = usage.byteCount, total <= limit, usage.uncounted <= limit / 8 else {
                usage.uncounted = 0
                return true
            }
            return false
        }
        if needsCount { deleteOldFiles() }
    }

    /// Counts the files, and deletes the least recently used if they exceed the limit.
    private func deleteOldFiles() {
        let files = files()
        var total = files.reduce(0) { $0 + $1.size }
        if total > limit {
            for file in files.sorted(by: { $0.lastUse < $1.lastUse }) {
                // A tenth is freed, so that not every new photo needs a count.
                guard total > limit / 10 * 9 else { break }
                delete(file.path)
                total -= file.size
            }
        }
        usage.withLock { [total] in $0.byteCount = total }
    }
}

// MARK: The folder

extension PhotoDiskCache {
    private struct File {
        let path: LocalPath
        let size: Int
        let lastUse: FileTime
    }

    /// The entries in the folder. Deletes what programs that were killed have left.
    private func files() -> [File] {
        let names = (try? LocalFiles.names(in: folder, named: "")) ?? []
        return names.compactMap { name in
            let path = folder.appending(name)
            guard let status = LocalFiles.status(of: LocalFile(path)) else { return nil }
            if name.suffix(Self.partialSuffix.utf8.count).elementsEqual(Self.partialSuffix.utf8),
                status.modified.seconds < Int(Date.now.timeIntervalSince1970) - 3_600
            {
                delete(path)
            }
            let isEntry = name.suffix(DiskCacheFile.suffix.utf8.count)
                .elementsEqual(DiskCacheFile.suffix.utf8)
            guard isEntry else { return nil }
            return File(path: path, size: status.byteCount, lastUse: status.modified)
        }
    }

    private func path(of url: URL) -> LocalPath {
        folder.appending(DiskCacheFile.name(for: url).utf8)
    }

    /// Makes a folder and its missing parents, as far as that is possible.
    private func makeFolder(_ folder: LocalPath) {
        guard folder.withCString({ mkdir($0, 0o700) }) != 0, errno == ENOENT,
            let above = folder.folder
        else { return }
        makeFolder(above)
        _ = folder.withCString { mkdir($0, 0o700) }
    }

    /// Gives a file its contents in one step: a reader finds the old ones or the new ones.
    ///
    /// - Returns: whether the file has the new contents.
    private func replace(_ path: LocalPath, by bytes: [UInt8]) -> Bool {
        // Several threads and programs may write one entry at a time.
        let number = UInt64.random(in: .min ... .max).hexadecimalDigits
        let partial = folder.appending("\(number)\(Self.partialSuffix)".utf8)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        let file = partial.withCString { open($0, flags, 0o666) }
        guard file >= 0 else { return false }
        let isWritten = Self.writeAll(bytes, to: file)
        close(file)
        let isDone =
            isWritten
            && partial.withCString { old in path.withCString { rename(old, $0) } } == 0
        if !isDone { delete(partial) }
        return isDone
    }

    private static func writeAll(_ bytes: [UInt8], to file: Int32) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = systemWrite(file, UnsafeRawBufferPointer(rebasing: rest))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }

    /// Marks a file as used now.
    private func touch(_ path: LocalPath) {
        _ = path.withCString { utimensat(AT_FDCWD, $0, nil, 0) }
    }

    /// Deletes a file; another program may have deleted it already.
    private func delete(_ path: LocalPath) { _ = path.withCString { unlink($0) } }
}

// Inside `PhotoDiskCache` the name `write` is that of its method.

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(file, bytes.baseAddress, bytes.count)
}

extension FileTime {
    fileprivate static func < (a: FileTime, b: FileTime) -> Bool {
        (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
    }
}
#endif
