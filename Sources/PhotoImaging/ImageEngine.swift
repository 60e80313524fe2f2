#if PhotoImaging
import CPhotoVips

/// Decodes, filters and encodes pictures.
///
///     let bitmap = try ImageEngine.decode(bytes, fitting: PixelSize(width: 320, height: 320))
///     let sepia = try ImageEngine.apply([.sepia(intensity: 0.8)], to: bitmap)
///     let file = try ImageEngine.encode(sepia, as: .jpeg, quality: 80)
///
/// Every call works on the calling thread and blocks it until the work is done, which can take
/// seconds for a large picture. Call from threads that may block, not from Swift's cooperative pool
/// or an event loop.
///
/// Calls on different threads run in parallel. Each call uses one processor, and the caller chooses
/// how many calls run at once. More calls than processors use more memory and save no time.
/// ``memoryToDecode(_:fitting:keeping:)``, ``memoryToApply(_:to:inPlace:)`` and
/// ``memoryToEncode(_:as:)`` estimate the memory of a call in advance.
///
/// ``encode(_:as:quality:cancellation:)`` is the one call that may not do all its work on the
/// calling thread: unless it writes a JPEG without metadata, libvips runs the encoder on its own
/// thread, and the caller waits for that thread.
///
/// libvips starts with the first call, which takes some 30 ms; ``prepare()`` starts it earlier. The
/// memory that libvips keeps for a thread is freed when the thread ends.
public enum ImageEngine {
    /// Starts libvips now instead of with the first picture.
    ///
    /// - Throws: ``ImagingError/engineUnavailable`` if libvips cannot start.
    public static func prepare() throws(ImagingError) {
        guard cvips_setup() == .ok else { throw .engineUnavailable }
    }

    /// Drops the lines that the decoders of HEIF and AVIF write to `stderr` about damaged pictures,
    /// which name no file.
    ///
    /// The call exchanges the C library's variable `stderr`, whose `fileno` is -1 from then on. All
    /// other text still arrives at the standard error. The variable belongs to the whole process,
    /// so only a program may call this method, and no library: call it first of all, while there is
    /// one thread.
    @_spi(ClassicPhotos) public static func dropDecoderMessages() { cvips_silence_decoders() }

    /// Reads a picture's header and checks it against the limits, without decoding any pixel.
    ///
    /// - Throws: ``ImagingError/emptyInput``, ``ImagingError/unknownFormat(looksLike:)``,
    ///   ``ImagingError/formatNotAllowed(_:allowed:)``, ``ImagingError/noPictureInRawFile``,
    ///   ``ImagingError/tooLarge(size:limit:)`` or ``ImagingError/decodeFailed(detail:)``.
    public static func inspect(
        _ bytes: [UInt8], limits: ImageLimits = .standard
    ) throws(ImagingError) -> ImageInfo {
        try readHeader(of: bytes, limits: limits, cancellation: nil).info
    }

    /// Decodes a picture, turned upright and converted to sRGB.
    ///
    /// The colors of the file are those of its ICC profile. Without one, they are those of the
    /// chunks cICP, gAMA and cHRM in a PNG, Adobe RGB if the EXIF block of a JPEG says so as
    /// cameras do (DCF 2.0), and otherwise sRGB. Colors out of sRGB become the nearest ones
    /// (relative colorimetric, with black point compensation).
    ///
    /// With `fitting`, the picture is shrunk to fit the box and keeps its proportions; most
    /// decoders then read only the data they need. A picture is never enlarged. If `fitting` is
    /// nil, the picture keeps its full size.
    ///
    /// A transparent picture keeps its alpha channel, unless the channel is opaque everywhere.
    ///
    /// `cancellation` takes effect within milliseconds, even in the middle of a progressive JPEG.
    /// WebP, GIF, HEIF and AVIF are exceptions: they are decoded in one piece and notice a
    /// cancellation only at the end of the piece, at worst some 15 ms a megapixel later.
    ///
    /// - Parameters:
    ///   - bytes: the contents of the file.
    ///   - box: the box that the picture is shrunk to fit.
    ///   - parts: what to keep in addition to the first frame in 8 bits. With
    ///     ``PictureParts/frames``, frames of different sizes, and the frames of formats without
    ///     ``ImageFormat/hasFrames``, are still reduced to the first frame.
    ///   - limits: the limits that the header must meet before any pixel is decoded.
    ///   - acceptsDamage: whether to decode a file that ends too early or has wrong data, as far as
    ///     that is possible.
    ///   - cancellation: stops the call.
    /// - Throws: the errors of ``inspect(_:limits:)``,
    ///   ``ImagingError/tooManyFrames(_:size:limit:)``, ``ImagingError/cancelled``,
    ///   ``ImagingError/timedOut``, or ``ImagingError/invalidArgument(_:)`` for an empty box.
    ///   Unless `acceptsDamage` is true, the call rejects a file that ends too early, and a JPEG
    ///   with missing or wrong data, with or without an end mark; it never returns half a picture.
    ///   A JPEG whose faults are invisible, such as extra bytes before a marker, is decoded.
    public static func decode(
        _ bytes: [UInt8], fitting box: PixelSize? = nil, keeping parts: PictureParts = [],
        limits: ImageLimits = .standard, acceptingDamage acceptsDamage: Bool = false,
        cancellation: ImagingCancellation? = nil
    ) throws(ImagingError) -> Bitmap {
        let boxSides = try shimBox(box)
        var header = try readHeader(of: bytes, limits: limits, cancellation: cancellation)
        let (info, bytes) = (header.info, header.picture)
        let readsFrames = parts.contains(.frames) && info.format.hasFrames
        if readsFrames { try limits.check(frames: info.frames, of: info.size.shrunk(toFit: box)) }
        var options = cvips_decode_options()
        (options.box_width, options.box_height) = boxSides
        options.keeps_depth = parts.contains(.depth)
        options.keeps_frames = readsFrames
        options.keeps_metadata = parts.contains(.metadata)
        options.accepts_damage = acceptsDamage
        var decoded = cvips_decoded()
        // libvips reads the block of a TIFF as that of a JPEG without a picture.
        let exif = options.keeps_metadata ? header.exif : nil
        let exifHolder = exif.map { ExifBlock.head(with: $0.bytes) } ?? []
        let status = ImagingCancellation.withToken(of: cancellation) { token in
            exifHolder.withUnsafeBufferPointer { holder in
                options.exif_holder = holder.isEmpty ? nil : holder.baseAddress
                options.exif_holder_count = holder.count
                return cvips_decode(
                    bytes, bytes.count, info.format.shimFormat, &header.shim, &options, token,
                    &decoded)
            }
        }
        try check(status) {
            let isDamaged = status == .damaged
            return .decodeFailed(
                detail: isDamaged
                    ? "part of the picture in the \(info.format.rawValue) file is missing or damaged"
                    : info.format.damage(in: bytes, reading: "pixels"))
        }
        return Bitmap(
            owning: decoded.picture, isGray: info.isGray && parts.contains(.gray),
            metadata: decoded.metadata.map(PictureMetadata.init(owning:)))
    }

    /// Applies filters in order and returns a new bitmap of the same size, depth and metadata.
    ///
    /// If the caller holds the only reference to the bitmap and passes it on, as with the result of
    /// a call, the new bitmap takes over its memory; frames of an animation are always copied.
    ///
    /// Sizes in filters, such as a blur's radius, are relative to the longer side, so a thumbnail
    /// and the full picture look alike. Alpha is kept. Every frame is filtered by itself. A gray
    /// bitmap stays gray if all filters keep gray pixels gray.
    ///
    /// - Throws: ``ImagingError/cancelled``, ``ImagingError/timedOut``,
    ///   ``ImagingError/outOfMemory`` or ``ImagingError/filterFailed(detail:)``.
    public static func apply(
        _ filters: [ImageFilter], to bitmap: consuming Bitmap,
        cancellation: ImagingCancellation? = nil
    ) throws(ImagingError) -> Bitmap {
        try cancellation?.check()
        guard !filters.isEmpty else { return bitmap }
        let staysGray = bitmap.isGray && filters.allSatisfy(\.keepsGray)
        let metadata = bitmap.metadata
        let picture = try render(filters, consume bitmap, cancellation)
        return Bitmap(owning: picture, isGray: staysGray, metadata: metadata)
    }

    /// Encodes a bitmap as a file in sRGB, with the metadata that the bitmap has.
    ///
    /// `quality` is 1 to 100 for JPEG, WebP, HEIF and AVIF. The other formats ignore it: they are
    /// lossless, except for the palette of GIF. JPEG puts a transparent bitmap on white; the other
    /// formats keep the transparency (GIF: on or off for each pixel).
    ///
    /// The file has what the format can hold: see ``ImageFormat/hasDepth``,
    /// ``ImageFormat/hasFrames`` and ``ImageFormat/metadataKinds``. HEIF gets 10 bits and AVIF 12
    /// bits of a 16-bit channel.
    ///
    /// `cancellation` takes effect within milliseconds for JPEG and PNG, and within about 0.1 s for
    /// TIFF. WebP, GIF, HEIF and AVIF are encoded in one piece.
    ///
    /// - Throws: ``ImagingError/invalidArgument(_:)`` for a quality out of range, a read-only
    ///   format, or a picture larger than the format can express; ``ImagingError/cancelled``,
    ///   ``ImagingError/timedOut`` or ``ImagingError/encodeFailed(detail:)``.
    public static func encode(
        _ bitmap: Bitmap, as format: ImageFormat, quality: Int = 80,
        cancellation: ImagingCancellation? = nil
    ) throws(ImagingError) -> EncodedImage {
        try checkEncodable(bitmap.size, as: format, quality: quality)
        var output = cvips_bytes()
        var options = cvips_encode_options(
            format: format.shimFormat, quality: Int32(quality), is_gray: bitmap.isGray,
            metadata: bitmap.metadata?.pointer)
        let status = ImagingCancellation.withToken(of: cancellation) { token in
            bitmap.withPicture { cvips_encode($0, &options, token, &output) }
        }
        try check(status) {
            .encodeFailed(detail: "libvips could not create a \(format.rawValue) file")
        }
        defer { cvips_free(output.bytes) }
        let bytes = Array(UnsafeBufferPointer(start: output.bytes, count: output.count))
        return EncodedImage(bytes: bytes, format: format, size: bitmap.size)
    }
}
#endif
