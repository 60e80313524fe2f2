#if PhotoImaging
// Upper bounds on the memory that a call uses, for callers that share a memory budget. The bounds
// follow from how the formats and libvips work. They cover the call's own buffers and its result,
// but not its input.

extension ImageEngine {
    /// The approximate maximum number of bytes that
    /// ``decode(_:fitting:keeping:limits:acceptingDamage:cancellation:)`` uses, including its
    /// result.
    ///
    /// The estimate covers the decoder's buffers (``ImageInfo/bufferedBytes``), the strips that are
    /// shrunk one after another, and the bitmap. It does not cover the file.
    ///
    /// - Parameters:
    ///   - info: the result of ``inspect(_:limits:)`` for the file.
    ///   - box: the box that will be passed to `decode`.
    ///   - parts: the parts that will be passed to `decode`.
    public static func memoryToDecode(
        _ info: ImageInfo, fitting box: PixelSize?, keeping parts: PictureParts = []
    ) -> Int {
        let shape = info.shape(fitting: box, keeping: parts)
        // A line of a strip takes at most 4 floats per pixel; resampling keeps several dozen lines.
        let strips = 4.0 * 4 * Double(info.size.longerSide) * 64
        // A WebP frame is decoded into memory at about the requested size, then placed on a canvas
        // of that size.
        let frame = shape.bytes / Double(max(shape.frames, 1))
        let frames = info.format == .webp ? 8.0 / 3 * frame : 0
        return bytes(fixed + Double(info.bufferedBytes) + strips + frames + shape.bytes)
    }

    /// The approximate maximum number of bytes that ``apply(_:to:cancellation:)`` uses, including
    /// its result.
    ///
    /// The estimate covers the result and the extra buffers of a blur, but not the input bitmap.
    /// Without filters it is 0.
    ///
    /// - Parameters:
    ///   - filters: the filters to apply.
    ///   - shape: the shape of the input bitmap.
    ///   - isInPlace: whether nobody else holds the input bitmap, so that a bitmap of one frame is
    ///     filtered in its own memory.
    public static func memoryToApply(
        _ filters: [ImageFilter], to shape: BitmapShape, inPlace isInPlace: Bool = false
    ) -> Int {
        let steps = filters.flatMap(\.steps)
        guard let most = steps.map(\.buffers).max() else { return 0 }
        let frame = shape.bytes / Double(max(shape.frames, 1))
        // The frames of an animation are filtered one after another, then copied to the result.
        let copy = shape.frames > 1 ? frame : 0
        let result = isInPlace && shape.frames <= 1 ? 0 : shape.bytes
        return bytes(fixed + result + Double(most) * frame + copy)
    }

    /// The approximate maximum number of bytes that ``encode(_:as:quality:cancellation:)`` uses,
    /// including its result.
    ///
    /// The estimate covers the encoder's copy of the picture, and the file, which is briefly in
    /// memory twice. It does not cover the bitmap.
    public static func memoryToEncode(_ shape: BitmapShape, as format: ImageFormat) -> Int {
        var written = shape
        if !format.hasFrames { written.frames = 1 }
        let reduced = shape.bitsPerChannel == 16 && !format.hasDepth
        if reduced { written.bitsPerChannel = 8 }
        let pixels = Double(shape.size.pixelCount)
        let working =
            switch format {
            case .jpeg, .raw: pixels
            case .png, .tiff: 2 * written.bytes
            case .webp: written.bytes + 6 * pixels
            case .gif: (written.frames > 1 ? written.bytes : 0) + 16 * pixels
            // Encoders of video keep several planes, and blocks with their statistics.
            case .heif, .avif: 30 * pixels * (shape.bitsPerChannel == 16 ? 2 : 1)
            }
        return bytes(fixed + working + (reduced ? written.bytes : 0))
    }

    /// The tables and small buffers of any call, in bytes.
    private static let fixed = 4_000_000.0

    /// Clamps a count: a header may claim a size whose product overflows every integer type.
    private static func bytes(_ count: Double) -> Int { Int(min(count, 1e18)) }
}

/// The dimensions of a bitmap, which decide how much memory it needs.
public struct BitmapShape: Sendable, Hashable {
    /// The size of a frame in pixels.
    public var size: PixelSize
    /// Whether the bitmap has an alpha channel.
    public var hasAlpha: Bool
    /// The number of bits of a channel: 8 or 16.
    public var bitsPerChannel: Int
    /// The number of frames.
    public var frames: Int

    /// A shape; by default, one frame with 8 bits per channel and without alpha.
    public init(
        _ size: PixelSize, hasAlpha: Bool = false, bitsPerChannel: Int = 8, frames: Int = 1
    ) {
        self.size = size
        self.hasAlpha = hasAlpha
        self.bitsPerChannel = bitsPerChannel
        self.frames = frames
    }

    /// The size of the bitmap in bytes, at most `Int.max`.
    public var byteCount: Int { Int(min(bytes, 1e18)) }

    fileprivate var bytes: Double {
        Double(size.pixelCount) * (hasAlpha ? 4 : 3) * Double(bitsPerChannel / 8) * Double(frames)
    }
}

extension Bitmap {
    /// The dimensions of the bitmap.
    public var shape: BitmapShape {
        BitmapShape(size, hasAlpha: hasAlpha, bitsPerChannel: bitsPerChannel, frames: frames)
    }
}

extension ImageInfo {
    /// The shape of the bitmap that decoding makes; an upper bound, because unused alpha channels
    /// are dropped and frames of different sizes are left out.
    public func shape(fitting box: PixelSize?, keeping parts: PictureParts) -> BitmapShape {
        BitmapShape(
            size.shrunk(toFit: box), hasAlpha: hasAlpha,
            bitsPerChannel: parts.contains(.depth) ? bitsPerChannel : 8,
            frames: parts.contains(.frames) && format.hasFrames ? frames : 1)
    }
}

extension FilterStep {
    /// The number of bitmaps that the step needs in addition to its input and its result.
    fileprivate var buffers: Int {
        switch self {
        case .tone, .recolor, .look, .vignette: 0
        case .blur, .sharpen: 2
        case .tiltShift: 3
        }
    }
}

extension PixelSize {
    /// This size, shrunk to fit a box; each side may be one pixel smaller than the exact value.
    public func shrunk(toFit box: PixelSize?) -> PixelSize {
        guard let box else { return self }
        let factor = max(
            1, Double(width) / Double(max(box.width, 1)),
            Double(height) / Double(max(box.height, 1)))
        return PixelSize(
            width: Int((Double(width) / factor).rounded(.up)),
            height: Int((Double(height) / factor).rounded(.up)))
    }
}
#endif
