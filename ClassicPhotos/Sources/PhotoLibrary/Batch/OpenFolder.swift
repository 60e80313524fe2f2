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

/// A folder in which files are made, linked and renamed by their names.
///
/// The names stay those of this folder, whatever becomes of the folder's path meanwhile.
final class OpenFolder: Sendable {
    let path: LocalPath
    let descriptor: Int32
    /// The folders that got a new entry when this folder was created.
    let madeFolders: [LocalPath]

    /// Opens a folder; creates it and its missing parents.
    ///
    /// - Parameter root: a folder above this one, which a person has named. No folder below it may
    ///   be a link: results would leave the folder that the person has named for them. nil if the
    ///   person has named this folder.
    init(_ path: LocalPath, below root: LocalPath? = nil) throws(FileProblem) {
        let root = root ?? path
        var made = try StagedFile.makeFolder(root)
        var place = root.withCString { open($0, Self.flags) }
        guard place >= 0 else { throw FileProblem(root, errno: errno) }
        var current = root
        let suffix = path == root ? [] : path.suffix(below: root) ?? []
        for component in suffix.split(separator: UInt8(ascii: "/")) {
            let name = NameInFolder(folder: place, Array(component))
            let above = current
            current = current.appending(component)
            defer { close(name.folder) }
            if name.withCString({ mkdirat(name.folder, $0, 0o777) }) == 0 {
                made.append(above)
            } else if errno != EEXIST {
                throw FileProblem(current, errno: errno)
            }
            place = name.withCString { openat(name.folder, $0, Self.flags | O_NOFOLLOW) }
            guard place >= 0 else {
                let code = errno
                throw name.isLink ? .isLink(current, root) : FileProblem(current, errno: code)
            }
        }
        self.path = path
        descriptor = place
        madeFolders = made
    }

    deinit { close(descriptor) }

    /// A name in this folder. Use it only while this object exists.
    func name(_ name: some Sequence<UInt8>) -> NameInFolder {
        NameInFolder(folder: descriptor, Array(name))
    }

    private static let flags = LocalFile.withoutAccess | O_DIRECTORY | O_CLOEXEC
}

extension FileProblem {
    fileprivate static func isLink(_ folder: LocalPath, _ root: LocalPath) -> FileProblem {
        FileProblem(
            refusal: "\(folder) is a link, and results are written only inside \(root). Replace "
                + "the link by a folder, or choose another folder.")
    }
}
