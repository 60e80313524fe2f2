import PhotoImaging
@_spi(ClassicPhotos) import PhotoPipeline
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Results that a machine makes for a folder that it does not see. The bytes travel, and the machine
// that sees the folder writes them there.

/// A result that is in a folder, for a machine that does not see the folder.
public struct KnownResult: Sendable, Hashable, Codable {
    /// The version of the photo that the result was made of.
    fileprivate let photo: String
    fileprivate let format: ImageFormat
}

/// What the record of a folder says about a result that another machine has made.
public struct PhotoDelivery: Sendable, Hashable, Codable {
    /// A time of a file; see ``FileTime``.
    private struct Time: Hashable, Codable {
        let seconds: Int
        let nanoseconds: Int
    }

    private let version: String?
    private let modified: Time?

    fileprivate init(_ version: PhotoVersion?) {
        self.version = version?.text
        modified = version?.modified.map { Time(seconds: $0.seconds, nanoseconds: $0.nanoseconds) }
    }

    fileprivate var photo: PhotoVersion? {
        version.map {
            PhotoVersion(
                text: $0,
                modified: modified.map {
                    FileTime(seconds: $0.seconds, nanoseconds: $0.nanoseconds)
                })
        }
    }
}

extension PhotoTask {
    func known(_ earlier: EarlierResult, in folder: OutputFolder) -> KnownResult {
        let format = formats.first { path(in: folder, writtenAs: $0) == earlier.path }
        return KnownResult(photo: earlier.photo, format: format ?? .jpeg)
    }
}

extension ResultMaker {
    /// What became of a task for a folder that this machine does not see.
    public enum Made: Sendable {
        case bytes([UInt8], PhotoDelivery, OutputFile)
        case ended(PhotoBatch.Result)
    }

    /// Carries out a task for a folder that this machine does not see, up to the bytes of the
    /// result.
    ///
    /// - Parameters:
    ///   - folder: the path of the folder. Only the paths of results are made of it.
    ///   - known: a result that is in the folder.
    public func make(
        _ task: PhotoTask, for folder: String, after known: KnownResult?
    ) async -> Made {
        let photo: Photo
        do { photo = try self.photo(of: task) } catch { return .ended(.failed(error)) }
        guard let folder = LocalPath(folder) else {
            return .ended(.failed(.invalidTask("it names no folder")))
        }
        let earlier = known.map {
            EarlierResult(path: task.path(in: folder, writtenAs: $0.format), photo: $0.photo)
        }
        let made = MadeImage()
        let result = await process(photo, after: task.redoes ? nil : earlier) { image, version in
            made.image.withLock { $0 = (image.bytes, PhotoDelivery(version)) }
            return OutputFile(
                path: task.path(in: folder, writtenAs: image.format), size: image.size,
                byteCount: image.bytes.count)
        }
        guard case .written(let file) = result, let (bytes, delivery) = made.image.withLock({ $0 })
        else { return .ended(result) }
        return .bytes(bytes, delivery, file)
    }
}

private final class MadeImage: Sendable {
    let image = Mutex<([UInt8], PhotoDelivery)?>(nil)
}

extension OutputFolder {
    /// Writes a result that another machine has made, as a batch writes its own results.
    ///
    /// - Parameters:
    ///   - file: the result; its path is of this folder.
    ///   - delivery: what the other machine says about the photo.
    /// - Returns: `written` if the result has its name and is on the disk.
    public func write(
        _ bytes: [UInt8], as file: OutputFile, of task: PhotoTask, _ delivery: PhotoDelivery
    ) async -> PhotoBatch.Result {
        guard let url = URL(string: task.source) else {
            return .failed(.invalidTask("\(task.source) is no URL"))
        }
        let origin = ResultOrigin(
            url: url, version: delivery.photo, recipe: task.recipe.fingerprint)
        do {
            try await write(bytes, to: file.path, from: origin)
            return .written(file)
        } catch {
            // Another process with the same command may have written the file.
            if hasResult(of: task, at: file.path) { return .written(file) }
            switch error {
            case .failed(let failure): return .failed(failure)
            case .cancelled: return problem.map { .failed($0.failure) } ?? .cancelled
            }
        }
    }

    /// Whether the folder has a result of a task at a path, perhaps written by another process.
    public func hasResult(of task: PhotoTask, at path: OutputPath) -> Bool {
        guard let url = URL(string: task.source) else { return false }
        let recipe = task.recipe.fingerprint
        if madeOf(path, from: url, recipe: recipe) != nil { return true }
        rereadLog()
        return madeOf(path, from: url, recipe: recipe) != nil
    }
}
