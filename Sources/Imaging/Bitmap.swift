import CVips

/// A decoded picture in memory: upright, sRGB, 8 bits a channel.
///
/// Immutable, so any number of threads may read one at the same time. It holds ``byteCount`` bytes
/// until the last reference goes.
public final class Bitmap: Sendable {
    /// Written before the bitmap is shared and never after.
    nonisolated(unsafe) let picture: cvips_picture

    /// Takes the ownership of `picture`.
    init(owning picture: cvips_picture) { self.picture = picture }

    /// A bitmap of the given pixels: rows from the top, without padding, three bytes a pixel (red,
    /// green, blue), or four with straight (not premultiplied) alpha when `hasAlpha` is true.
    ///
    /// - Throws: ``ImagingError/invalidArgument(_:)`` when the number of bytes does not fit `size`.
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
        // libvips' own limit for a side.
        let sides = 1...10_000_000
        guard sides.contains(size.width), sides.contains(size.height) else {
            throw .invalidArgument("A bitmap's sides must be 1 to 10,000,000 pixels, not \(size).")
        }
        let expected = size.width * size.height * bands
        guard count == expected else {
            throw .invalidArgument(
                "A bitmap of \(size) needs \(expected) bytes (\(bands) a pixel), not \(count).")
        }
    }

    deinit { cvips_free(picture.pixels) }

    /// Calls `body` with the picture for the shim, and keeps its pixels until `body` returns.
    func withPicture<Result>(_ body: (UnsafePointer<cvips_picture>) -> Result) -> Result {
        withExtendedLifetime(self) { withUnsafePointer(to: picture, body) }
    }

    /// Its width and height.
    public var size: PixelSize {
        PixelSize(width: Int(picture.width), height: Int(picture.height))
    }

    /// Whether it has an alpha channel. A decoded picture has one only if it shows somewhere.
    public var hasAlpha: Bool { picture.bands == 4 }

    /// Bytes of memory that the pixels take.
    public var byteCount: Int { size.width * size.height * Int(picture.bands) }

    /// A copy of the pixels, laid out as in ``init(size:pixels:hasAlpha:)``.
    public func pixels() -> [UInt8] { withPixels { Array($0) } }

    /// Calls `body` with the pixels themselves, laid out as in ``init(size:pixels:hasAlpha:)``.
    ///
    /// The pointer must not leave `body`.
    public func withPixels<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(UnsafeBufferPointer(start: picture.pixels, count: byteCount))
    }
}
