#if PhotoPipeline
import PhotoImaging
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The file that a batch writes for a photo: download → inspect → decode and filter → encode. A file
// is made once, so these stages keep nothing in memory, and the pixels are filtered in place.

/// The error of a download that was not needed, because the photo has the known version.
struct PhotoIsUnchanged: Error {}

/// The file that a batch writes for a photo, and what the file lacks.
struct PhotoResult: Sendable {
    let image: EncodedImage
    let remarks: [PhotoRemark]
}

extension PhotoLoader {
    /// Adds an operation that downloads or reads a photo, whatever the caches have.
    ///
    /// - Parameter known: the text of a ``PhotoVersion``. If the photo still has that version, the
    ///   operation fails with `PhotoIsUnchanged`. nil to download in any case.
    func download(_ source: Source, unless known: String?) -> TypedOperation<PhotoOriginal> {
        let url = source.url
        return originals.add(.name("Download \(PhotoURL.name(of: url))")) {
            [downloader] () async throws -> PhotoOriginal in
            guard let content = try await downloader.content(of: source, unless: known) else {
                throw PhotoIsUnchanged()
            }
            return PhotoOriginal(
                url: url, version: content.version, origin: url.isFileURL ? .file : .network,
                bytes: content.bytes)
        }
    }

    /// Makes the file that a batch writes for a photo, and passes it on.
    ///
    /// One reservation of memory covers all stages on pixels, and also what the closure does with
    /// the file. Cancelling the calling task cancels the stages.
    ///
    /// - Parameters:
    ///   - source: provides the original with its bytes.
    ///   - recipe: what to make of the photo.
    ///   - priority: the priority of the decoding. Encoding has a high priority, so that few photos
    ///     are in memory.
    ///   - use: gets the last stage while it waits or runs, and may add operations after it.
    func result<Output: Sendable>(
        from source: TypedOperation<PhotoOriginal>, by recipe: PhotoRecipe,
        priority: Operations.Operation.QueuePriority,
        _ use: @escaping @Sendable (TypedOperation<PhotoResult>) async throws -> Output
    ) async throws(PhotoStageStop) -> Output {
        try await stage { [self] in
            let inspect = pixels.add("Inspect", .priority(.high), after: source) {
                [limits = options.limits] original in
                try pixelStage(.decode) { () throws(ImagingError) in
                    try ImageEngine.inspect(
                        original.contents, limits: limits.limits(for: original.url))
                }
            }
            let info = try await inspect.valueUnlessCancelled
            let format = recipe.format(of: info)
            let need = PixelCapacity.bytesNeeded(
                for: info, fitting: recipe.size, filters: recipe.filters, format: format,
                keeping: recipe.parts(writtenAs: format))
            let output = try await holding(
                options.capacity.memory(need), in: requests, named: "Result"
            ) { [self] in
                let decode = decoding(source, by: recipe, as: format, priority)
                let encode = encoding(decode, by: recipe, as: format, info)
                return try await withTaskCancellationHandler {
                    try await use(encode)
                } onCancel: {
                    decode.cancel()
                    encode.cancel()
                }
            }
            guard let output else { throw PhotoStageStop.cancelled }
            return output
        }
    }

    /// Adds the operation that decodes and filters.
    private func decoding(
        _ source: TypedOperation<PhotoOriginal>, by recipe: PhotoRecipe, as format: ImageFormat,
        _ priority: Operations.Operation.QueuePriority
    ) -> TypedOperation<Bitmap> {
        let filters = recipe.filters
        let timeLimit = decodingTimeLimit + (filters.isEmpty ? .zero : filteringTimeLimit)
        return pixels.add(
            filters.isEmpty ? "Decode" : "Decode and filter", .priority(priority),
            options.capacity.processor, after: source
        ) { [limits = options.limits] original in
            try pixelWork(timeLimit: timeLimit) { cancellation throws(PhotoStageStop) in
                try pixelStage(.decode) { () throws(ImagingError) in
                    let (bitmap, _) = try ImageEngine.decodeSoundOrDamaged(
                        original.contents, fitting: recipe.size,
                        keeping: recipe.parts(writtenAs: format),
                        limits: limits.limits(for: original.url),
                        acceptingDamage: recipe.acceptsDamage, cancellation: cancellation)
                    return try ImageEngine.apply(filters, to: bitmap, cancellation: cancellation)
                }
            }
        }
    }

    /// Adds the operation that encodes.
    private func encoding(
        _ decode: TypedOperation<Bitmap>, by recipe: PhotoRecipe, as format: ImageFormat,
        _ info: ImageInfo
    ) -> TypedOperation<PhotoResult> {
        pixels.add(
            "Encode", .priority(.high), options.capacity.processor, after: decode
        ) { bitmap in
            let image = try pixelWork(timeLimit: encodingTimeLimit) {
                cancellation throws(PhotoStageStop) in
                try pixelStage(.encode) { () throws(ImagingError) in
                    try ImageEngine.encode(
                        bitmap, as: format, quality: recipe.quality, cancellation: cancellation)
                }
            }
            return PhotoResult(
                image: image,
                remarks: PhotoRemark.remarks(on: info, frames: bitmap.frames, recipe: recipe))
        }
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
