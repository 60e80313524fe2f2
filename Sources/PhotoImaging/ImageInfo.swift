#if PhotoImaging
/// The contents of a picture's header, read without decoding a pixel.
public struct ImageInfo: Sendable, Hashable {
    /// The format of the bytes.
    public var format: ImageFormat

    /// The displayed size, with ``orientation`` applied.
    public var size: PixelSize

    /// Whether the picture has an alpha channel; the channel may turn out to be opaque everywhere.
    public var hasAlpha: Bool

    /// The EXIF orientation, 1 (upright) to 8.
    public var orientation: Int

    /// The number of frames of an animation or pages of a document, at least 1.
    ///
    /// Only the first frame is decoded, unless ``PictureParts/frames`` is kept and the format is
    /// one of those with ``ImageFormat/hasFrames``.
    public var frames: Int

    /// The number of bits of a channel: 8 or 16.
    public var bitsPerChannel: Int

    /// Whether the file has floating-point numbers, which become 8 bits.
    public var hasFloats = false

    /// Whether the picture has only shades of gray.
    public var isGray: Bool

    /// The kinds of metadata in the file.
    public var metadataKinds: Set<MetadataKind>

    /// What the file has in addition, and no copy has.
    public var extraParts: Set<ExtraPart> = []

    /// Whether this is a progressive JPEG or an interlaced PNG.
    public var isProgressive: Bool

    /// The maximum number of bytes that the decoder buffers for the whole picture, at any target
    /// size and in addition to its result.
    ///
    /// The buffer holds the coefficients of a progressive JPEG, the pixels of an interlaced PNG, or
    /// the frame of a WebP. The value is 0 if the decoder works line by line.
    public var bufferedBytes: Int

    /// The size of the raw data of a raw file, whose largest JPEG has ``size``; nil for all other
    /// formats, and if the file does not say it.
    public var rawSize: PixelSize?

    /// A header with the given fields.
    public init(
        format: ImageFormat, size: PixelSize, hasAlpha: Bool = false, orientation: Int = 1,
        frames: Int = 1, bitsPerChannel: Int = 8, isGray: Bool = false,
        metadataKinds: Set<MetadataKind> = [], isProgressive: Bool = false, bufferedBytes: Int = 0
    ) {
        self.format = format
        self.size = size
        self.hasAlpha = hasAlpha
        self.orientation = orientation
        self.frames = frames
        self.bitsPerChannel = bitsPerChannel
        self.isGray = isGray
        self.metadataKinds = metadataKinds
        self.isProgressive = isProgressive
        self.bufferedBytes = bufferedBytes
    }
}
#endif
