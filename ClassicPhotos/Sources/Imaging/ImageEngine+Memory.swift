// Upper bounds on the memory that a call uses, for callers that share a memory budget. The bounds
// follow from how the formats and libvips work. They cover the call's own buffers and its result,
// but not its input.

extension ImageEngine {
    /// The approximate maximum number of bytes that ``decode(_:fitting:limits:cancellation:)``
    /// uses, including its result.
    ///
    /// The estimate covers the decoder's buffers (``ImageInfo/bufferedBytes``), the strips that are
    /// shrunk one after another, and the bitmap. It does not cover the file.
    ///
    /// - Parameters:
    ///   - info: the result of ``inspect(_:limits:)`` for the file.
    ///   - box: the box that will be passed to `decode`.
    public static func memoryToDecode(_ info: ImageInfo, fitting box: PixelSize?) -> Int {
        let result = bitmapBytes(info.size.shrunk(toFit: box), hasAlpha: info.hasAlpha)
        // A line of a strip takes at most 4 floats per pixel; resampling keeps several dozen lines.
        let strips = 4.0 * 4 * Double(info.size.longerSide) * 64
        // A WebP frame is decoded into memory at about the requested size, then placed on a canvas
        // of that size.
        let frames = info.format == .webp ? 8.0 / 3 * result : 0
        return bytes(fixed + Double(info.bufferedBytes) + strips + frames + result)
    }

    /// The approximate maximum number of bytes that ``apply(_:to:cancellation:)`` uses, including
    /// its result.
    ///
    /// The estimate covers the result and the extra buffers of a blur, but not the input bitmap.
    /// Without filters it is 0.
    public static func memoryToApply(
        _ filters: [ImageFilter], to size: PixelSize, hasAlpha: Bool
    ) -> Int {
        let bitmap = bitmapBytes(size, hasAlpha: hasAlpha)
        let steps = filters.flatMap { $0.kind.definition.steps($0.values) }
        guard let most = steps.map(\.buffers).max() else { return 0 }
        return bytes(fixed + Double(1 + most) * bitmap)
    }

    /// The approximate maximum number of bytes that ``encode(_:as:quality:cancellation:)`` uses,
    /// including its result.
    ///
    /// The estimate covers the encoder's copy of the picture, and the file, which is briefly in
    /// memory twice. It does not cover the bitmap.
    public static func memoryToEncode(
        _ size: PixelSize, hasAlpha: Bool, as format: ImageFormat
    ) -> Int {
        let bitmap = bitmapBytes(size, hasAlpha: hasAlpha)
        let pixels = Double(size.pixelCount)
        let working =
            switch format {
            case .jpeg: pixels
            case .png, .tiff, .heif: 2 * bitmap
            case .webp: bitmap + 6 * pixels
            case .gif: 16 * pixels
            }
        return bytes(fixed + working)
    }

    /// The tables and small buffers of any call, in bytes.
    private static let fixed = 4_000_000.0

    private static func bitmapBytes(_ size: PixelSize, hasAlpha: Bool) -> Double {
        Double(size.pixelCount) * (hasAlpha ? 4 : 3)
    }

    /// Clamps a count: a header may claim a size whose product overflows every integer type.
    private static func bytes(_ count: Double) -> Int { Int(min(count, 1e18)) }
}

extension FilterStep {
    /// The number of bitmaps that the step needs in addition to its input and its result.
    fileprivate var buffers: Int {
        switch self {
        case .tone, .recolour, .vignette: 0
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
