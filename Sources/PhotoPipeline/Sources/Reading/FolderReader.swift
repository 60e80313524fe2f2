#if PhotoPipeline
import PhotoImaging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Walks through a folder and collects its pictures.
struct FolderReader {
    private let root: LocalPath
    private let name: String
    private let entersSubfolders: Bool
    private let limits: PhotoListLimits
    private var builder: PhotoListBuilder
    private var skippedFileCount = 0
    private var unsupportedFiles: [PhotoList.UnsupportedFile] = []
    private var folders: [LocalPath] = []

    init(
        _ folder: URL, named name: String, entersSubfolders: Bool, limits: PhotoListLimits
    ) throws(PhotoSourceError) {
        // Resolved once, so that "inside the folder" can be decided by comparing paths.
        guard let path = LocalPath(folder) else {
            throw PhotoSourceError(
                .notFound, source: name, problem: "there is no such file or folder",
                advice: "check the name")
        }
        self.root = path.resolved ?? path
        self.name = name
        self.entersSubfolders = entersSubfolders
        self.limits = limits
        self.builder = PhotoListBuilder(source: name, baseURL: folder, limits: limits)
    }

    mutating func read() throws(PhotoSourceError) -> PhotoList {
        try walk(root, names: try LocalFiles.names(in: root, named: name), path: [], depth: 0)
        guard !builder.records.isEmpty else { throw noPictures }
        return PhotoList(
            records: builder.records, skippedFileCount: skippedFileCount,
            unsupportedFiles: unsupportedFiles, folders: folders)
    }

    private var noPictures: PhotoSourceError {
        let count = skippedFileCount + unsupportedFiles.count
        let files = count == 1 ? "1 other file" : "\(count) other files"
        let others = count == 0 ? "" : ", only \(files)"
        let formats = Set(unsupportedFiles.map(\.format)).sorted().joined(separator: ", ")
        let unsupported = formats.isEmpty ? "" : " (unsupported: \(formats))"
        return PhotoSourceError(
            .noPhotos, source: name,
            problem: "the folder contains no pictures\(others)\(unsupported)",
            advice: "expected files that end in "
                + PictureFiles.extensions.map { ".\($0)" }.joined(separator: " "))
    }

    /// - Parameter path: the folder's path relative to the root, with a trailing slash unless it is
    ///   empty.
    private mutating func walk(
        _ folder: LocalPath, names: [[UInt8]], path: [UInt8], depth: Int
    ) throws(PhotoSourceError) {
        folders.append(folder)
        let visible = names.filter { $0.first != UInt8(ascii: ".") }
            .map { (order: NaturalOrder(displayText($0)), bytes: $0) }
            .sorted { left, right in
                // Names that look alike are ordered by their bytes.
                left.order == right.order
                    ? left.bytes.lexicographicallyPrecedes(right.bytes) : left.order < right.order
            }
        for (_, name) in visible {
            try visit(folder.appending(name), path: path + name, depth: depth)
        }
    }

    private mutating func visit(
        _ item: LocalPath, path: [UInt8], depth: Int
    ) throws(PhotoSourceError) {
        // An item that has vanished since its folder was read is not an error.
        guard let kind = try? LocalFiles.kind(of: item, named: name) else { return }
        switch kind {
        case .folder where !entersSubfolders: break
        case .folder:
            try enter(item, path: path, depth: depth)
        case .file:
            try take(item, path: path)
        case .link:
            if let target = fileInside(item) {
                try take(target, path: path)
            } else {
                skippedFileCount += 1
            }
        case .other:
            skippedFileCount += 1
        }
    }

    /// Adds a regular file if its name, or for an unknown extension its first bytes, are those of a
    /// picture.
    private mutating func take(_ file: LocalPath, path: [UInt8]) throws(PhotoSourceError) {
        let text = displayText(path)
        if PictureFiles.isPicture(named: path)
            || !hasUnsupportedExtension(path) && hasPictureSignature(file)
        {
            let isText = String(validating: path, as: UTF8.self) != nil
            try builder.add(name: text, nameBytes: isText ? nil : path, url: file.url, in: root)
        } else if let format = UnsupportedFormat(of: path) {
            unsupportedFiles.append(.init(name: text, format: format.name, reason: format.reason))
        } else {
            skippedFileCount += 1
        }
    }

    /// Excludes a camera's raw files, which start like TIFF files.
    private func hasUnsupportedExtension(_ path: [UInt8]) -> Bool {
        UnsupportedFormat(of: path) != nil
    }

    private func hasPictureSignature(_ file: LocalPath) -> Bool {
        let start = try? LocalFiles.bytes(
            of: LocalFile(file, in: root), limit: ImageFormat.signatureLength, named: name)
        return start.map { PictureFiles.isPicture($0) } ?? false
    }

    private mutating func enter(
        _ folder: LocalPath, path: [UInt8], depth: Int
    ) throws(PhotoSourceError) {
        guard depth < limits.depth else {
            return try skipFolder(
                path, because: "folders are nested deeper than \(limits.depth) levels")
        }
        let names: [[UInt8]]
        do throws(PhotoSourceError) {
            names = try LocalFiles.names(in: folder, named: displayText(path))
        } catch {
            return try skipFolder(path, because: error.problem)
        }
        try walk(folder, names: names, path: path + "/".utf8, depth: depth + 1)
    }

    private mutating func skipFolder(
        _ path: [UInt8], because problem: String
    ) throws(PhotoSourceError) {
        let name = displayText(path)
        let reason = "The folder \(quoted(name)) was skipped: \(problem)."
        try builder.addFailure(
            name: name + "/", reason: reason,
            cause: .init(.folderSkipped, ["name": name, "detail": problem]))
    }

    /// The target of a link, if the target is a regular file inside the folder.
    ///
    /// The record gets the URL of the target, not of the link, so that changing the link later has
    /// no effect.
    private func fileInside(_ link: LocalPath) -> LocalPath? {
        guard let target = link.resolved, target.suffix(below: root) != nil,
            case .file? = try? LocalFiles.kind(of: target, named: name)
        else { return nil }
        return target
    }
}
#endif
