#if PhotoImaging
import CPhotoVips

/// A decoded picture in memory: upright and in sRGB.
///
/// A bitmap has 8 or 16 bits per channel, and one frame unless ``PictureParts/frames`` was kept. It
/// is immutable, so any number of threads may read the same bitmap at once. It occupies
/// ``byteCount`` bytes until its last reference is released.
public final class Bitmap: Sendable {
    /// The shim's picture; written before the bitmap is shared, and when its only owner takes it.
    nonisolated(unsafe) private(set) var picture: cvips_picture

    /// Whether red, green and blue are equal everywhere, and the picture is written in gray.
    public let isGray: Bool

    /// The metadata for a file of this picture; nil if the metadata was not kept.
    let metadata: PictureMetadata?

    /// Takes ownership of `picture`.
    init(owning picture: cvips_picture, isGray: Bool = false, metadata: PictureMetadata? = nil) {
        self.picture = picture
        self.isGray = isGray
        self.metadata = metadata
    }

    /// Creates a bitmap from the given pixels.
    ///
    /// The rows run from top to bottom without padding. A pixel is three bytes (red, green, blue),
    /// or four with straight (not premultiplied) alpha if `hasAlpha` is true.
    ///
    /// - Throws: ``ImagingError/invalidArgument(_:)`` if the number of bytes does not match `size`.
    public convenience init(
        size: PixelSize, pixels: [UInt8], hasAlpha: Bool = false
    ) throws(ImagingError) {
        try self.init(size: size, copying: pixels, hasAlpha: hasAlpha)
    }

    /// Creates a bitmap with 16 bits per channel; laid out as in
    /// ``init(size:pixels:hasAlpha:)``.
    ///
    /// - Throws: ``ImagingError/invalidArgument(_:)`` if the number of samples does not match
    ///   `size`.
    public convenience init(
        size: PixelSize, samples: [UInt16], hasAlpha: Bool = false
    ) throws(ImagingError) {
        try self.init(size: size, copying: samples, hasAlpha: hasAlpha)
    }

    private convenience init<Sample: FixedWidthInteger>(
        size: PixelSize, copying samples: [Sample], hasAlpha: Bool
    ) throws(ImagingError) {
        let bands = hasAlpha ? 4 : 3
        try Self.check(size, bands: bands, count: samples.count)
        var picture = cvips_picture(
            pixels: nil, width: Int32(size.width), height: Int32(size.height), bands: Int32(bands),
            depth: Int32(MemoryLayout<Sample>.size), frames: 1)
        guard cvips_picture_new(&picture) == .ok else { throw .outOfMemory }
        samples.withUnsafeBytes {
            UnsafeMutableRawPointer(picture.pixels).copyMemory(
                from: $0.baseAddress ?? UnsafeRawPointer(picture.pixels), byteCount: $0.count)
        }
        self.init(owning: picture)
    }

    private static func check(_ size: PixelSize, bands: Int, count: Int) throws(ImagingError) {
        // The longest side that libvips accepts.
        let sides = 1...10_000_000
        guard sides.contains(size.width), sides.contains(size.height) else {
            throw .invalidArgument("A bitmap's sides must be 1 to 10,000,000 pixels, not \(size).")
        }
        let expected = size.width * size.height * bands
        guard count == expected else {
            throw .invalidArgument(
                "A bitmap of \(size) needs \(expected) samples (\(bands) per pixel), not \(count).")
        }
    }

    deinit { cvips_free(picture.pixels) }

    /// Takes the pixels out of a bitmap that nobody else holds; nil if somebody else does.
    ///
    /// The caller owns the pixels, and `bitmap` must not be used any more.
    static func takePicture(of bitmap: inout Bitmap) -> cvips_picture? {
        guard isKnownUniquelyReferenced(&bitmap) else { return nil }
        defer { bitmap.picture.pixels = nil }
        return bitmap.picture
    }

    /// Calls `body` with the picture in the shim's form, and keeps the pixels alive until `body`
    /// returns.
    func withPicture<Result>(_ body: (UnsafePointer<cvips_picture>) -> Result) -> Result {
        withExtendedLifetime(self) { withUnsafePointer(to: picture, body) }
    }

    /// The width and height of a frame in pixels.
    public var size: PixelSize {
        PixelSize(width: Int(picture.width), height: Int(picture.height))
    }

    /// Whether the bitmap has an alpha channel.
    ///
    /// A decoded picture has an alpha channel only if at least one pixel is not opaque.
    public var hasAlpha: Bool { picture.bands == 4 }

    /// The number of bits of a channel: 8 or 16.
    public var bitsPerChannel: Int { Int(picture.depth) * 8 }

    /// The number of frames of an animation, or of pages of a document.
    public var frames: Int { Int(picture.frames) }

    /// Whether ``ImageEngine/encode(_:as:quality:cancellation:)`` writes metadata with the picture.
    public var hasMetadata: Bool { metadata != nil }

    /// The size of the pixels of all frames in bytes.
    public var byteCount: Int { withPicture { cvips_picture_size($0) } }

    /// A copy of the pixels, laid out as in ``withPixels(_:)``.
    public func pixels() -> [UInt8] { withPixels { Array($0) } }

    /// Calls `body` with the pixels in place.
    ///
    /// Rows run from top to bottom without padding, and frames follow one another. A channel of 16
    /// bits has two bytes in the machine's order. The pointer is valid only until `body` returns.
    public func withPixels<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(UnsafeBufferPointer(start: picture.pixels, count: byteCount))
    }
}
#endif
