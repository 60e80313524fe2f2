import FoundationEssentials
import PhotoPipeline

/// The folder that results go to, and what must not be read from it.
struct OutputFolder {
    let path: String
    private let resolved: String

    /// Makes the folder if need be.
    init(_ path: String) throws {
        self.path = path
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw Stop("\(path) is not a folder that results can go to: \(Self.reason(error))")
        }
        resolved = Self.resolve(URL(filePath: path, directoryHint: .isDirectory))
    }

    /// The photos without those that lie in the folder itself, which are results of an earlier run.
    ///
    /// - Throws: a message if that leaves nothing, because then the originals would be replaced.
    func recordsToProcess(of records: [PhotoRecord]) throws -> [PhotoRecord] {
        let rest = records.filter { record in
            guard let url = record.url, url.isFileURL else { return true }
            return !Self.resolve(url).hasPrefix(resolved + "/")
        }
        guard !rest.isEmpty else {
            throw Stop(
                "\(path) is where the originals are. Choose another folder with --out, so that they "
                    + "are not replaced.")
        }
        return rest
    }

    private static func resolve(_ url: URL) -> String {
        var path = url.absoluteURL.resolvingSymlinksInPath().path(percentEncoded: false)
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }

    private static func reason(_ error: any Error) -> String {
        switch (error as? CocoaError)?.code {
        case .fileWriteFileExists?: "a file of that name exists. Choose another one with --out."
        case .fileWriteNoPermission?:
            "writing there is not permitted. Choose another one with --out."
        case .fileWriteOutOfSpace?: "the disk is full."
        default: "it cannot be made. Choose another one with --out."
        }
    }
}
