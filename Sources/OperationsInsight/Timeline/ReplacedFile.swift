import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// An error that a system call reported.
struct SystemError: Error {
    let number: Int32

    static var latest: SystemError { SystemError(number: errno) }

    /// The system's description of the error.
    var reason: String { String(cString: strerror(number)) }
}

/// A temporary file that replaces another file when complete, and is removed otherwise.
final class ReplacedFile {
    private static let lastNumber = Atomic<Int>(0)

    private let path: String
    private let temporaryPath: String
    private var file: Int32

    init(_ path: String) throws(SystemError) {
        self.path = path
        let number = Self.lastNumber.add(1, ordering: .relaxed).newValue
        temporaryPath = "\(path).\(getpid()).\(number).partial"
        file = open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        if file < 0 { throw .latest }
    }

    deinit {
        guard file >= 0 else { return }
        close(file)
        unlink(temporaryPath)
    }

    func append(_ bytes: [UInt8]) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                write(file, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            }
            if count > 0 { done += count } else if count == 0 || errno != EINTR { throw .latest }
        }
    }

    func putInPlace() throws(SystemError) {
        // Some systems report only here that the disk was full.
        let result = close(file)
        file = -1
        guard result == 0, rename(temporaryPath, path) == 0 else {
            let error = SystemError.latest
            unlink(temporaryPath)
            throw error
        }
    }
}
