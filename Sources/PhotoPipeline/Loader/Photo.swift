#if PhotoPipeline
public import PhotoImaging

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A photo that was loaded, decoded and processed.
public struct Photo: Sendable {
    /// Where the bytes of a photo, or its pixels, were found.
    public enum Origin: String, Sendable, Hashable {
        /// The pixels, or the bytes of the latest download, were in memory.
        case memory
        /// The bytes were in the cache on the disk.
        case cache
        /// The bytes were read from a file of the person.
        case file
        /// The bytes were downloaded.
        case network
    }

    /// The pixels.
    public let bitmap: Bitmap
    /// Where the photo was found.
    public let origin: Origin
    /// What is known of the original.
    public let facts: PhotoFacts?
    /// Where the photo comes from, and what was done to it.
    let key: PictureKey

    /// The address of the photo, as in the request.
    public var url: URL { key.url }
}

/// A version of a photo, and its bytes as the source has them.
///
/// The bytes are missing if a picture in memory was made of the same version, and if the photo is a
/// file that has not been read yet.
public struct PhotoOriginal: Sendable {
    /// The address of the photo, as in the request.
    public let url: URL
    /// The version of the photo.
    public let version: PhotoVersion
    /// Where the photo was found.
    public let origin: Photo.Origin
    /// The bytes; nil if they were not needed so far.
    let bytes: [UInt8]?
}

/// What a picture in memory is made of.
struct PictureKey: Sendable, Hashable {
    /// The stages whose results are kept.
    enum Stage: Sendable, Hashable {
        case pixels
        case encoded(ImageFormat, quality: Int)
        case original
    }

    let url: URL
    /// The text of the photo's version.
    let version: String
    let size: PixelSize?
    var processors: [PhotoProcessor] = []
    var stage = Stage.pixels

    /// The key of a photo as its source has it.
    static func original(_ url: URL, _ version: PhotoVersion) -> PictureKey {
        PictureKey(url: url, version: version.text, size: nil, stage: .original)
    }
}
#endif
