public import PhotoImaging
@_spi(ClassicPhotos) import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A photo of a batch in a form that can be stored, and that another process or machine can carry
/// out: where the photo is, what to make of it, and the name of the result.
public struct PhotoTask: Sendable, Hashable, Codable {
    /// The name for display.
    public let name: String
    /// The URL of the photo, with all bytes of a local path percent-encoded.
    public let source: String
    /// What to make of the photo.
    public let recipe: PhotoRecipe
    /// Whether to make the result again even if it is up to date.
    public let redoes: Bool
    /// The folder outside of which the photo's file must not lead, percent-encoded; nil for any
    /// place, and in tasks of earlier versions of the program.
    private let folder: String?
    private let result: StoredName

    /// ``ResultName`` with text instead of bytes.
    private struct StoredName: Hashable, Codable {
        let base: String
        var number: Int?
        var unnumbered: ImageFormat?
        /// nil in tasks of earlier versions of the program.
        var isTIF: Bool?
    }

    fileprivate init?(
        _ record: PhotoRecord, _ url: URL, _ name: ResultName, _ options: PhotoBatch.Options
    ) {
        guard let base = String(validating: name.base, as: UTF8.self) else { return nil }
        self.name = record.name
        source = url.absoluteURL.absoluteString
        recipe = options.recipe
        redoes = options.redoesAll
        folder = record.folder.map { percentEncoded($0.bytes) }
        result = StoredName(
            base: base, number: name.number, unnumbered: name.unnumbered,
            isTIF: name.isTIF ? true : nil)
    }

    fileprivate var sourceFolder: LocalPath? {
        folder.flatMap { LocalPath(bytes: percentDecoded($0)) }
    }

    fileprivate var resultName: ResultName {
        ResultName(
            base: Array(result.base.utf8), number: result.number, unnumbered: result.unnumbered,
            isTIF: result.isTIF ?? false)
    }

    /// The path of the result in a folder.
    public func path(in folder: OutputFolder, writtenAs format: ImageFormat) -> OutputPath {
        path(in: folder.path, writtenAs: format)
    }

    func path(in folder: LocalPath, writtenAs format: ImageFormat) -> OutputPath {
        OutputPath(folder: folder, relativePath: resultName.bytes(writtenAs: format))
    }

    /// The format of a result, by its path in a folder.
    public func format(of path: OutputPath, in folder: String) -> ImageFormat {
        guard let folder = LocalPath(folder) else { return .jpeg }
        let formats = ImageFormat.written
        return formats.first { self.path(in: folder, writtenAs: $0) == path } ?? .jpeg
    }

    /// The formats that the result may have.
    var formats: [ImageFormat] { recipe.format.map { [$0] } ?? ImageFormat.written }

    /// Whether the photo is a file, and not on the web.
    public var isLocal: Bool { URL(string: source)?.isFileURL ?? true }

    /// The folder of a local photo, for display, if it does not exist on this machine.
    public var missingSourceFolder: String? {
        guard let url = URL(string: source), url.isFileURL,
            let folder = LocalPath(url).map({ $0.folder ?? .root })
        else { return nil }
        let kind = try? LocalFiles.kind(of: folder, followingLinks: true, named: "folder")
        return kind == .folder ? nil : folder.description
    }
}

extension PhotoBatch {
    /// What is left to do for a photo of a list.
    public enum Step: Sendable {
        /// Nothing: the photo has this result already.
        case ended(Result)
        /// The task, and the result of an earlier run that is in the folder. The photo of such a
        /// result is on the web, and may have changed since.
        case task(PhotoTask, after: KnownResult?)
    }

    /// Returns what is left to do for each photo of a list.
    ///
    /// Blocks for two queries of the disk a photo.
    public func steps(_ records: [PhotoRecord]) -> [Step] {
        let names = names(of: records)
        return records.enumerated().map { position, record in
            if let failure = record.state.failure { return .ended(.failed(failure)) }
            guard let url = record.url else { return .ended(.cancelled) }
            let earlier = earlierResult(of: record, at: position, names)
            if let earlier, earlier.isCurrent { return .ended(.unchanged(earlier.path)) }
            let name = names.name(of: record, at: position)
            guard let task = PhotoTask(record, url, name, options) else {
                return .ended(.failed(.nameIsNoText))
            }
            return .task(task, after: earlier.map { task.known($0, in: options.folder) })
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
    public func process(
        _ task: PhotoTask, in folder: OutputFolder,
        staged: @escaping @Sendable (String) throws -> String
    ) async -> PhotoBatch.Result {
        let photo: Photo
        do { photo = try self.photo(of: task) } catch { return .failed(error) }
        let fingerprint = task.recipe.fingerprint
        let earlier =
            task.redoes
            ? nil
            : EarlierResult(
                of: photo.source, at: task.formats.map { task.path(in: folder, writtenAs: $0) },
                in: folder, recipe: fingerprint)
        if let earlier, earlier.isCurrent { return .unchanged(earlier.path) }
        return await process(photo, after: earlier) { image, version in
            let path = task.path(in: folder, writtenAs: image.format)
            let origin = ResultOrigin(url: photo.url, version: version, recipe: fingerprint)
            try await folder.stage(image.bytes, for: path, from: origin) {
                try staged(path.path.description)
            }
            return OutputFile(path: path, size: image.size, byteCount: image.bytes.count)
        }
    }

    func photo(of task: PhotoTask) throws(PhotoFailure) -> Photo {
        guard let url = URL(string: task.source), url.scheme != nil else {
            throw .invalidTask("\(task.source) is no URL")
        }
        guard task.resultName.isSafe else {
            throw .invalidTask("the name of its result leads out of the folder")
        }
        return Photo(
            name: task.name, url: url, folder: task.sourceFolder, recipe: task.recipe)
    }
}

extension PhotoFailure {
    static func invalidTask(_ reason: String) -> PhotoFailure {
        PhotoFailure(
            stage: .source, reason: "The job in the queue is not valid: \(reason).",
            isRetryable: false)
    }
}
