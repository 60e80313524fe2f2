import FoundationEssentials
package import Imaging

/// A photo of a batch in a form that can be stored, and that another process or machine can carry
/// out: where the photo is, what to make of it, and the name of the result.
package struct PhotoTask: Sendable, Hashable, Codable {
    /// The name for display.
    package let name: String
    /// The URL of the photo, with all bytes of a local path percent-encoded.
    package let source: String
    package let recipe: PhotoRecipe
    /// Whether to make the result again even if it is up to date.
    package let redoes: Bool
    private let result: StoredName

    /// ``ResultName`` with text instead of bytes.
    private struct StoredName: Hashable, Codable {
        let base: String
        var number: Int?
        var unnumbered: ImageFormat?
    }

    fileprivate init?(
        _ record: PhotoRecord, _ url: URL, _ name: ResultName, _ options: PhotoBatch.Options
    ) {
        guard let base = String(validating: name.base, as: UTF8.self) else { return nil }
        self.name = record.name
        source = url.absoluteURL.absoluteString
        recipe = options.recipe
        redoes = options.redoesAll
        result = StoredName(base: base, number: name.number, unnumbered: name.unnumbered)
    }

    fileprivate var resultName: ResultName {
        ResultName(
            base: Array(result.base.utf8), number: result.number, unnumbered: result.unnumbered)
    }

    /// The path of the result in a folder.
    package func path(in folder: OutputFolder, writtenAs format: ImageFormat) -> OutputPath {
        OutputPath(folder: folder.path, relativePath: resultName.bytes(writtenAs: format))
    }

    /// The folder of a local photo, for display, if it does not exist on this machine.
    package var missingSourceFolder: String? {
        guard let url = URL(string: source), url.isFileURL,
            let folder = LocalPath(url).map({ $0.folder ?? .root })
        else { return nil }
        let kind = try? LocalFiles.kind(of: folder, followingLinks: true, named: "folder")
        return kind == .folder ? nil : folder.description
    }
}

extension PhotoBatch {
    /// What is left to do for a photo of a list.
    package enum Step: Sendable {
        /// Nothing: the photo has this result already.
        case ended(Result)
        case task(PhotoTask)
    }

    /// Returns what is left to do for each photo of a list.
    ///
    /// Blocks for two queries of the disk a photo.
    package func steps(_ records: [PhotoRecord]) -> [Step] {
        let names = names(of: records)
        return records.enumerated().map { position, record in
            if let failure = record.state.failure { return .ended(.failed(failure)) }
            guard let url = record.url else { return .ended(.cancelled) }
            if let earlier = earlierResult(of: record, at: position, names), earlier.isCurrent {
                return .ended(.unchanged(earlier.path))
            }
            let name = names.name(of: record, at: position)
            guard let task = PhotoTask(record, url, name, options) else {
                return .ended(.failed(.nameIsNoText))
            }
            return .task(task)
        }
    }
}

extension PhotoFailure {
    fileprivate static let nameIsNoText = PhotoFailure(
        stage: .source,
        reason: "The name is not UTF-8, so it cannot be stored in a queue. Process this photo "
            + "without --queue, or rename it.",
        isRetryable: false)
}

extension ResultMaker {
    /// Carries out a task, up to a file that waits for its name.
    ///
    /// - Parameter staged: returns a new name for the file that later gets the given path.
    package func process(
        _ task: PhotoTask, in folder: OutputFolder,
        staged: @escaping @Sendable (String) throws -> String
    ) async -> PhotoBatch.Result {
        guard let url = URL(string: task.source), url.scheme != nil else {
            return .failed(.invalidTask("\(task.source) is no URL"))
        }
        let (name, recipe) = (task.resultName, task.recipe)
        guard name.isSafe else {
            return .failed(.invalidTask("the name of its result leads out of the folder"))
        }
        let fingerprint = recipe.fingerprint
        let formats = recipe.format.map { [$0] } ?? ImageFormat.allCases
        let earlier =
            task.redoes
            ? nil
            : EarlierResult(
                of: url, at: formats.map { task.path(in: folder, writtenAs: $0) }, in: folder,
                recipe: fingerprint)
        if let earlier, earlier.isCurrent { return .unchanged(earlier.path) }
        let photo = Photo(name: task.name, url: url, recipe: recipe)
        return await process(photo, after: earlier) { image, version in
            let path = task.path(in: folder, writtenAs: image.format)
            let origin = ResultOrigin(url: url, version: version, recipe: fingerprint)
            try await folder.stage(image.bytes, for: path, from: origin) {
                try staged(path.path.description)
            }
            return OutputFile(path: path, size: image.size, byteCount: image.bytes.count)
        }
    }
}

extension PhotoFailure {
    fileprivate static func invalidTask(_ reason: String) -> PhotoFailure {
        PhotoFailure(
            stage: .source, reason: "The job in the queue is not valid: \(reason).",
            isRetryable: false)
    }
}
