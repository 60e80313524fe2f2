import Operations
public import OperationsInsight
import PhotoImaging
@_spi(ClassicPhotos) public import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes the results of photos, one call for each photo: download → decode, filter and encode →
/// write.
///
/// A ``PhotoLoader`` without caches carries out all stages but the last one. Any number of calls
/// may run at a time. They share the queues of the stages and the budgets of the capacity, so a
/// call waits until there is memory for its photo. A result that waits for the disk needs no memory
/// of the capacity; there are no more of them than photos under way.
public struct ResultMaker: Sendable {
    /// A photo, and what to make of it.
    struct Photo: Sendable {
        let name: String
        let url: URL
        /// The folder outside of which a local file must not lead; nil for any place.
        let folder: LocalPath?
        let recipe: PhotoRecipe

        var source: PhotoLoader.Source { PhotoLoader.Source(url: url, folder: folder) }
    }

    /// Writes an encoded picture, which was made of a version of the photo.
    typealias Write = @Sendable (EncodedImage, PhotoVersion?) async throws -> OutputFile

    private let loader: PhotoLoader
    /// The number of photos that are under way at a time: enough for all processors and downloads.
    public let photosInMemory: Int
    private let writeQueue = Operations.OperationQueue()
    // The queues in which photos wait for the memory of their files. Files of this machine are read
    // so quickly that a few in memory keep all processors busy.
    private let fileQueue = Operations.OperationQueue()
    private let localFileQueue = Operations.OperationQueue()

    /// Creates a maker.
    ///
    /// - Parameters:
    ///   - limits: the limits that a picture must meet before it is decoded.
    ///   - capacity: the limits on simultaneous work, by number of photos and by memory.
    ///   - downloads: the maximum number of simultaneous downloads.
    ///   - downloader: downloads the photos; the maker does not shut it down.
    ///   - timeline: records the maker's queues; nil for no recording.
    public init(
        limits: SourceLimits = SourceLimits(), capacity: PixelCapacity = .shared,
        downloads: Int = 6, downloader: PhotoDownloader, timeline: OperationTimeline? = nil
    ) {
        var options = PhotoLoader.Options()
        options.limits = limits
        options.capacity = capacity
        options.downloads = downloads
        options.memoryBytes = 0
        options.queueNames = ("Download queue", "Image Filtration queue")
        options.timeline = timeline
        loader = PhotoLoader(downloader: downloader, options: options)
        writeQueue.name = "Write queue"
        // A timeline takes the name that the queue has now.
        timeline?.record(writeQueue)
        photosInMemory = max(12, downloads + 2 * capacity.processors.permits)
        fileQueue.name = "Files in memory"
        fileQueue.maxConcurrentOperationCount = photosInMemory
        localFileQueue.name = "Local files in memory"
        localFileQueue.maxConcurrentOperationCount = 2 * capacity.processors.permits
    }

    /// Processes a photo.
    ///
    /// - Parameters:
    ///   - earlier: a result of the same photo and recipe. A photo on the web is downloaded only if
    ///     it has changed since.
    ///   - write: writes the result; never cancelled once it has begun.
    func process(
        _ photo: Photo, after earlier: EarlierResult?, write: @escaping Write
    ) async -> PhotoBatch.Result {
        let file = loader.options.capacity.file(loader.downloader.maximumSize(of: photo.source))
        let queue = photo.url.isFileURL ? localFileQueue : fileQueue
        do throws(PhotoStageStop) {
            let result = try await holding(file, in: queue, named: photo.name) {
                () async throws(PhotoStageStop) in
                try await makeResult(of: photo, after: earlier, write: write)
            }
            return result ?? .cancelled
        } catch .failed(let failure) {
            return .failed(failure)
        } catch {
            return .cancelled
        }
    }

    private func makeResult(
        of photo: Photo, after earlier: EarlierResult?, write: @escaping Write
    ) async throws(PhotoStageStop) -> PhotoBatch.Result {
        guard let original = try await loader.download(photo.source, unless: earlier?.photo) else {
            return earlier.map { .unchanged($0.path) } ?? .cancelled
        }
        do {
            let result = try await loader.result(of: original, by: photo.recipe)
            // Writing is not cancelled: it begins only if all stages succeeded, and then always
            // runs to its end. So every file in the folder is reported.
            let writing = writeQueue.add("Write") { () async throws -> OutputFile in
                var file = try await write(result.image, original.version)
                file.remarks = result.remarks
                return file
            }
            let file = try await writing.value
            return .written(file)
        } catch {
            throw PhotoStageStop(error)
        }
    }
}

/// A result of the same photo and recipe that is in the folder.
struct EarlierResult: Sendable {
    let path: OutputPath
    /// The version of the photo that the result was made of.
    let photo: String
    /// Whether the photo certainly still has that version; a photo on the web has to be asked for.
    let isCurrent: Bool

    /// A result that another machine has found.
    init(path: OutputPath, photo: String) {
        (self.path, self.photo, isCurrent) = (path, photo, false)
    }

    /// Looks for a result; nil if there is none, or if the file of the photo has changed since.
    ///
    /// - Parameters:
    ///   - paths: the paths that the result may have, the likeliest first.
    ///   - recipe: the fingerprint of the recipe.
    init?(
        of source: PhotoLoader.Source, at paths: [OutputPath], in folder: OutputFolder,
        recipe: UInt64
    ) {
        for path in paths {
            guard let photo = folder.madeOf(path, from: source.url, recipe: recipe) else {
                continue
            }
            let file = source.file
            let version = file.flatMap { LocalFiles.version(of: $0) }
            if file != nil, version?.text != photo { return nil }
            (self.path, self.photo, isCurrent) = (path, photo, file != nil)
            return
        }
        return nil
    }
}
