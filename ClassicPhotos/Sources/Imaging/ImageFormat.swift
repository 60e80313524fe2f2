/// A file format that this module reads.
public enum ImageFormat: String, Sendable, CaseIterable, Codable {
    /// JPEG, baseline or progressive.
    case jpeg
    /// PNG, of any depth, interlaced or not.
    case png
    /// WebP, lossy or lossless.
    case webp
    /// GIF. Written with a palette of at most 256 colours.
    case gif
    /// TIFF and BigTIFF. Written losslessly.
    case tiff
    /// HEIF and AVIF. Read only, and only when ``ImageLimits/allowedFormats`` names it.
    case heif

    /// The media type for an HTTP `Content-Type`.
    public var mediaType: String { "image/\(rawValue)" }

    /// Whether ``ImageEngine/encode(_:as:quality:cancellation:)`` can write this format.
    public var canEncode: Bool { self != .heif }

    /// Whether this format can be written with an alpha channel.
    ///
    /// A transparent picture is put on white when it is written in a format without alpha.
    public var hasAlpha: Bool { self != .jpeg }

    /// The longest side in pixels that a file of this format can express.
    var maximumEncodedSide: Int {
        switch self {
        case .webp: 16_383
        case .jpeg, .gif: 65_535
        case .png, .tiff, .heif: Int(Int32.max)
        }
    }
}
