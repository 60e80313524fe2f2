import PhotoImaging
@_spi(ClassicPhotos) import PhotoPipeline

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
    private let followsLinks: Bool
    private let limits: PhotoListLimits
    private var builder: PhotoListBuilder
    private var skippedFileCount = 0
    private var unsupportedFiles: [PhotoList.UnsupportedFile] = []
    private var folders: [LocalPath] = []
    private var outwardLinkCount = 0
    /// The folders that were entered, if links are followed: links can make a circle, and several
    /// of them can lead to one folder.
    private var visited: Set<Place> = []
    /// The folder outside of which the photos that are found now must not lead.
    private var boundary: LocalPath

    /// What is the same for all paths of a folder.
    private struct Place: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    init(
        _ folder: URL, named name: String, entersSubfolders: Bool, followsLinks: Bool,
        limits: PhotoListLimits
    ) throws(PhotoSourceError) {
        // Resolved once, so that "inside the folder" can be decided by comparing paths.
        guard let path = LocalPath(folder) else {
            throw PhotoSourceError(
                .notFound, source: name, problem: "there is no such file or folder",
                advice: "check the name")
        }
        self.root = path.resolved ?? path
        self.boundary = root
        self.name = name
        self.entersSubfolders = entersSubfolders
        self.followsLinks = followsLinks
        self.limits = limits
        self.builder = PhotoListBuilder(source: name, baseURL: folder, limits: limits)
    }

    mutating func read() throws(PhotoSourceError) -> PhotoList {
        let names = try LocalFiles.names(in: root, named: name)
        _ = isFirstVisit(of: root)
        try walk(root, names: names, path: [], depth: 0)
        return PhotoList(
            records: builder.records, skippedFileCount: skippedFileCount,
            unsupportedFiles: unsupportedFiles, outwardLinkCount: outwardLinkCount,
            folders: folders)
    }

    /// Folders in which network storage and systems keep previews, deleted files and their own
    /// data, in lower case. Most systems do not tell lower from upper case in them.
    private static let systemFolders: Set<String> = [
        // Synology and QNAP, whose previews have the names of the photos.
        "@eadir", "#recycle", "#snapshot", "@tmp", "@recycle", "@recently-snapshot", "@__thumb",
        // Windows, Linux, and archives that a Mac has made.
        "$recycle.bin", "system volume information", "recycler", "lost+found", "__macosx",
    ]

    private static func isSystemFolder(_ name: [UInt8]) -> Bool {
        systemFolders.contains(displayText(name).lowercased())
    }

    /// The error of a folder in which nothing was found.
    var noPictures: PhotoSourceError {
        let count = skippedFileCount + unsupportedFiles.count
        let files = count == 1 ? "1 other file" : "\(count) other files"
        let others = count == 0 ? "" : ", only \(files)"
        let formats = Set(unsupportedFiles.map(\.format)).sorted().joined(separator: ", ")
        let unsupported = formats.isEmpty ? "" : " (unsupported: \(formats))"
        let links =
            switch outwardLinkCount {
            case _ where followsLinks: ""
            case 0: ""
            case 1: ", and 1 link that leads out of it"
            case let count: ", and \(count) links that lead out of it"
            }
        return PhotoSourceError(
            .noPhotos, source: name,
            problem: "the folder contains no pictures\(others)\(unsupported)\(links)",
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
            try visit(folder.appending(name), named: name, path: path + name, depth: depth)
        }
    }

    private mutating func visit(
        _ item: LocalPath, named component: [UInt8], path: [UInt8], depth: Int
    ) throws(PhotoSourceError) {
        // An item that has vanished since its folder was read is not an error.
        guard let kind = try? LocalFiles.kind(of: item, named: name) else { return }
        switch kind {
        case .folder where !entersSubfolders || Self.isSystemFolder(component): break
        case .folder:
            guard isFirstVisit(of: item) else { break }
            try enter(item, path: path, depth: depth)
        case .file:
            try take(item, path: path)
        case .link:
            try visit(link: item, named: component, path: path, depth: depth)
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
            try builder.add(
                name: text, nameBytes: isText ? nil : path, url: file.url, in: boundary)
        } else if let format = UnsupportedFormat(of: path) {
            unsupportedFiles.append(.init(name: text, format: format.name, reason: format.reason))
        } else if !PictureFiles.isSidecar(named: path) {
            skippedFileCount += 1
        }
    }

    /// Excludes raw files that are not read and start like TIFF files.
    private func hasUnsupportedExtension(_ path: [UInt8]) -> Bool {
        UnsupportedFormat(of: path) != nil
    }

    private func hasPictureSignature(_ file: LocalPath) -> Bool {
        let start = try? LocalFiles.bytes(
            of: LocalFile(file, in: boundary), limit: ImageFormat.signatureLength, named: name)
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

    // MARK: Links

    /// Adds the target of a link: a file inside the folder, and with ``followsLinks`` also a file
    /// or folder outside of it.
    ///
    /// The record gets the URL of the target, not of the link, so that changing the link later has
    /// no effect. A folder inside the folder is found without its link.
    private mutating func visit(
        link: LocalPath, named component: [UInt8], path: [UInt8], depth: Int
    ) throws(PhotoSourceError) {
        guard let target = link.resolved, let kind = try? LocalFiles.kind(of: target, named: name)
        else {
            skippedFileCount += 1
            return
        }
        let isInside = target == root || target.suffix(below: root) != nil
        switch kind {
        case .file where isInside:
            try inside(root) { reader throws(PhotoSourceError) in
                try reader.take(target, path: path)
            }
        case .file:
            guard PictureFiles.isPicture(named: path) || PictureFiles.isPicture(named: target.bytes)
            else {
                skippedFileCount += 1
                return
            }
            outwardLinkCount += 1
            guard followsLinks, let folder = target.folder else { return }
            try inside(folder) { reader throws(PhotoSourceError) in
                try reader.take(target, path: path)
            }
        case .folder where isInside: break
        case .folder:
            guard entersSubfolders, !Self.isSystemFolder(component) else { return }
            outwardLinkCount += 1
            guard followsLinks, isFirstVisit(of: target) else { return }
            try inside(target) { reader throws(PhotoSourceError) in
                try reader.enter(target, path: path, depth: depth)
            }
        case .link, .other: skippedFileCount += 1
        }
    }

    /// Finds photos that must not lead out of a folder.
    private mutating func inside(
        _ folder: LocalPath, _ find: (inout FolderReader) throws(PhotoSourceError) -> Void
    ) throws(PhotoSourceError) {
        let outer = boundary
        defer { boundary = outer }
        boundary = folder
        try find(&self)
    }

    /// Whether a folder is entered for the first time. Without links, every folder is.
    private mutating func isFirstVisit(of folder: LocalPath) -> Bool {
        guard followsLinks else { return true }
        guard let status = LocalFile(folder).status else { return false }
        return visited.insert(Place(device: status.device, inode: status.inode)).inserted
    }
}
