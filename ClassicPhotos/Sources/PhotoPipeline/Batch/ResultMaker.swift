import FoundationEssentials
import Imaging
import Operations
public import OperationsInsight

/// Makes the results of photos, one call for each photo: download → inspect → decode → filter →
/// encode → write.
///
/// Any number of calls may run at a time. They share the queues of the stages and the budgets of
/// the capacity, so a call waits until there is memory for its photo.
public struct ResultMaker: Sendable {
    /// A photo, and what to make of it.
    struct Photo: Sendable {
        let name: String
        let url: URL
        let recipe: PhotoRecipe
    }

    /// Writes an encoded picture, which was made of a version of the photo.
    typealias Write = @Sendable (EncodedImage, PhotoVersion?) async throws -> OutputFile

    private let limits: SourceLimits
    private let capacity: PixelCapacity
    private let downloader: PhotoDownloader
    /// The number of photos that are under way at a time: enough for all processors and downloads.
    public let photosInMemory: Int
    private let downloadQueue = OperationQueue()
    private let pixelQueue = OperationQueue()
    private let writeQueue = OperationQueue()
    // The queues in which photos wait for memory: first for their files, then for their pixels.
    // Files of this machine are read so quickly that a few in memory keep all processors busy.
    private let fileQueue = OperationQueue()
    private let localFileQueue = OperationQueue()
    private let memoryQueue = OperationQueue()

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
        self.limits = limits
        self.capacity = capacity
        self.downloader = downloader
        photosInMemory = max(12, downloads + 2 * capacity.processors.permits)
        downloadQueue.name = "Download queue"
        downloadQueue.maxConcurrentOperationCount = downloads
        pixelQueue.name = "Image Filtration queue"
        // The width equals the number of processors, so that priorities decide: photos in progress
        // finish before new ones start.
        pixelQueue.maxConcurrentOperationCount = capacity.processors.permits
        for (queue, name, width) in [
            (fileQueue, "Files in memory", photosInMemory),
            (localFileQueue, "Local files in memory", 2 * capacity.processors.permits),
            (memoryQueue, "Pixels in memory", photosInMemory),
        ] {
            queue.name = name
            queue.maxConcurrentOperationCount = width
        }
        writeQueue.name = "Write queue"
        for queue in [downloadQueue, pixelQueue, writeQueue] { timeline?.record(queue) }
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
        let file = capacity.file(downloader.maximumSize(of: photo.url))
        let queue = photo.url.isFileURL ? localFileQueue : fileQueue
        let result = await holding(file, in: queue, named: photo.name) {
            await makeResult(of: photo, after: earlier, write: write)
        }
        return result ?? .cancelled
    }

    /// Runs download → inspect and, once enough memory is available, decode → filter → encode →
    /// write.
    private func makeResult(
        of photo: Photo, after earlier: EarlierResult?, write body: @escaping Write
    ) async -> PhotoBatch.Result {
        let recipe = photo.recipe
        let limits = limits.limits(for: photo.url)
        let download = DownloadOperation(url: photo.url, with: downloader, unless: earlier?.photo)
        let inspect = InspectOperation(after: download, limits: limits)
        return await withTaskCancellationHandler {
            downloadQueue.addOperation(download)
            await pixelQueue.addOperations([inspect], waitUntilFinished: true)
            // Reads the outcome, because a cancelled download is reported if nobody looks at it.
            if case .cancelled = download.outcome, download.isUnchanged, let earlier {
                return .unchanged(earlier.path)
            }
            guard case .produced(let info) = inspect.outcome else {
                return Self.result(of: inspect)
            }
            let format = recipe.format(of: info)
            let stages = Stages(
                download: download, recipe: recipe, format: format, limits: limits,
                capacity: capacity)
            let write = WriteOperation(after: stages.encode) { image in
                try await body(image, download.version)
            }
            let need = PixelCapacity.bytesNeeded(
                for: info, fitting: recipe.size, filters: recipe.filters, format: format,
                keeping: recipe.parts(writtenAs: format))
            return await withTaskCancellationHandler {
                _ = await holding(capacity.memory(need), in: memoryQueue, named: photo.name) {
                    await pixelQueue.addOperations(stages.all, waitUntilFinished: false)
                    writeQueue.addOperation(write)
                    await write.finished()
                }
                let frames = stages.frames
                return Self.result(
                    of: write, PhotoRemark.remarks(on: info, frames: frames, recipe: recipe))
            } onCancel: {
                // Writing is not cancelled: it runs only if all of these stages succeeded, and it
                // always runs to its end. So every file in the folder is reported.
                for operation in stages.all { operation.cancel() }
            }
        } onCancel: {
            download.cancel()
            inspect.cancel()
        }
    }

    private static func result(
        of write: WriteOperation, _ remarks: [PhotoRemark]
    ) -> PhotoBatch.Result {
        switch write.outcome {
        case .produced(var file):
            file.remarks = remarks
            return .written(file)
        case .failed(let failure): return .failed(failure)
        case .cancelled, .pending: return .cancelled
        }
    }

    /// The result of a stage that did not succeed.
    private static func result(of stage: InspectOperation) -> PhotoBatch.Result {
        if case .failed(let failure) = stage.outcome { .failed(failure) } else { .cancelled }
    }
}

/// The pixel stages of one photo.
private struct Stages {
    /// Decodes and filters.
    let decode: DecodeOperation
    let encode: EncodeOperation

    init(
        download: DownloadOperation, recipe: PhotoRecipe, format: ImageFormat, limits: ImageLimits,
        capacity: PixelCapacity
    ) {
        decode = DecodeOperation(
            after: download, fitting: recipe.size, applying: recipe.filters,
            keeping: recipe.parts(writtenAs: format), limits: limits,
            acceptingDamage: recipe.acceptsDamage, capacity: capacity)
        encode = EncodeOperation(after: decode, quality: recipe.quality, capacity: capacity) {
            format
        }
        if !recipe.filters.isEmpty { decode.name = "Decode and filter" }
        // Later stages have higher priority, so that few photos are in memory.
        decode.queuePriority = .low
        encode.queuePriority = .high
    }

    var all: [Operation] { [decode, encode] }

    /// The number of decoded frames.
    var frames: Int {
        if case .produced(let bitmap) = decode.outcome { bitmap.frames } else { 1 }
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
    init?(of url: URL, at paths: [OutputPath], in folder: OutputFolder, recipe: UInt64) {
        for path in paths {
            guard let photo = folder.madeOf(path, from: url, recipe: recipe) else { continue }
            let file = url.isFileURL ? LocalPath(url) : nil
            let version = file.flatMap { LocalFiles.version(of: $0) }
            if file != nil, version?.text != photo { return nil }
            (self.path, self.photo, isCurrent) = (path, photo, file != nil)
            return
        }
        return nil
    }
}
