import Operations
import PhotoImaging
@_spi(ClassicPhotos) import PhotoPipeline

/// The file that a batch writes for a photo, and what the file lacks.
struct PhotoResult: Sendable {
    let image: EncodedImage
    let remarks: [PhotoRemark]
}

extension PhotoLoader {
    /// Makes the file that a batch writes for a photo.
    ///
    /// A file is made once, so nothing is kept in memory, and the pixels are filtered in place.
    ///
    /// - Parameters:
    ///   - original: the original with its bytes.
    ///   - recipe: what to make of the photo.
    ///   - priority: the priority of the work.
    func result(
        of original: PhotoOriginal, by recipe: PhotoRecipe,
        priority: Operations.Operation.QueuePriority = .normal
    ) async throws(PhotoStageStop) -> PhotoResult {
        let file = try await file(of: original, priority: priority) { recipe.plan(for: $0) }
        return PhotoResult(
            image: file.image,
            remarks: PhotoRemark.remarks(on: file.info, frames: file.frames, recipe: recipe))
    }
}
