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

    /// The error's number; nil for a file that is not written because of what is there already.
    let code: Int32?

    init(_ path: some CustomStringConvertible, errno code: Int32) {
        let reason = String(cString: strerror(code))
        let advice =
            switch code {
            case ENOSPC, EDQUOT: " Free some space, then run the same command again."
            case EACCES, EPERM, EROFS: " Choose a folder that you may write to."
            case ENOTDIR: " Choose another folder; there is a file of that name."
            default: ""
            }
        sentence = "\(path) cannot be written: \(reason).\(advice)"
        self.code = code
    }

    init(refusal sentence: String) {
        self.sentence = sentence
        code = nil
    }

    /// Whether every other file of the folder would fail in the same way: the disk is full, the
    /// quota is used up, or nothing may be written to the file system.
    var concernsAllFiles: Bool { [ENOSPC, EDQUOT, EROFS].contains(code) }

    /// The same problem, said of something else.
    func about(_ path: some CustomStringConvertible) -> FileProblem {
        code.map { FileProblem(path, errno: $0) } ?? self
    }
}
