#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// The reason why a file could not be written.
struct FileProblem: Error, Equatable {
    /// The reason for people, as one or more sentences.
    let message: String

    /// The number of the error; nil if an existing file prevents the write.
    let code: Int32?

    /// The file that the result may not replace.
    let existing: String?

    init(_ path: some CustomStringConvertible, errno code: Int32) {
        let reason = String(cString: strerror(code))
        let advice =
            switch code {
            case ENOSPC, EDQUOT: " Free some space, then try again."
            case EACCES, EPERM, EROFS: " Choose a folder that you can write to."
            case ENOTDIR: " A file with that name exists. Choose another folder."
            default: ""
            }
        message = "\(path) cannot be written: \(reason).\(advice)"
        self.code = code
        existing = nil
    }

    /// - Parameter path: the file that is there, if it would be replaced with the option to do so.
    init(refusal message: String, existing path: OutputPath? = nil) {
        self.message = message
        code = nil
        existing = path?.description
    }

    /// Whether every other file in the folder would fail too: the disk is full, the quota is used
    /// up, or the file system is read-only.
    var affectsAllFiles: Bool { [ENOSPC, EDQUOT, EROFS].contains(code) }

    /// The same problem for another path.
    func about(_ path: some CustomStringConvertible) -> FileProblem {
        code.map { FileProblem(path, errno: $0) } ?? self
    }
}
