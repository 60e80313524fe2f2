#if PhotoPipeline
import PhotoImaging
import Operations
import Synchronization

/// The times of exposure of the files of a list, read from their headers before anybody looks at
/// the photos.
///
/// A photo's header is read once, by an operation with the lowest priority. Most headers are in the
/// first 64 KiB of a file; of the other files, everything is read.
@_spi(ClassicPhotos) public final class PhotoDates: Sendable {
    private struct State: Sendable {
        /// The seconds since 1970 of each photo whose header was read; nil for a photo without one.
        var known: [PhotoID: Int?] = [:]
        var underway: [PhotoID: Operations.Operation] = [:]
    }

    private let state = Mutex(State())
    private let limits: SourceLimits
    private let queue = Operations.OperationQueue()

    private static let headerLength = 64 << 10
    /// Larger files are not read as a whole.
    private static let longestFile = 64 << 20

    /// Creates a table without dates.
    ///
    /// - Parameter limits: the limits that a picture must meet.
    public init(limits: SourceLimits) {
        self.limits = limits
        queue.name = "Photo headers"
        queue.maxConcurrentOperationCount = 2
    }

    /// Begins to read the headers of the files that are new to the table.
    public func prepare(_ contents: PhotoCatalog.Contents) { _ = reading(contents) }

    /// Returns once the headers of all files of a list have been read.
    public func ready(for contents: PhotoCatalog.Contents) async {
        for operation in reading(contents) { await operation.finished() }
    }

    /// Reads no further headers.
    public func close() { queue.cancelAllOperations() }

    /// The time of exposure in seconds since 1970, as a camera's own time; nil if the header was
    /// not read or has none.
    func seconds(of id: PhotoID) -> Int? { state.withLock { $0.known[id] ?? nil } }

    /// The operations that read the headers of a list's files and have not finished.
    private func reading(_ contents: PhotoCatalog.Contents) -> [Operations.Operation] {
        var added: [Operations.Operation] = []
        let operations = state.withLock { state in
            contents.rows.compactMap { row -> Operations.Operation? in
                let record = contents.records[row]
                guard state.known[record.id] == nil else { return nil }
                if let operation = state.underway[record.id] { return operation }
                guard let file = record.file else { return nil }
                let limits = record.url.map(self.limits.limits) ?? .standard
                let operation = TypedOperation { [weak self] in
                    let taken = Self.taken(in: file, within: limits)
                    self?.finished(record.id, taken)
                }
                operation.queuePriority = .veryLow
                state.underway[record.id] = operation
                added.append(operation)
                return operation
            }
        }
        queue.addOperations(added, waitUntilFinished: false)
        return operations
    }

    private func finished(_ id: PhotoID, _ taken: String?) {
        state.withLock { state in
            state.known[id] = .some(taken.flatMap(PhotoOrder.seconds))
            state.underway[id] = nil
        }
    }

    private static func taken(in file: LocalFile, within limits: ImageLimits) -> String? {
        guard let start = try? LocalFiles.bytes(of: file, limit: headerLength, named: "") else {
            return nil
        }
        let fields = try? ImageEngine.exif(of: start, limits: limits)
        if let taken = fields?.taken { return taken }
        // JPEG and PNG have their fields before the pixels, so a header that was read has none.
        let format = ImageFormat(detecting: start)
        let isComplete = fields != nil && (format == .jpeg || format == .png)
        guard !isComplete, start.count == headerLength, format != nil,
            let status = LocalFiles.status(of: file), status.byteCount <= longestFile,
            let bytes = try? LocalFiles.bytes(of: file, limit: longestFile, named: "")
        else { return nil }
        return (try? ImageEngine.exif(of: bytes, limits: limits))?.taken
    }
}
#endif
