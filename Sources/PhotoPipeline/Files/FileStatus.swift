#if PhotoPipeline
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// What the system says of a file.
@_spi(ClassicPhotos) public struct FileStatus: Sendable, Hashable {
    /// The number of the disk.
    public let device: UInt64
    /// The number of the file on its disk, which another file gets after the file was deleted.
    public let inode: UInt64
    /// The size in bytes.
    public let byteCount: Int
    /// The time of the last change.
    public let modified: FileTime
    /// Whether this is no folder, and nothing else than a file.
    public let isRegularFile: Bool

    init(_ status: stat) {
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
        byteCount = Int(status.st_size)
        modified = FileTime(seconds: time.tv_sec, nanoseconds: time.tv_nsec)
        isRegularFile = status.st_mode & S_IFMT == S_IFREG
    }
}
#endif
