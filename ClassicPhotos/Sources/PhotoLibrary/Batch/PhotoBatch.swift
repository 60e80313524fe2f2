import Operations
public import OperationsInsight
import PhotoImaging
@_spi(ClassicPhotos) public import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Processes a whole list of photos and writes the results into a folder.
///
/// A photo whose result is up to date is left out: the result is in the folder, was made with the
/// same recipe, and the photo has not changed since. A photo on the web is then asked for with the
/// validator of its last download.
public struct PhotoBatch: Sendable {
    /// How a batch processes photos.
    public struct Options: Sendable {
        /// What to make of each photo.
        public var recipe: PhotoRecipe
        /// The limits that a picture must meet before it is decoded.
        public var limits = SourceLimits()
        /// The folder for the results.
        public var folder: OutputFolder
        /// The limits on simultaneous work, by number of photos and by memory.
        public var capacity = PixelCapacity.shared
        /// The maximum number of simultaneous downloads.
        public var downloads = 6
        /// Whether to process photos whose results are up to date, too.
        public var redoesAll = false

        /// Creates options.
        public init(recipe: PhotoRecipe, folder: OutputFolder) {
            self.recipe = recipe
            self.folder = folder
        }
    }

    /// The result of the work on one photo.
    public enum Result: Sendable {
        /// The result was written into the folder.
        case written(OutputFile)
        /// The result of an earlier run is up to date.
        case unchanged(OutputPath)
        /// The photo failed, for the given reason.
        case failed(PhotoFailure)
        /// The batch was cancelled before the photo was done.
        case cancelled
    }

    let options: Options
    private let fingerprint: UInt64
    private let maker: ResultMaker

    /// Creates a batch; no work starts before ``run(_:only:report:)``.
    ///
    /// - Parameters:
    ///   - options: how to process each photo, and where to write the results.
    ///   - downloader: downloads the photos; the batch does not shut it down.
    ///   - timeline: records the batch's queues; nil for no recording.
    public init(
        options: Options, downloader: PhotoDownloader, timeline: OperationTimeline? = nil
    ) {
        self.options = options
        fingerprint = options.recipe.fingerprint
        maker = ResultMaker(
            limits: options.limits, capacity: options.capacity, downloads: options.downloads,
            downloader: downloader, timeline: timeline)
        timeline?.record(options.folder.publishing)
    }

    /// Processes the list; returns when every photo is done, the task is cancelled, or a problem
    /// affects every photo.
    ///
    /// A full disk or a read-only file system is such a problem. Only a few photos are in memory at
    /// a time, however long the list is.
    ///
    /// - Parameters:
    ///   - records: the photos, as in a ``PhotoList``.
    ///   - positions: the indices of the photos to process; nil for all. The names of the results
    ///     follow from the whole list.
    ///   - report: called with each photo's result, one call at a time, in the order of completion.
    /// - Returns: the failure that stopped the batch; nil if no failure stopped it.
    @discardableResult
    public func run(
        _ records: [PhotoRecord], only positions: [Int]? = nil,
        report: @escaping @Sendable (PhotoRecord, Result) async -> Void
    ) async -> PhotoFailure? {
        let names = names(of: records)
        let photos = Operations.OperationQueue()
        // A photo that waits for a download or for memory takes one of these slots, but no thread.
        photos.maxConcurrentOperationCount = maker.photosInMemory
        let reports = Operations.OperationQueue()
        reports.maxConcurrentOperationCount = 1
        do {
            try await photos.add(
                each: positions ?? Array(records.indices), capacity: maker.photosInMemory
            ) { position in
                let record = records[position]
                let result = await process(record, at: position, names)
                // The photo stays under way until it has been reported, so a slow report slows the
                // batch instead of filling the memory.
                await reports.add { await report(record, result) }.finished()
                if let problem = options.folder.problem { throw problem.failure }
            }
        } catch let failure as PhotoFailure {
            return failure
        } catch {
            // The task was cancelled.
        }
        return nil
    }

    func names(of records: [PhotoRecord]) -> OutputNames {
        OutputNames(of: records, writtenAs: options.recipe.format, in: options.folder.path)
    }

    // MARK: One photo

    private func process(
        _ record: PhotoRecord, at position: Int, _ names: OutputNames
    ) async -> Result {
        if let failure = record.state.failure { return .failed(failure) }
        guard !Task.isCancelled else { return .cancelled }
        guard let url = record.url else {
            preconditionFailure("\(record.name) has no URL, so it should have failed already")
        }
        let earlier = earlierResult(of: record, at: position, names)
        if let earlier, earlier.isCurrent { return .unchanged(earlier.path) }
        let photo = ResultMaker.Photo(
            name: record.name, url: url, folder: record.folder, recipe: options.recipe)
        return await maker.process(photo, after: earlier) {
            [options, fingerprint] image, version in
            let path = names.path(of: record, at: position, writtenAs: image.format)
            let origin = ResultOrigin(url: url, version: version, recipe: fingerprint)
            try await options.folder.write(image.bytes, to: path, from: origin)
            return OutputFile(path: path, size: image.size, byteCount: image.bytes.count)
        }
    }
}

// MARK: Earlier results

extension PhotoBatch {
    func earlierResult(
        of record: PhotoRecord, at position: Int, _ names: OutputNames
    ) -> EarlierResult? {
        guard !options.redoesAll, let url = record.url else { return nil }
        let paths = names.possiblePaths(of: record, at: position, writtenAs: options.recipe.format)
        return EarlierResult(
            of: PhotoLoader.Source(url: url, folder: record.folder), at: paths,
            in: options.folder, recipe: fingerprint)
    }

    /// What a run would do with a photo.
    public enum Plan: Sendable, Hashable {
        /// The photo would be processed. If it is written, the result probably gets this path. The
        /// version is nil for a photo on the web.
        case process(OutputPath, PhotoVersion?)
        /// A server would be asked whether the photo has changed.
        case ask(OutputPath)
        /// The result is up to date.
        case unchanged(OutputPath)
        /// The entry of the list has no usable URL.
        case failed(PhotoFailure)
    }

    /// What ``run(_:only:report:)`` would do with each photo of a list, as far as the disk tells;
    /// nothing is downloaded or written.
    ///
    /// Blocks for two queries of the disk a photo.
    public func plan(_ records: [PhotoRecord]) -> [Plan] {
        let names = names(of: records)
        return records.enumerated().map { position, record in
            if let failure = record.state.failure { return .failed(failure) }
            if let earlier = earlierResult(of: record, at: position, names) {
                return earlier.isCurrent ? .unchanged(earlier.path) : .ask(earlier.path)
            }
            let paths = names.possiblePaths(
                of: record, at: position, writtenAs: options.recipe.format)
            return .process(paths[0], record.file.flatMap { LocalFiles.version(of: $0) })
        }
    }
}
