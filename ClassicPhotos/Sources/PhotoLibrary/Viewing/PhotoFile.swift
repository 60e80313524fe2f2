public import PhotoImaging
@_spi(ClassicPhotos) import PhotoPipeline

/// A file that shows one photo: the original, or a picture made of it.
public struct PhotoFile: Sendable {
    /// The contents of the file.
    public let bytes: [UInt8]
    /// The format of the contents; nil if an original is no picture.
    public let format: ImageFormat?
    /// A text that changes whenever the contents do, and is safe between the quotation marks of an
    /// HTTP entity tag.
    public let tag: String
    /// The original as the loader has it; nil for a picture made of it.
    let original: PhotoOriginal?

    init(
        bytes: [UInt8], format: ImageFormat?, madeFrom source: String,
        original: PhotoOriginal? = nil
    ) {
        self.bytes = bytes
        self.format = format
        self.original = original
        tag = String(fnv1a(Array(source.utf8)), radix: 16)
    }
}

/// What a photo's header and EXIF block say.
public struct PhotoDetails: Sendable, Hashable {
    /// The size of the original in bytes.
    public let byteCount: Int
    /// The header.
    public let info: ImageInfo
    /// The fields of the EXIF block.
    public let fields: ExifFields
}
