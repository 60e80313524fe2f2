#if PhotoPipeline
public import PhotoImaging
public import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The stages of pixels. Each finds its result in memory, joins equal work that is under way, or is
// one operation of the loader's queue, with memory and one of the processors of the capacity.

extension PhotoLoader {
    /// Decodes an original for a request, without its processors.
    ///
    /// - Throws: the failure, in words for people, or `cancelled` if the calling task was
    ///   cancelled.
    public func photo(
        from original: PhotoOriginal, for request: PhotoRequest
    ) async throws(PhotoStageStop) -> Photo {
        let key = request.key(original.version)
        if let photo = memory.photo(key, from: original.origin) { return photo }
        guard let bytes = original.bytes else {
            let (original, _) = try await originalWithBytes(
                of: request.source, priority: request.priority)
            return try await photo(from: original, for: request)
        }
        let (memory, size) = (memory, request.size)
        let limits = options.limits.limits(for: request.url)
        return try await stage { [self] in
            // A header that is rejected needs no memory; the decoding says why it is rejected.
            let info = try? ImageEngine.inspect(bytes, limits: limits)
            let need = info.map { ImageEngine.memoryToDecode($0, fitting: size) } ?? 0
            return try await shared(
                "Decode", by: key, memory: need, priority: request.priority,
                timeLimit: decodingTimeLimit
            ) { cancellation throws(PhotoStageStop) in
                let (bitmap, damage) = try pixelStage(.decode) { () throws(ImagingError) in
                    try ImageEngine.decodeSoundOrDamaged(
                        bytes, fitting: size, limits: limits,
                        acceptingDamage: self.options.acceptsDamage, cancellation: cancellation)
                }
                let notes = info.flatMap { self.options.notes?(bytes, $0, bitmap, limits) }
                let photo = Photo(
                    bitmap: bitmap, origin: original.origin, info: info, damage: damage,
                    notes: notes, key: key)
                memory.insert(photo)
                return photo
            }
        }
    }

    /// Does the work of a stage once for all callers that need it at the same time.
    ///
    /// - Parameters:
    ///   - name: the name of the operation, as a trait.
    ///   - key: what the work makes.
    ///   - need: the memory of the stage in bytes.
    ///   - timeLimit: the limit of processor time.
    private func shared<Value: Sendable>(
        _ name: OperationTrait, by key: PictureKey, memory need: Int,
        priority: Operations.Operation.QueuePriority, timeLimit: Duration,
        _ work: @escaping @Sendable (ImagingCancellation) throws(PhotoStageStop) -> Value
    ) async throws -> Value {
        let capacity = options.capacity
        return try await pixels.sharedValue(
            name, capacity.memory(need), capacity.processor, by: key, priority: priority
        ) { () throws -> Value in
            try pixelWork(timeLimit: timeLimit, work)
        }
    }

    /// Applies processors to a photo, in addition to those that it has.
    ///
    /// - Throws: the failure, in words for people, or `cancelled` if the calling task was
    ///   cancelled.
    public func processed(
        _ photo: Photo, by processors: [PhotoProcessor],
        priority: Operations.Operation.QueuePriority = .normal
    ) async throws(PhotoStageStop) -> Photo {
        try await processed(photo, by: processors, priority: priority, isKept: true)
    }

    /// Applies processors as ``processed(_:by:priority:)`` does.
    ///
    /// - Parameter isKept: whether the result of this call stays in memory.
    @_spi(ClassicPhotos) public func processed(
        _ photo: Photo, by processors: [PhotoProcessor],
        priority: Operations.Operation.QueuePriority,
        isKept: Bool
    ) async throws(PhotoStageStop) -> Photo {
        guard !processors.isEmpty else { return photo }
        var key = photo.key
        key.processors += processors
        if let photo = memory.photo(key, from: photo.origin) { return photo }
        let memory = memory
        let shape = photo.bitmap.shape
        let need = processors.map { $0.memory(for: shape) }.max() ?? 0
        return try await stage { [self, key] in
            try await shared(
                "Filter", by: key, memory: need, priority: priority, timeLimit: filteringTimeLimit
            ) { cancellation throws(PhotoStageStop) in
                var bitmap = photo.bitmap
                for processor in processors {
                    bitmap = try processor.process(bitmap, cancellation)
                }
                var processed = photo
                (processed.bitmap, processed.key) = (bitmap, key)
                if isKept { memory.insert(processed) }
                return processed
            }
        }
    }

    /// Encodes a photo as a file in memory; equal files are made once and kept, as pixels are.
    ///
    /// - Parameters:
    ///   - photo: the photo.
    ///   - format: the format of the file.
    ///   - quality: the quality for JPEG and WebP, from 1 to 100.
    ///   - priority: the priority of the work.
    /// - Throws: the failure, in words for people, or `cancelled` if the calling task was
    ///   cancelled.
    public func encoded(
        _ photo: Photo, as format: ImageFormat = .jpeg, quality: Int = 82,
        priority: Operations.Operation.QueuePriority = .normal
    ) async throws(PhotoStageStop) -> EncodedImage {
        try await encoded(
            photo, as: format, quality: quality, priority: priority, isKept: true
        ).image
    }

    /// Encodes a photo as ``encoded(_:as:quality:priority:)`` does, and names the file.
    ///
    /// - Parameter isKept: whether the result of this call stays in memory.
    @_spi(ClassicPhotos) public func encoded(
        _ photo: Photo, as format: ImageFormat, quality: Int,
        priority: Operations.Operation.QueuePriority = .normal, isKept: Bool
    ) async throws(PhotoStageStop) -> NamedPicture {
        var key = photo.key
        key.stage = .encoded(format, quality: quality)
        if let file = memory.file(key) { return file }
        let memory = memory
        let need = ImageEngine.memoryToEncode(photo.bitmap.shape, as: format)
        return try await stage { [self, key] in
            try await shared(
                "Encode", by: key, memory: need, priority: priority, timeLimit: encodingTimeLimit
            ) { cancellation throws(PhotoStageStop) in
                let image = try pixelStage(.encode) { () throws(ImagingError) in
                    try ImageEngine.encode(
                        photo.bitmap, as: format, quality: quality, cancellation: cancellation)
                }
                let file = NamedPicture(image)
                if isKept { memory.insert(.file(file), for: key) }
                return file
            }
        }
    }
}

extension ImageEngine {
    /// Decodes a picture; of a damaged one, what is left of it if `acceptsDamage` is true.
    ///
    /// A sound picture has the same pixels whether or not damage is accepted. The decoder that
    /// accepts damage takes other steps, so a damaged file is decoded twice.
    ///
    /// - Returns: the pixels, and what is wrong with the file; nil for a sound one.
    static func decodeSoundOrDamaged(
        _ bytes: [UInt8], fitting size: PixelSize?, keeping parts: PictureParts = [],
        limits: ImageLimits, acceptingDamage acceptsDamage: Bool,
        cancellation: ImagingCancellation
    ) throws(ImagingError) -> (bitmap: Bitmap, damage: String?) {
        do {
            let bitmap = try decode(
                bytes, fitting: size, keeping: parts, limits: limits, cancellation: cancellation)
            return (bitmap, nil)
        } catch .decodeFailed(let detail) where acceptsDamage {
            do {
                let rest = try decode(
                    bytes, fitting: size, keeping: parts, limits: limits, acceptingDamage: true,
                    cancellation: cancellation)
                return (rest, detail)
            } catch .decodeFailed {
                // Nothing is left of the picture.
                throw .decodeFailed(detail: detail)
            }
        }
    }
}
#endif
