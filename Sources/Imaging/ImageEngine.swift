import CVips

/// Pictures in, pixels, pictures out.
///
///     let bitmap = try ImageEngine.decode(bytes, fitting: PixelSize(width: 320, height: 320))
///     let sepia = try ImageEngine.apply([.sepia(intensity: 0.8)], to: bitmap)
///     let file = try ImageEngine.encode(sepia, as: .jpeg, quality: 80)
///
/// Every call does its work on the calling thread and blocks it until the work is done, which can
/// be seconds for a large picture. So call from threads that may block, not from Swift's
/// cooperative pool or an event loop. Calls on different threads run at the same time; each uses
/// one processor, and how many run at once is the caller's choice. As many as there are processors
/// are enough: more take more memory and no less time. What a call takes of memory can be asked
/// before it: ``memoryToDecode(_:fitting:)``, ``memoryToApply(_:to:hasAlpha:)`` and
/// ``memoryToEncode(_:hasAlpha:as:)``.
///
/// The one exception to "on the calling thread" is ``encode(_:as:quality:cancellation:)``: libvips
/// runs its encoders on a thread of its own, for which the caller waits.
///
/// libvips starts with the first call (some 30 ms; ``prepare()`` does it earlier). What it keeps
/// for a thread is freed when the thread ends.
public enum ImageEngine {
    /// Starts libvips now instead of with the first picture.
    ///
    /// - Throws: ``ImagingError/engineUnavailable`` when it cannot be started.
    public static func prepare() throws(ImagingError) {
        guard cvips_setup() == .ok else { throw .engineUnavailable }
    }

    /// Reads a picture's header and checks it against the limits. No pixel is decoded.
    ///
    /// - Throws: ``ImagingError/emptyInput``, ``ImagingError/unknownFormat(looksLike:)``,
    ///   ``ImagingError/formatNotAllowed(_:allowed:)``, ``ImagingError/tooLarge(size:limit:)`` or
    ///   ``ImagingError/decodeFailed(detail:)``.
    public static func inspect(
        _ bytes: [UInt8], limits: ImageLimits = .standard
    ) throws(ImagingError) -> ImageInfo {
        try readHeader(of: bytes, limits: limits, cancellation: nil).info
    }

    /// Decodes the first frame of a picture, turned upright and converted to sRGB.
    ///
    /// With `fitting`, the picture is shrunk to fit that box with its proportions kept, and most
    /// decoders then read only what is needed; it is never enlarged. With nil it has its full size.
    ///
    /// Transparent pictures keep their alpha channel, unless it is opaque everywhere.
    ///
    /// `cancellation` takes effect within milliseconds, also in the middle of a progressive JPEG.
    /// WebP, GIF and HEIF are decoded in one piece, though: there it is seen when the piece is
    /// done, some 15 ms a megapixel later at worst.
    ///
    /// - Throws: what ``inspect(_:limits:)`` throws, ``ImagingError/cancelled``,
    ///   ``ImagingError/timedOut``, or ``ImagingError/invalidArgument(_:)`` for an empty box. A
    ///   file that ends too early is refused: half a picture is never returned. So is a JPEG in
    ///   whose data a part is missing or wrong, with an end mark or without; one with faults that
    ///   do not show, such as bytes too many before a marker, is decoded.
    public static func decode(
        _ bytes: [UInt8], fitting box: PixelSize? = nil, limits: ImageLimits = .standard,
        cancellation: ImagingCancellation? = nil
    ) throws(ImagingError) -> Bitmap {
        let boxSides = try shimBox(box)
        var (info, header) = try readHeader(of: bytes, limits: limits, cancellation: cancellation)
        var picture = cvips_picture()
        let status = ImagingCancellation.withToken(of: cancellation) {
            cvips_decode(
                bytes, bytes.count, info.format.shimFormat, &header, boxSides.width,
                boxSides.height, $0, &picture)
        }
        try check(status) {
            let isDamaged = status == .damaged
            return .decodeFailed(
                detail: isDamaged
                    ? "a part of the \(info.format.rawValue) file's picture is missing or damaged"
                    : info.format.damage(in: bytes, reading: "pixels"))
        }
        return Bitmap(owning: picture)
    }

    /// Applies filters, the first one first, and returns a new bitmap of the same size.
    ///
    /// Sizes in filters (a blur's radius) are relative to the longer side, so a thumbnail and the
    /// full picture look alike. Alpha is kept.
    ///
    /// - Throws: ``ImagingError/cancelled``, ``ImagingError/timedOut``,
    ///   ``ImagingError/outOfMemory`` or ``ImagingError/filterFailed(detail:)``.
    public static func apply(
        _ filters: [ImageFilter], to bitmap: Bitmap, cancellation: ImagingCancellation? = nil
    ) throws(ImagingError) -> Bitmap {
        try cancellation?.check()
        guard !filters.isEmpty else { return bitmap }
        let render = try FilterRender(bitmap, cancellation: cancellation)
        for filter in filters {
            try render.append(filter)
        }
        return try render.finish()
    }

    /// Writes a bitmap as a file in sRGB, without any metadata.
    ///
    /// `quality` is 1 to 100 for JPEG and WebP and is ignored by the others, which are lossless
    /// (GIF: but for its palette). A transparent bitmap is put on white for JPEG; the other formats
    /// keep the transparency (GIF: on or off for each pixel).
    ///
    /// `cancellation` takes effect within milliseconds for JPEG and PNG and about 0.1 s for TIFF;
    /// WebP and GIF are encoded in one piece.
    ///
    /// - Throws: ``ImagingError/invalidArgument(_:)`` for a quality out of range, a format that is
    ///   only read or a picture larger than the format can express; ``ImagingError/cancelled``,
    ///   ``ImagingError/timedOut`` or ``ImagingError/encodeFailed(detail:)``.
    public static func encode(
        _ bitmap: Bitmap, as format: ImageFormat, quality: Int = 80,
        cancellation: ImagingCancellation? = nil
    ) throws(ImagingError) -> EncodedImage {
        try checkEncodable(bitmap.size, as: format, quality: quality)
        var output = cvips_bytes()
        let status = ImagingCancellation.withToken(of: cancellation) { token in
            bitmap.withPicture {
                cvips_encode($0, format.shimFormat, Int32(quality), token, &output)
            }
        }
        try check(status) {
            .encodeFailed(detail: "libvips could not make a \(format.rawValue) file of it")
        }
        defer { cvips_free(output.bytes) }
        let bytes = Array(UnsafeBufferPointer(start: output.bytes, count: output.count))
        return EncodedImage(bytes: bytes, format: format, size: bitmap.size)
    }
}
