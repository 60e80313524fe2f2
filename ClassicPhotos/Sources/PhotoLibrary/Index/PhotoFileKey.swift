@_spi(ClassicPhotos) import PhotoPipeline

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

    init(_ status: FileStatus) {
        self.init(
            place: Place(device: status.device, inode: status.inode), byteCount: status.byteCount,
            modified: status.modified)
    }
}
