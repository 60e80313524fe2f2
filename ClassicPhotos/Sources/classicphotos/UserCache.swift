import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The folder in which the program keeps what it can make again.
enum UserCache {
    /// The user's folder for the caches of this program; nil if the user has no home.
    ///
    /// As the XDG Base Directory Specification says: below `XDG_CACHE_HOME`, which must be an
    /// absolute path, otherwise below `.cache` in the home.
    static func folder(
        _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> URL? {
        func absolute(_ name: String) -> URL? {
            environment[name].flatMap { $0.hasPrefix("/") ? URL(filePath: $0) : nil }
        }
        let caches = absolute("XDG_CACHE_HOME") ?? absolute("HOME")?.appending(path: ".cache")
        return caches?.appending(path: "classicphotos")
    }

    private static let thumbnailBytes = 512 << 20

    /// The small pictures of lists, at most 512 MiB.
    static func thumbnails() -> PhotoDiskCache? {
        folder().flatMap {
            try? PhotoDiskCache(folder: $0.appending(path: "thumbnails"), byteLimit: thumbnailBytes)
        }
    }
}
