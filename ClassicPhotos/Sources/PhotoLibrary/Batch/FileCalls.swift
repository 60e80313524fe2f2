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

/// The system calls that put results on the disk; tests replace them with calls that fail or
/// record.
///
/// Each call returns the result of its system call and sets `errno`.
struct FileCalls: Sendable {
    /// Writes bytes at the end of a file and returns how many were written.
    var write: @Sendable (_ file: Int32, _ bytes: UnsafeRawBufferPointer) -> Int
    /// Returns once a file or folder is on the disk, not only in memory.
    var sync: @Sendable (_ file: Int32) -> Int32
    /// Gives a file a second name, which must not exist yet; follows links in the source path.
    var link: @Sendable (_ source: NameInFolder, _ target: NameInFolder) -> Int32
    /// Renames a file; replaces an existing file of the new name.
    var rename: @Sendable (_ source: NameInFolder, _ target: NameInFolder) -> Int32

    /// The system's own calls.
    static let system = FileCalls(
        write: { file, bytes in systemWrite(file, bytes.baseAddress, bytes.count) },
        sync: { file in fsync(file) },
        link: { source, target in
            source.withCString { name in
                target.withCString {
                    linkat(source.folder, name, target.folder, $0, AT_SYMLINK_FOLLOW)
                }
            }
        },
        rename: { source, target in
            source.withCString { name in
                target.withCString { renameat(source.folder, name, target.folder, $0) }
            }
        })

    /// Writes all bytes, in as many calls as necessary.
    ///
    /// - Returns: 0, or the number of the error.
    func writeAll(_ bytes: [UInt8], to file: Int32) -> Int32 {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = write(file, UnsafeRawBufferPointer(rebasing: rest))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return count == 0 ? EIO : errno }
                rest = rest.dropFirst(count)
            }
            return 0
        }
    }

    /// Returns once the names in a folder are on the disk.
    ///
    /// - Returns: 0, or the number of the error.
    func syncFolder(_ folder: LocalPath) -> Int32 {
        let file = folder.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        // A folder with write permission but no read permission cannot be opened.
        guard file >= 0 else { return errno == EACCES ? 0 : errno }
        defer { close(file) }
        // Some file systems cannot sync a folder and return EINVAL.
        guard sync(file) != 0, errno != EINVAL else { return 0 }
        return errno
    }
}

// Inside `FileCalls` the name `write` is that of its property.

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(file, bytes, count)
}
