#if PhotoPipeline
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

/// File system queries, with errors that say what to do.
///
/// The queries call the system and not FileManager, which supports only UTF-8 names and skips all
/// others.
@_spi(ClassicPhotos) public enum LocalFiles {
    /// What is at a path.
    public enum Kind: Equatable, Sendable {
        /// A folder.
        case folder
        /// A regular file, and its size.
        case file(byteCount: Int)
        /// A link.
        case link
        /// Something else, such as a device.
        case other
    }

    /// The kind of item at a path.
    public static func kind(
        of path: LocalPath, followingLinks: Bool = false, named name: String
    ) throws(PhotoSourceError) -> Kind {
        var status = stat()
        let result = path.withCString { followingLinks ? stat($0, &status) : lstat($0, &status) }
        guard result == 0 else { throw PhotoSourceError(reading: name, errno: errno) }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: return .folder
        case S_IFLNK: return .link
        case S_IFREG: return .file(byteCount: Int(status.st_size))
        default: return .other
        }
    }

    /// The names in a folder, in no particular order.
    public static func names(
        in folder: LocalPath, named name: String
    ) throws(PhotoSourceError) -> [[UInt8]] {
        guard let stream = folder.withCString({ opendir($0) }) else {
            throw PhotoSourceError(reading: name, errno: errno)
        }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw PhotoSourceError(reading: name, errno: errno) }
                return names
            }
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else {
                preconditionFailure("a directory entry has a name")
            }
            // The entry ends after its name, so the whole struct must not be copied.
            let start = UnsafeRawPointer(entry).advanced(by: offset)
            let length = strlen(start.assumingMemoryBound(to: CChar.self))
            let bytes = Array(UnsafeRawBufferPointer(start: start, count: length))
            if bytes != Array(".".utf8), bytes != Array("..".utf8) { names.append(bytes) }
        }
    }

    /// The contents of a regular file, or only its first bytes.
    public static func bytes(
        of path: LocalPath, limit: Int = .max, named name: String
    ) throws(PhotoSourceError) -> [UInt8] {
        try bytes(of: LocalFile(path), limit: limit, named: name)
    }

    /// The contents of a regular file, or only its first bytes.
    ///
    /// Never waits for a pipe, which nobody may write to.
    public static func bytes(
        of file: LocalFile, limit: Int = .max, named name: String
    ) throws(PhotoSourceError) -> [UInt8] {
        let file = file.open()
        guard file >= 0 else { throw PhotoSourceError(reading: name, errno: errno) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw PhotoSourceError(reading: name, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(name) }
        // Reads one byte more than expected, to detect the end of the file.
        var bytes = try read(file, atMost: min(limit, Int(status.st_size) + 1), named: name)
        // The file is growing, or the system does not report its size.
        while bytes.count > Int(status.st_size), bytes.count < limit {
            let more = try read(file, atMost: min(limit - bytes.count, 1 << 20), named: name)
            if more.isEmpty { break }
            bytes += more
        }
        return bytes
    }

    /// Reads up to `limit` bytes from a file.
    private static func read(
        _ file: Int32, atMost limit: Int, named name: String
    ) throws(PhotoSourceError) -> [UInt8] {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, filled in
            while filled < limit {
                let rest = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                #if canImport(Darwin)
                let count = Darwin.read(file, rest.baseAddress, rest.count)
                #elseif canImport(Musl)
                let count = Musl.read(file, rest.baseAddress, rest.count)
                #else
                let count = Glibc.read(file, rest.baseAddress, rest.count)
                #endif
                if count < 0, errno == EINTR { continue }
                if count < 0 { code = errno }
                guard count > 0 else { return }
                filled += count
            }
        }
        guard code == 0 else { throw PhotoSourceError(reading: name, errno: code) }
        return bytes
    }
}

@_spi(ClassicPhotos) extension LocalFiles {
    /// The contents of a photo on the disk; blocks while reading.
    ///
    /// - Parameter folder: the folder outside of which the file must not lead; nil for any place.
    static func photoBytes(
        of url: URL, in folder: LocalPath?, limit: Int
    ) -> Result<[UInt8], PhotoFailure> {
        func failure(
            _ reason: String, _ code: PhotoFailure.Cause.Code, _ values: [String: String]
        ) -> Result<[UInt8], PhotoFailure> {
            .failure(
                PhotoFailure(
                    stage: .download, reason: reason, isRetryable: true,
                    cause: .init(code, values)))
        }
        guard let file = LocalFile(url, in: folder) else {
            return failure("There is no file with that name.", .noFile, ["name": ""])
        }
        let name = file.shownName
        do throws(PhotoSourceError) {
            // One byte more than the limit reveals that the file is larger.
            let bytes = try bytes(of: file, limit: limit + 1, named: name)
            guard bytes.count <= limit else {
                return failure(
                    "\(name) is larger than \(limit >> 20) MiB.", .fileTooLarge,
                    ["limit": "\(limit >> 20)"])
            }
            return .success(bytes)
        } catch {
            if error == .notAFile(name) {
                return failure("\(name) is not a regular file.", .notAFile, ["name": name])
            }
            let isMissing = error.kind == .notFound
            return failure(
                "\(error).", isMissing ? .noFile : .fileNotReadable, ["name": name])
        }
    }

    /// The version of a file on the disk; nil if there is no such file.
    public static func version(of file: LocalFile) -> PhotoVersion? {
        status(of: file).map { PhotoVersion(byteCount: $0.byteCount, modified: $0.modified) }
    }

    /// The size and the time of a file; nil if there is no such file.
    public static func status(of file: LocalFile) -> (byteCount: Int, modified: FileTime)? {
        file.status.map { ($0.byteCount, $0.modified) }
    }
}

extension PhotoSourceError {
    fileprivate static func notAFile(_ name: String) -> PhotoSourceError {
        PhotoSourceError(
            .notReadable, source: name, problem: "it is not a regular file",
            advice: "move it, or name a file")
    }

    fileprivate init(reading source: String, errno code: Int32) {
        switch code {
        case ENOENT, ENOTDIR:
            self.init(
                .notFound, source: source, problem: "there is no such file or folder",
                advice: "check the name")
        case EACCES, EPERM:
            self.init(
                .notReadable, source: source, problem: "you do not have permission to read it",
                advice: "check its permissions")
        case ELOOP:
            self.init(
                .notReadable, source: source, problem: "it has become a link out of its folder",
                advice: "name the target of the link")
        default:
            self.init(
                .notReadable, source: source, problem: "it cannot be read",
                advice: "check the disk")
        }
    }
}
#endif
