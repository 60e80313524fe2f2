/// A picture as the bytes of a file.
public struct EncodedImage: Sendable, Hashable {
    /// The file.
    public var bytes: [UInt8]

    /// What the bytes are.
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
