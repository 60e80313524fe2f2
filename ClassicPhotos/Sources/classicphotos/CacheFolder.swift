import PhotoLibrary
import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The program's folder for what it can make again, by the XDG Base Directory Specification.
enum CacheFolder {
    /// The folder in `XDG_CACHE_HOME`, unless that is no absolute path; otherwise in `~/.cache`.
    static func url(_ environment: [String: String]) -> URL {
        let chosen = environment["XDG_CACHE_HOME"] ?? ""
        let above =
            chosen.hasPrefix("/")
            ? URL(filePath: chosen, directoryHint: .isDirectory)
            : FileManager.default.homeDirectoryForCurrentUser.appending(
                path: ".cache", directoryHint: .isDirectory)
        return above.appending(path: "classicphotos", directoryHint: .isDirectory)
    }

    private static let thumbnailBytes = 512 << 20

    /// The small pictures of lists, at most 512 MiB.
    static func thumbnails() -> PhotoDiskCache? {
        let folder = url(ProcessInfo.processInfo.environment).appending(path: "thumbnails")
        return try? PhotoDiskCache(folder: folder, byteLimit: thumbnailBytes)
    }

    /// The file of the index of photos. Without it, the program works as well, so a problem is a
    /// line and no error.
    static func index() -> PhotoIndexFile? {
        PhotoIndexFile(folder: url(ProcessInfo.processInfo.environment)) { sentence in
            Terminal.writeError("\(sentence)\n")
        }
    }
}
