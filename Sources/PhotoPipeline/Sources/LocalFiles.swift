import FoundationEssentials

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The few questions that sources ask the disk, with errors that say what a person should do.
enum LocalFiles {
    enum Kind: Equatable {
        case folder
        case file(byteCount: Int)
        case link
        case other
    }

    /// What lies at a place; links are not followed.
    static func kind(of url: URL, named name: String) throws(PhotoSourceError) -> Kind {
        // Not by FileManager: the type of the size in its answer depends on whether another module
        // of the program has brought in all of Foundation.
        var status = stat()
        guard lstat(url.path(percentEncoded: false), &status) == 0 else {
            throw PhotoSourceError(reading: name, errno: errno)
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: return .folder
        case S_IFLNK: return .link
        case S_IFREG: return .file(byteCount: Int(status.st_size))
        default: return .other
        }
    }

    /// The names in a folder, in no order.
    static func names(in folder: URL, named name: String) throws(PhotoSourceError) -> [String] {
        do {
            let path = folder.path(percentEncoded: false)
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw PhotoSourceError(reading: name, error)
        }
    }

    /// The bytes of a file.
    static func bytes(of file: URL, named name: String) throws(PhotoSourceError) -> [UInt8] {
        do {
            return Array(try Data(contentsOf: file))
        } catch {
            throw PhotoSourceError(reading: name, error)
        }
    }

    /// The first bytes of a file that may be too large to be read.
    static func firstBytes(
        _ count: Int, of file: URL, named name: String
    ) throws(PhotoSourceError) -> [UInt8] {
        do {
            return Array(try Data(contentsOf: file, options: .mappedIfSafe).prefix(count))
        } catch {
            throw PhotoSourceError(reading: name, error)
        }
    }
}

extension LocalFiles {
    /// The bytes of a photo on the disk; blocks while it reads.
    static func photoBytes(of url: URL, limit: Int) -> Result<[UInt8], PhotoFailure> {
        func failure(_ reason: String) -> Result<[UInt8], PhotoFailure> {
            .failure(PhotoFailure(stage: .download, reason: reason, isRetryable: true))
        }
        let file = url.resolvingSymlinksInPath()
        do throws(PhotoSourceError) {
            guard case .file(let byteCount) = try kind(of: file, named: "file") else {
                return failure("This is no regular file.")
            }
            guard byteCount <= limit else {
                return failure("The file is larger than \(limit >> 20) MiB.")
            }
            return .success(try bytes(of: file, named: "file"))
        } catch {
            let problem = error.problem.prefix(1).uppercased() + error.problem.dropFirst()
            return failure("\(problem); \(error.advice).")
        }
    }
}

extension PhotoSourceError {
    /// The error of a failed look at the disk.
    fileprivate init(reading source: String, _ error: any Error) {
        switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile?, .fileNoSuchFile?: self.init(reading: source, errno: ENOENT)
        case .fileReadNoPermission?: self.init(reading: source, errno: EACCES)
        default: self.init(reading: source, errno: EIO)
        }
    }

    fileprivate init(reading source: String, errno code: Int32) {
        switch code {
        case ENOENT, ENOTDIR:
            self.init(
                .notFound, source: source, problem: "there is no such file or folder",
                advice: "check the name")
        case EACCES, EPERM:
            self.init(
                .notReadable, source: source, problem: "reading it is not permitted",
                advice: "check its permissions")
        default:
            self.init(
                .notReadable, source: source, problem: "it cannot be read",
                advice: "check the disk")
        }
    }
}
