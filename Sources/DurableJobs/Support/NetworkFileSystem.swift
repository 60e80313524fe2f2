#if DurableJobs
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
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

/// File systems of other machines, on which SQLite's locks do not hold.
enum NetworkFileSystem {
    /// The types as the kernel names them, and the names for people.
    static let types = [
        "nfs": "NFS", "nfs4": "NFS", "cifs": "CIFS", "smb3": "SMB", "smbfs": "SMB", "afs": "AFS",
        "ceph": "Ceph", "9p": "9P", "fuse.sshfs": "SSHFS", "glusterfs": "GlusterFS",
        "fuse.glusterfs": "GlusterFS", "lustre": "Lustre",
    ]

    /// - Throws: ``JobError/unusableStore(store:reason:)`` if the file is, or would be, on one.
    static func refuse(_ path: String) throws {
        #if canImport(Darwin)
        let folder = PathText.folder(of: path)
        var system = statfs()
        guard statfs(path, &system) == 0 || statfs(folder, &system) == 0,
            system.f_flags & UInt32(MNT_LOCAL) == 0
        else { return }
        let type = withUnsafeBytes(of: system.f_fstypename) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        throw unusable(path, on: types[type] ?? type)
        #else
        guard let mounts = try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)
        else { return }
        let folder = PathText.folder(of: path)
        let found = resolved(path) ?? resolved(folder)
        if let found { try refuse(path, resolved: found, mounts: mounts) }
        #endif
    }

    /// - Parameters:
    ///   - resolved: the absolute path of the file or its folder, without symbolic links.
    ///   - mounts: the text of /proc/self/mounts.
    static func refuse(_ path: String, resolved: String, mounts: String) throws {
        var (longest, type) = ("", "")
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count >= 3 else { continue }
            // The kernel writes a space in a path as an octal number.
            let point = String(fields[1]).replacing("\\040", with: " ")
            let isAbove =
                point == "/" || resolved == point || resolved.utf8.starts(with: "\(point)/".utf8)
            // A later line hides an earlier one.
            if isAbove, point.utf8.count >= longest.utf8.count {
                (longest, type) = (point, String(fields[2]))
            }
        }
        if let name = types[type] { throw unusable(path, on: name) }
    }

    private static func unusable(_ path: String, on name: String) -> JobError {
        .unusableStore(
            store: path,
            reason:
                "it is on \(name), where several machines cannot lock a SQLite file; use a local "
                + "folder, or PostgreSQL")
    }

    private static func resolved(_ path: String) -> String? {
        guard let result = realpath(path, nil) else { return nil }
        defer { free(result) }
        return String(cString: result)
    }
}
#endif
