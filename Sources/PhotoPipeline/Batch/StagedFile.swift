#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Why a file could not be written; a sentence for people.
struct FileProblem: Error, Equatable {
    let sentence: String

    init(_ path: String, errno code: Int32) {
        let reason = String(cString: strerror(code))
        let advice =
            switch code {
            case ENOSPC, EDQUOT: " Free some space, then run the same command again."
            case EACCES, EPERM, EROFS: " Choose a folder that you may write to."
            default: ""
            }
        sentence = "\(path) cannot be written: \(reason).\(advice)"
    }
}

/// Writes files so that their names never stand for half a content.
///
/// The bytes go into a file that has no name yet, where the system offers that, and else into a hidden
/// one beside the target; then one step gives it its name. Whatever stops the program in between, the
/// target is as before or complete.
enum AtomicFile {
    /// Names of files that were being written when the program was killed end like this.
    static let partialSuffix = ".classicphotos-partial"

    static func write(_ bytes: [UInt8], to path: OutputPath) throws(FileProblem) {
        try makeFolders(of: path)
        let partial = "\(path.folder)/.\(path.name).\(getpid())\(partialSuffix)"
        #if os(Linux)
        if try writeUnnamed(bytes, in: path.folder, linking: partial, to: path.text) { return }
        #endif
        let file = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard file >= 0 else { throw FileProblem(path.text, errno: errno) }
        do throws(FileProblem) {
            defer { close(file) }
            try fill(file, with: bytes, path: path.text)
        } catch {
            unlink(partial)
            throw error
        }
        try rename(partial, to: path.text)
    }

    #if os(Linux)
    /// False if the file system has no unnamed files.
    private static func writeUnnamed(
        _ bytes: [UInt8], in folder: String, linking partial: String, to path: String
    ) throws(FileProblem) -> Bool {
        // O_TMPFILE is __O_TMPFILE | O_DIRECTORY; the first is not imported.
        let unnamed = open(folder, O_WRONLY | O_CLOEXEC | 0o20000000 | O_DIRECTORY, 0o666)
        guard unnamed >= 0 else { return false }
        defer { close(unnamed) }
        try fill(unnamed, with: bytes, path: path)
        unlink(partial)
        // A link cannot replace a file; a rename can.
        let source = "/proc/self/fd/\(unnamed)"
        guard linkat(AT_FDCWD, source, AT_FDCWD, partial, AT_SYMLINK_FOLLOW) == 0 else {
            return false
        }
        try rename(partial, to: path)
        return true
    }
    #endif

    private static func fill(
        _ file: Int32, with bytes: [UInt8], path: String
    ) throws(FileProblem) {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { rest in
                #if canImport(Darwin)
                Darwin.write(file, rest.baseAddress, rest.count)
                #elseif canImport(Musl)
                Musl.write(file, rest.baseAddress, rest.count)
                #else
                Glibc.write(file, rest.baseAddress, rest.count)
                #endif
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileProblem(path, errno: errno) }
            written += count
        }
    }

    private static func rename(_ partial: String, to path: String) throws(FileProblem) {
        #if canImport(Darwin)
        let result = Darwin.rename(partial, path)
        #elseif canImport(Musl)
        let result = Musl.rename(partial, path)
        #else
        let result = Glibc.rename(partial, path)
        #endif
        guard result == 0 else {
            let code = errno
            unlink(partial)
            throw FileProblem(path, errno: code)
        }
    }

    /// Makes the folders above the file that do not exist yet.
    private static func makeFolders(of path: OutputPath) throws(FileProblem) {
        guard access(path.folder, F_OK) != 0 else { return }
        var folder = path.folder.hasPrefix("/") ? "" : "."
        for part in path.folder.split(separator: "/") {
            folder += "/\(part)"
            guard mkdir(folder, 0o777) == 0 || errno == EEXIST else {
                throw FileProblem(folder, errno: errno)
            }
        }
    }
}
