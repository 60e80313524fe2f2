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
    public internal(set) var bitmap: Bitmap
    /// Where the photo was found.
    public internal(set) var origin: Origin
    /// The header of the original, with the size before the photo was shrunk; nil if it could not
    /// be read.
    public let info: ImageInfo?
    /// What is wrong with a damaged file, of which only a part is shown, as a clause; nil for a
    /// sound one. See ``PhotoLoader/Options/acceptsDamage``.
    public let damage: String?
    /// What ``PhotoLoader/Options/notes`` has made of the original.
    @_spi(ClassicPhotos) public let notes: (any Sendable)?
    /// Where the photo comes from, and what was done to it.
    var key: PictureKey

    /// The address of the photo, as in the request.
    public var url: URL { key.url }

    /// The version of the original, without its time.
    @_spi(ClassicPhotos) public var version: PhotoVersion {
        PhotoVersion(text: key.version, modified: nil)
    }
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
    @_spi(ClassicPhotos) public let bytes: [UInt8]?
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
