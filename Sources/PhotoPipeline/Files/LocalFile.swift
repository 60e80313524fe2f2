#if PhotoPipeline
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A file of this machine and, if a search in a folder has found the file, that folder.
///
/// Others may write in a folder of photos: a share, a synchronized folder, an upload. They can also
/// replace a photo, or a folder above it, by a link to any file of the machine. So a file that was
/// found in a folder is opened from that folder's descriptor, one component after the other, and no
/// component may be a link. A link that leads to a file inside the folder is followed by its
/// resolved path, in which again no component may be a link.
///
/// A person may name any file, so a file that was not found in a folder is opened by its path.
@_spi(ClassicPhotos) public struct LocalFile: Sendable, Hashable {
    /// The path of the file.
    public let path: LocalPath
    /// The folder outside of which the file must not lead, without links; nil for any place.
    public let folder: LocalPath?

    /// Names the file at a path.
    public init(_ path: LocalPath, in folder: LocalPath? = nil) {
        self.path = path
        self.folder = folder
    }

    /// The file of a URL; nil if the URL names no file.
    public init?(_ url: URL, in folder: LocalPath? = nil) {
        guard url.isFileURL, let path = LocalPath(url) else { return nil }
        self.init(path, in: folder)
    }

    /// The name in messages: the path in the folder, or the last component. A
    /// message does not tell its readers where on the machine the photos are.
    var shownName: String {
        displayText(folder.flatMap { path.suffix(below: $0) } ?? path.name)
    }

    /// Opens the file, without waiting for the other end of a pipe.
    ///
    /// - Returns: the descriptor, or -1 with `errno` set: `ELOOP` for a file that leads out of its
    ///   folder.
    public func open() -> Int32 { opened(O_RDONLY | O_CLOEXEC | O_NONBLOCK) }

    /// The size, the time and the kind of the file; nil, with `errno` set, if there is no such
    /// file.
    public var status: FileStatus? {
        var status = stat()
        guard folder != nil else {
            return path.withCString { stat($0, &status) } == 0 ? FileStatus(status) : nil
        }
        let file = opened(Self.withoutAccess | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return fstat(file, &status) == 0 ? FileStatus(status) : nil
    }

    private func opened(_ flags: Int32) -> Int32 {
        guard let folder else { return path.withCString { systemOpen($0, flags) } }
        let file = Self.open(path, below: folder, flags)
        guard file < 0, errno == ELOOP || errno == ENOTDIR else { return file }
        let code = errno
        guard let target = path.resolved else { return -1 }
        guard target != path else {
            errno = code
            return -1
        }
        return Self.open(target, below: folder, flags)
    }

    /// Opens a file, or a folder, without following links below a folder.
    static func open(_ path: LocalPath, below folder: LocalPath, _ flags: Int32) -> Int32 {
        guard let suffix = path.suffix(below: folder) else {
            errno = ELOOP
            return -1
        }
        var place = folder.withCString {
            systemOpen($0, withoutAccess | O_DIRECTORY | O_CLOEXEC)
        }
        guard place >= 0 else { return -1 }
        let components = suffix.split(separator: UInt8(ascii: "/"))
        for (index, component) in components.enumerated() where place >= 0 {
            // A folder is found by its own name only.
            guard !component.elementsEqual("..".utf8) else {
                close(place)
                errno = ELOOP
                return -1
            }
            let isLast = index == components.count - 1
            let own = isLast ? flags : withoutAccess | O_DIRECTORY | O_CLOEXEC
            let next = LocalPath(checked: Array(component)).withCString {
                openat(place, $0, own | O_NOFOLLOW)
            }
            let code = errno
            close(place)
            place = next
            errno = code
            // Without access, the system opens a link itself.
            if isLast, place >= 0, isLink(place) {
                close(place)
                errno = ELOOP
                return -1
            }
        }
        return place
    }

    private static func isLink(_ file: Int32) -> Bool {
        var status = stat()
        return fstat(file, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// Opens a folder that the program may enter, even if it may not read the folder.
    public static var withoutAccess: Int32 {
        #if os(Linux) || os(Android)
        0o10000000  // O_PATH, which Swift does not import.
        #else
        O_RDONLY
        #endif
    }
}

// Inside `LocalFile` the name `open` is that of its own methods.

private func systemOpen(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
    open(path, flags)
}
#endif
