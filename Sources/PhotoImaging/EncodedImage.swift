#if PhotoImaging
/// A picture encoded as the contents of a file.
public struct EncodedImage: Sendable, Hashable {
    /// The contents of the file.
    public var bytes: [UInt8]

    /// The format of the bytes.
    public var format: ImageFormat

    /// The picture's size in pixels.
    public var size: PixelSize

    /// A file of `format` that shows a picture of `size`.
    public init(bytes: [UInt8], format: ImageFormat, size: PixelSize) {
        self.bytes = bytes
        self.format = format
        self.size = size
    }
}
#endif
