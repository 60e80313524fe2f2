/// What a picture's header says, read without decoding a pixel.
public struct ImageInfo: Sendable, Hashable {
    /// What the bytes are.
    public var format: ImageFormat

    /// The size as it is displayed, after ``orientation`` has been applied.
    public var size: PixelSize

    /// Whether there is an alpha channel. It may turn out to be opaque everywhere.
    public var hasAlpha: Bool

    /// The EXIF orientation, 1 (upright) to 8.
    public var orientation: Int

    /// Frames of an animation or pages of a document; at least 1. Only the first is decoded.
    public var frames: Int

    /// Whether this is a progressive JPEG or an interlaced PNG.
    public var isProgressive: Bool

    /// How many bytes the decoder needs at most for the picture as a whole, beside its result and
    /// whatever size it is shrunk to: the coefficients of a progressive JPEG, the pixels of an
    /// interlaced PNG, the frame of a WebP. 0 for what is decoded line by line.
    public var bufferedBytes: Int

    /// A header with the given fields.
    public init(
        format: ImageFormat, size: PixelSize, hasAlpha: Bool = false, orientation: Int = 1,
        frames: Int = 1, isProgressive: Bool = false, bufferedBytes: Int = 0
    ) {
        self.format = format
        self.size = size
        self.hasAlpha = hasAlpha
        self.orientation = orientation
        self.frames = frames
        self.isProgressive = isProgressive
        self.bufferedBytes = bufferedBytes
    }
}
