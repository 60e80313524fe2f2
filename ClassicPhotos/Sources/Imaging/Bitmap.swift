import CVips

/// A decoded picture in memory: upright, sRGB, 8 bits per channel.
///
/// A bitmap is immutable, so any number of threads may read the same bitmap at once. It occupies
/// ``byteCount`` bytes until its last reference is released.
public final class Bitmap: Sendable {
    /// The shim's picture; written before the bitmap is shared, never afterwards.
    nonisolated(unsafe) let picture: cvips_picture

    /// Takes ownership of `picture`.
    init(owning picture: cvips_picture) { self.picture = picture }

    /// Creates a bitmap from the given pixels.
    ///
    /// The rows run from top to bottom without padding. A pixel is three bytes (red, green, blue),
    /// or four with straight (not premultiplied) alpha if `hasAlpha` is true.
    ///
    /// - Throws: ``ImagingError/invalidArgument(_:)`` if the number of bytes does not match `size`.
    public convenience init(
        size: PixelSize, pixels: [UInt8], hasAlpha: Bool = false
    ) throws(ImagingError) {
        let bands = hasAlpha ? 4 : 3
        try Self.check(size, bands: bands, count: pixels.count)
        var picture = cvips_picture()
        let status = cvips_picture_new(
            Int32(size.width), Int32(size.height), Int32(bands), &picture)
        guard status == .ok else { throw .outOfMemory }
        picture.pixels.update(from: pixels, count: pixels.count)
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
                "A bitmap of \(size) needs \(expected) bytes (\(bands) per pixel), not \(count).")
        }
    }

    deinit { cvips_free(picture.pixels) }

    /// Calls `body` with the picture in the shim's form, and keeps the pixels alive until `body`
    /// returns.
    func withPicture<Result>(_ body: (UnsafePointer<cvips_picture>) -> Result) -> Result {
        withExtendedLifetime(self) { withUnsafePointer(to: picture, body) }
    }

    /// The width and height in pixels.
    public var size: PixelSize {
        PixelSize(width: Int(picture.width), height: Int(picture.height))
    }

    /// Whether the bitmap has an alpha channel.
    ///
    /// A decoded picture has an alpha channel only if at least one pixel is not opaque.
    public var hasAlpha: Bool { picture.bands == 4 }

    /// The size of the pixels in bytes.
    public var byteCount: Int { size.width * size.height * Int(picture.bands) }

    /// A copy of the pixels, laid out as in ``init(size:pixels:hasAlpha:)``.
    public func pixels() -> [UInt8] { withPixels { Array($0) } }

    /// Calls `body` with the pixels in place, laid out as in ``init(size:pixels:hasAlpha:)``.
    ///
    /// The pointer is valid only until `body` returns.
    public func withPixels<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(UnsafeBufferPointer(start: picture.pixels, count: byteCount))
    }
}
