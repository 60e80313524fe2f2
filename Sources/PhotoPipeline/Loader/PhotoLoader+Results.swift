#if PhotoPipeline
import PhotoImaging
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The file that a batch writes for a photo: download, then decode, filter and encode. A file is
// made once, so these stages keep nothing in memory, and the pixels are filtered in place.

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

    /// Makes the file that a batch writes for a photo.
    ///
    /// One operation does all work on pixels. It takes the memory for all of it together with a
    /// processor, so that no pixels wait in memory for a processor. Cancelling the calling task
    /// cancels the operation.
    ///
    /// - Parameters:
    ///   - original: the original with its bytes.
    ///   - recipe: what to make of the photo.
    ///   - priority: the priority of the work.
    func result(
        of original: PhotoOriginal, by recipe: PhotoRecipe,
        priority: Operations.Operation.QueuePriority = .normal
    ) async throws(PhotoStageStop) -> PhotoResult {
        try await stage { [self] in
            let limits = options.limits.limits(for: original.url)
            let info = try pixelStage(.decode) { () throws(ImagingError) in
                try ImageEngine.inspect(original.contents, limits: limits)
            }
            let format = recipe.format(of: info)
            let need = PixelCapacity.bytesNeeded(
                for: info, fitting: recipe.size, filters: recipe.filters, format: format,
                keeping: recipe.parts(writtenAs: format))
            let making = pixels.add(
                "Decode, filter, encode", .priority(priority), options.capacity.memory(need),
                options.capacity.processor
            ) { () throws(PhotoStageStop) -> PhotoResult in
                let bitmap = try Self.pixels(of: original, limits, by: recipe, as: format)
                let image = try Self.file(of: bitmap, by: recipe, as: format)
                return PhotoResult(
                    image: image,
                    remarks: PhotoRemark.remarks(on: info, frames: bitmap.frames, recipe: recipe))
            }
            return try await making.valueUnlessCancelled
        }
    }

    private static func pixels(
        of original: PhotoOriginal, _ limits: ImageLimits, by recipe: PhotoRecipe,
        as format: ImageFormat
    ) throws(PhotoStageStop) -> Bitmap {
        let filters = recipe.filters
        let timeLimit = decodingTimeLimit + (filters.isEmpty ? .zero : filteringTimeLimit)
        return try pixelWork(timeLimit: timeLimit) { cancellation throws(PhotoStageStop) in
            try pixelStage(.decode) { () throws(ImagingError) in
                let (bitmap, _) = try ImageEngine.decodeSoundOrDamaged(
                    original.contents, fitting: recipe.size,
                    keeping: recipe.parts(writtenAs: format), limits: limits,
                    acceptingDamage: recipe.acceptsDamage, cancellation: cancellation)
                return try ImageEngine.apply(filters, to: bitmap, cancellation: cancellation)
            }
        }
    }

    private static func file(
        of bitmap: Bitmap, by recipe: PhotoRecipe, as format: ImageFormat
    ) throws(PhotoStageStop) -> EncodedImage {
        try pixelWork(timeLimit: encodingTimeLimit) { cancellation throws(PhotoStageStop) in
            try pixelStage(.encode) { () throws(ImagingError) in
                try ImageEngine.encode(
                    bitmap, as: format, quality: recipe.quality, cancellation: cancellation)
            }
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
