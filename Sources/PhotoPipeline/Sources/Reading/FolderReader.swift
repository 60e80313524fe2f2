import FoundationEssentials

/// Walks through a folder and collects its pictures.
struct FolderReader {
    private let root: URL
    private let name: String
    private let limits: PhotoListLimits
    private var builder: PhotoListBuilder
    private var skippedFileCount = 0

    init(_ folder: URL, named name: String, limits: PhotoListLimits) {
        // Resolved once, so that "inside the folder" is a question about paths alone.
        self.root = folder.resolvingSymlinksInPath()
        self.name = name
        self.limits = limits
        self.builder = PhotoListBuilder(source: name, baseURL: folder, limits: limits)
    }

    mutating func read() throws(PhotoSourceError) -> PhotoList {
        try walk(root, names: try LocalFiles.names(in: root, named: name), path: "", depth: 0)
        guard !builder.records.isEmpty else {
            let others = skippedFileCount == 0 ? "" : " among its \(skippedFileCount) files"
            throw PhotoSourceError(
                .noPhotos, source: name, problem: "there are no pictures in the folder\(others)",
                advice: "expected files that end in "
                    + PictureFiles.extensions.map { ".\($0)" }.joined(separator: " "))
        }
        return PhotoList(records: builder.records, skippedFileCount: skippedFileCount)
    }

    private mutating func walk(
        _ folder: URL, names: [String], path: String, depth: Int
    ) throws(PhotoSourceError) {
        let visible = names.filter { !$0.hasPrefix(".") }.map(NaturalOrder.init).sorted()
        for name in visible.map(\.name) {
            let item = folder.appending(component: name, directoryHint: .notDirectory)
            try visit(item, path: path + name, depth: depth)
        }
    }

    private mutating func visit(_ item: URL, path: String, depth: Int) throws(PhotoSourceError) {
        // What vanished since its folder was read is not there, which is no error.
        guard let kind = try? LocalFiles.kind(of: item, named: path) else { return }
        switch kind {
        case .folder:
            try enter(item, path: path, depth: depth)
        case .file where PictureFiles.isPicture(named: path):
            try builder.add(name: path, url: item)
        case .link where PictureFiles.isPicture(named: path):
            if let target = pictureInside(item) {
                try builder.add(name: path, url: target)
            } else {
                skippedFileCount += 1
            }
        case .file, .link, .other:
            skippedFileCount += 1
        }
    }

    private mutating func enter(_ folder: URL, path: String, depth: Int) throws(PhotoSourceError) {
        guard depth < limits.depth else {
            return try passOver(
                path, because: "folders are nested deeper than \(limits.depth) levels")
        }
        let names: [String]
        do throws(PhotoSourceError) {
            names = try LocalFiles.names(in: folder, named: path)
        } catch {
            return try passOver(path, because: error.problem)
        }
        try walk(folder, names: names, path: path + "/", depth: depth + 1)
    }

    private mutating func passOver(
        _ path: String, because problem: String
    ) throws(PhotoSourceError) {
        let reason = "The folder \(quoted(path)) was passed over: \(problem)."
        try builder.addFailure(name: path + "/", reason: reason)
    }

    /// Where a link leads, if that is a regular file inside the folder.
    ///
    /// The record gets the target's URL rather than the link's, so that a link which is turned
    /// elsewhere later leads nowhere.
    private func pictureInside(_ link: URL) -> URL? {
        let target = link.resolvingSymlinksInPath()
        let rootPath = root.path(percentEncoded: false)
        let prefix = rootPath.hasSuffix("/") ? rootPath : rootPath + "/"
        guard target.path(percentEncoded: false).hasPrefix(prefix),
            case .file? = try? LocalFiles.kind(of: target, named: name)
        else { return nil }
        return target
    }
}
