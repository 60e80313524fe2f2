#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Runs a closure with a new folder, and removes the folder afterwards.
public func withTemporaryFolder<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: (URL) async throws -> Value
) async throws -> Value {
    let manager = FileManager.default
    let folder = manager.temporaryDirectory.appending(path: "photos-\(UUID().uuidString)")
    try manager.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? manager.removeItem(at: folder) }
    return try await body(folder)
}

extension URL {
    /// The path in the system's form.
    public var systemPath: String { path(percentEncoded: false) }
}

/// The names of all files in a folder and its subfolders, including hidden files, except the log of
/// results.
public func files(below folder: URL) throws -> Set<String> {
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.systemPath)
    return Set(
        names.filter { name in
            guard !name.hasSuffix(".classicphotos-results.jsonl") else { return false }
            var isFolder = false
            let path = folder.appending(path: name).systemPath
            return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder
        })
}
