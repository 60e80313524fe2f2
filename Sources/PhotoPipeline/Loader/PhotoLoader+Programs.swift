#if PhotoPipeline
public import PhotoImaging
public import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// What a program does with the loader's queues and its memory in its own way.

// MARK: Files made in one piece

/// What to make of an original in one piece; see ``PhotoLoader/file(of:priority:plan:)``.
@_spi(ClassicPhotos) public struct FilePlan: Sendable {
    /// The box that the photo is shrunk to fit; nil for its full size.
    public var size: PixelSize?
    /// The filters, applied in order.
    public var filters: [ImageFilter]
    /// The format of the file.
    public var format: ImageFormat
    /// The quality for formats that have one, from 1 to 100.
    public var quality: Int
    /// What decoding keeps.
    public var parts: PictureParts
    /// Whether a damaged file is decoded as far as that is possible.
    public var acceptsDamage: Bool

    /// Creates a plan.
    public init(
        size: PixelSize?, filters: [ImageFilter], format: ImageFormat, quality: Int,
        parts: PictureParts, acceptsDamage: Bool
    ) {
        self.size = size
        self.filters = filters
        self.format = format
        self.quality = quality
        self.parts = parts
        self.acceptsDamage = acceptsDamage
    }
}

/// A file that was made in one piece.
@_spi(ClassicPhotos) public struct WholeFile: Sendable {
    /// The file.
    public let image: EncodedImage
    /// The header of the original.
    public let info: ImageInfo
    /// The number of frames that were decoded.
    public let frames: Int
}

/// The error of a download that was not needed, because the photo has the known version.
private struct PhotoIsUnchanged: Error {}

extension PhotoLoader {
    /// Downloads or reads a photo, whatever the caches have, and keeps nothing.
    ///
    /// - Parameter known: the text of a ``PhotoVersion``; nil to download in any case.
    /// - Returns: nil if the photo still has the known version.
    /// - Throws: the failure, in words for people, or `cancelled` if the calling task was
    ///   cancelled.
    @_spi(ClassicPhotos) public func download(
        _ source: Source, unless known: String?
    ) async throws(PhotoStageStop) -> PhotoOriginal? {
        let url = source.url
        let download = originals.add(.name("Download \(PhotoURL.name(of: url))")) {
            [downloader] () async throws -> PhotoOriginal in
            guard let content = try await downloader.content(of: source, unless: known) else {
                throw PhotoIsUnchanged()
            }
            return PhotoOriginal(
                url: url, version: content.version, origin: url.isFileURL ? .file : .network,
                bytes: content.bytes)
        }
        do {
            return try await download.valueUnlessCancelled
        } catch is PhotoIsUnchanged {
            return nil
        } catch {
            throw PhotoStageStop(error)
        }
    }

    /// Makes a file of a photo in one piece: it is decoded, filtered in place and encoded, and
    /// nothing is kept in memory.
    ///
    /// One operation does all work on pixels. It takes the memory for all of it together with a
    /// processor, so that no pixels wait in memory for a processor. Cancelling the calling task
    /// cancels the operation.
    ///
    /// - Parameters:
    ///   - original: the original with its bytes.
    ///   - priority: the priority of the work.
    ///   - plan: says what to make of a photo with a header.
    /// - Throws: the failure, in words for people, or `cancelled` if the calling task was
    ///   cancelled.
    @_spi(ClassicPhotos) public func file(
        of original: PhotoOriginal, priority: Operations.Operation.QueuePriority = .normal,
        plan: @Sendable (ImageInfo) -> FilePlan
    ) async throws(PhotoStageStop) -> WholeFile {
        try await stage { [self] in
            let limits = options.limits.limits(for: original.url)
            let info = try pixelStage(.decode) { () throws(ImagingError) in
                try ImageEngine.inspect(original.contents, limits: limits)
            }
            let plan = plan(info)
            let need = PixelCapacity.bytesNeeded(
                for: info, fitting: plan.size, filters: plan.filters, format: plan.format,
                keeping: plan.parts)
            let making = pixels.add(
                "Decode, filter, encode", .priority(priority), options.capacity.memory(need),
                options.capacity.processor
            ) { () throws(PhotoStageStop) -> WholeFile in
                let bitmap = try Self.pixels(of: original, limits, by: plan)
                return WholeFile(
                    image: try Self.file(of: bitmap, by: plan), info: info, frames: bitmap.frames)
            }
            return try await making.valueUnlessCancelled
        }
    }

    private static func pixels(
        of original: PhotoOriginal, _ limits: ImageLimits, by plan: FilePlan
    ) throws(PhotoStageStop) -> Bitmap {
        let timeLimit = decodingTimeLimit + (plan.filters.isEmpty ? .zero : filteringTimeLimit)
        return try pixelWork(timeLimit: timeLimit) { cancellation throws(PhotoStageStop) in
            try pixelStage(.decode) { () throws(ImagingError) in
                let (bitmap, _) = try ImageEngine.decodeSoundOrDamaged(
                    original.contents, fitting: plan.size, keeping: plan.parts, limits: limits,
                    acceptingDamage: plan.acceptsDamage, cancellation: cancellation)
                return try ImageEngine.apply(plan.filters, to: bitmap, cancellation: cancellation)
            }
        }
    }

    private static func file(
        of bitmap: Bitmap, by plan: FilePlan
    ) throws(PhotoStageStop) -> EncodedImage {
        try pixelWork(timeLimit: encodingTimeLimit) { cancellation throws(PhotoStageStop) in
            try pixelStage(.encode) { () throws(ImagingError) in
                try ImageEngine.encode(
                    bitmap, as: plan.format, quality: plan.quality, cancellation: cancellation)
            }
        }
    }

    // MARK: Headers

    /// Reads something of an original, such as its header, on one of the threads for pixels.
    ///
    /// - Throws: the failure, in words for people, or `cancelled` if the calling task was
    ///   cancelled.
    @_spi(ClassicPhotos) public func read<Value: Sendable>(
        named name: String, priority: Operations.Operation.QueuePriority,
        _ body: @escaping @Sendable () throws(ImagingError) -> Value
    ) async throws(PhotoStageStop) -> Value {
        let reading = pixels.add(.name("Read \(name)"), .priority(priority)) {
            () throws(PhotoStageStop) -> Value in
            try pixelStage(.decode, body)
        }
        do { return try await reading.valueUnlessCancelled } catch { throw PhotoStageStop(error) }
    }

    // MARK: Memory

    /// The file of a request's photo that ``encoded(_:as:quality:priority:isKept:)`` has kept in
    /// memory; nil if it is not there.
    @_spi(ClassicPhotos) public func fileInMemory(
        for request: PhotoRequest, _ version: PhotoVersion, as format: ImageFormat, quality: Int
    ) -> NamedPicture? {
        memory.file(fileKey(request, version, format, quality))
    }

    /// Keeps a file in memory as ``encoded(_:as:quality:priority:isKept:)`` does.
    @_spi(ClassicPhotos) public func keep(
        _ file: NamedPicture, for request: PhotoRequest, _ version: PhotoVersion, quality: Int
    ) {
        let key = fileKey(request, version, file.image.format, quality)
        memory.insert(.file(file), for: key)
    }

    private func fileKey(
        _ request: PhotoRequest, _ version: PhotoVersion, _ format: ImageFormat, _ quality: Int
    ) -> PictureKey {
        var key = request.key(version, processors: request.processors)
        key.stage = .encoded(format, quality: quality)
        return key
    }
}

extension PhotoOriginal {
    /// The bytes of an original that was loaded with them.
    fileprivate var contents: [UInt8] {
        guard let bytes else { preconditionFailure("the bytes of \(url) were not loaded") }
        return bytes
    }
}
#endif
