// How much memory a call takes at most, for callers who share it out. Estimates from above, made of
// the formats' and libvips' ways to work; they hold for the call's own buffers and its result, not
// for its input.

extension ImageEngine {
    /// About how many bytes ``decode(_:fitting:limits:cancellation:)`` takes at most, its result
    /// included.
    ///
    /// Counts what the decoder buffers (``ImageInfo/bufferedBytes``), the strips that are shrunk
    /// one after the other, and the bitmap. Not the file.
    ///
    /// - Parameters:
    ///   - info: what ``inspect(_:limits:)`` said of the file.
    ///   - box: as it will be given to `decode`.
    public static func memoryToDecode(_ info: ImageInfo, fitting box: PixelSize?) -> Int {
        let result = bitmapBytes(info.size.shrunk(toFit: box), hasAlpha: info.hasAlpha)
        // A line of a strip is at most 4 floats a pixel; resampling keeps some dozens of lines.
        let strips = 4.0 * 4 * Double(info.size.longerSide) * 64
        // A frame is decoded into memory at about the size asked for, and put on a canvas of that
        // size.
        let frames = info.format == .webp ? 8.0 / 3 * result : 0
        return bytes(fixed + Double(info.bufferedBytes) + strips + frames + result)
    }

    /// About how many bytes ``apply(_:to:cancellation:)`` takes at most, its result included.
    ///
    /// Counts the result and what a blur needs beside it. Not the bitmap that it is applied to. 0
    /// if there are no filters.
    public static func memoryToApply(
        _ filters: [ImageFilter], to size: PixelSize, hasAlpha: Bool
    ) -> Int {
        let bitmap = bitmapBytes(size, hasAlpha: hasAlpha)
        let steps = filters.flatMap { $0.kind.definition.steps($0.values) }
        guard let most = steps.map(\.buffers).max() else { return 0 }
        return bytes(fixed + Double(1 + most) * bitmap)
    }

    /// About how many bytes ``encode(_:as:quality:cancellation:)`` takes at most, its result
    /// included.
    ///
    /// Counts what the encoder keeps of the picture, and the file, which is in memory twice for a
    /// moment. Not the bitmap.
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

    /// Tables and small buffers of any call.
    private static let fixed = 4_000_000.0

    private static func bitmapBytes(_ size: PixelSize, hasAlpha: Bool) -> Double {
        Double(size.pixelCount) * (hasAlpha ? 4 : 3)
    }

    /// Headers may claim sizes whose products no integer holds.
    private static func bytes(_ count: Double) -> Int { Int(min(count, 1e18)) }
}

extension FilterStep {
    /// How many bitmaps the step needs beside the one that it starts from and its own.
    fileprivate var buffers: Int {
        switch self {
        case .tone, .recolour, .vignette: 0
        case .blur, .sharpen: 2
        case .tiltShift: 3
        }
    }
}

extension PixelSize {
    /// The size of a picture of this size that is shrunk to fit a box; each side may be less by a
    /// pixel.
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
