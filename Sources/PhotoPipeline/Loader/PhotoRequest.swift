#if PhotoPipeline
public import PhotoImaging
public import Operations

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A photo that is wanted: which one, how large, and with what done to it.
public struct PhotoRequest: Sendable, Hashable {
    /// The address of the photo: http, https or file.
    public var url: URL
    /// The box that the photo is shrunk to fit; nil for its full size.
    public var size: PixelSize?
    /// What is done to the pixels, in order.
    public var processors: [PhotoProcessor]
    /// The priority of the work. Work that several requests share has the highest of theirs.
    public var priority: Operations.Operation.QueuePriority

    /// The folder outside of which a local file must not lead; nil for any place.
    var folder: LocalPath?

    /// Creates a request.
    public init(
        url: URL, filters: [ImageFilter] = [], fitting size: PixelSize? = nil,
        priority: Operations.Operation.QueuePriority = .normal
    ) {
        self.init(
            url: url, processors: filters.isEmpty ? [] : [.filters(filters)], fitting: size,
            priority: priority)
    }

    /// Creates a request with processors of your own.
    public init(
        url: URL, processors: [PhotoProcessor], fitting size: PixelSize? = nil,
        priority: Operations.Operation.QueuePriority = .normal
    ) {
        self.url = url
        self.size = size
        self.processors = processors
        self.priority = priority
    }

    /// Creates a request for a photo whose file must not lead out of a folder; nil for any place.
    @_spi(ClassicPhotos) public init(
        url: URL, in folder: LocalPath?, fitting size: PixelSize?,
        priority: Operations.Operation.QueuePriority = .normal
    ) {
        self.init(url: url, processors: [], fitting: size, priority: priority)
        self.folder = folder
    }

    /// The parts of the request that decide on the result.
    var identity: PhotoRequest {
        var request = self
        request.priority = .normal
        return request
    }
}

/// A change of a photo's pixels: filters of the library, or a function of your own.
public struct PhotoProcessor: Sendable, Hashable {
    private enum Change: Sendable {
        case filters([ImageFilter])
        case function(@Sendable (Bitmap) throws -> Bitmap)
    }

    /// The name by which processors are compared.
    @_spi(ClassicPhotos) public let name: String
    private let change: Change

    /// Applies filters, in order.
    public static func filters(_ filters: [ImageFilter]) -> PhotoProcessor {
        let text = filters.map(\.description).joined(separator: ",")
        return PhotoProcessor(name: "filters \(text)", change: .filters(filters))
    }

    /// Calls a function of your own.
    ///
    /// - Parameters:
    ///   - name: stands for the function and everything that it depends on. Results are shared and
    ///     cached by this name, so two functions with one name must return equal pixels.
    ///   - body: returns the new pixels. It runs on a thread that may block, and counts as one of
    ///     the ``PixelCapacity/processors``. If it throws, the request fails with the error's
    ///     description as the reason.
    public static func own(
        _ name: String, _ body: @escaping @Sendable (Bitmap) throws -> Bitmap
    ) -> PhotoProcessor {
        PhotoProcessor(name: "own \(name)", change: .function(body))
    }

    /// The approximate memory that the processor needs, including its result, in bytes.
    func memory(for shape: BitmapShape) -> Int {
        switch change {
        case .filters(let filters): ImageEngine.memoryToApply(filters, to: shape)
        case .function: shape.byteCount
        }
    }

    func process(
        _ bitmap: Bitmap, _ cancellation: ImagingCancellation
    ) throws(PhotoStageStop) -> Bitmap {
        switch change {
        case .filters(let filters):
            return try pixelStage(.filter) { () throws(ImagingError) in
                try ImageEngine.apply(filters, to: bitmap, cancellation: cancellation)
            }
        case .function(let body):
            do {
                return try body(bitmap)
            } catch {
                throw .failed(
                    PhotoFailure(
                        stage: .filter, reason: "\(name.dropFirst(4)) failed: \(error).",
                        isRetryable: false,
                        cause: .init(.filterFailed, ["detail": "\(error)"])))
            }
        }
    }

    /// Processors are equal if they have the same name, or the same filters.
    public static func == (a: PhotoProcessor, b: PhotoProcessor) -> Bool { a.name == b.name }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
#endif
