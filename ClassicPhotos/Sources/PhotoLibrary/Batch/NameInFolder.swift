@_spi(ClassicPhotos) import PhotoPipeline

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A name in an open folder, or a path.
struct NameInFolder: Sendable {
    let folder: Int32
    let name: [UInt8]

    init(folder: Int32, _ name: [UInt8]) {
        self.folder = folder
        self.name = name
    }

    /// A path, which is no name in an open folder.
    init(path: LocalPath) { self.init(folder: AT_FDCWD, path.bytes) }

    func withCString<Value>(_ body: (UnsafePointer<CChar>) -> Value) -> Value {
        (name + [0]).withUnsafeBytes { buffer in
            guard let start = buffer.assumingMemoryBound(to: CChar.self).baseAddress else {
                preconditionFailure("an array with a zero byte in it has an address")
            }
            return body(start)
        }
    }

    /// The kind and the size of what has the name, also of a link; nil, with `errno` set, if
    /// nothing has it.
    var status: stat? {
        var status = stat()
        return withCString { fstatat(folder, $0, &status, AT_SYMLINK_NOFOLLOW) } == 0 ? status : nil
    }

    var isLink: Bool { status.map { $0.st_mode & S_IFMT == S_IFLNK } ?? false }

    func remove() { _ = withCString { unlinkat(folder, $0, 0) } }
}
