import PhotoPipeline

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A file at one time, whatever its name is: a file that was renamed keeps its key, and a file that
/// was changed has another one.
struct PhotoFileKey: Sendable, Hashable {
    /// The place of a file on its disk, which another file gets after the file was deleted.
    struct Place: Sendable, Hashable {
        let device: UInt64
        let inode: UInt64
    }

    let place: Place
    let byteCount: Int
    let modified: FileTime

    init(place: Place, byteCount: Int, modified: FileTime) {
        (self.place, self.byteCount, self.modified) = (place, byteCount, modified)
    }

    init(_ status: stat) {
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        self.init(
            place: Place(
                device: UInt64(truncatingIfNeeded: status.st_dev),
                inode: UInt64(truncatingIfNeeded: status.st_ino)),
            byteCount: Int(status.st_size),
            modified: FileTime(seconds: time.tv_sec, nanoseconds: time.tv_nsec))
    }
}
