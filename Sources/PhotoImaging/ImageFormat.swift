#if PhotoImaging
import CPhotoVips

/// A file format that this module reads.
public enum ImageFormat: String, Sendable, CaseIterable, Codable {
    /// JPEG, baseline or progressive.
    case jpeg
    /// PNG, of any depth, interlaced or not.
    case png
    /// WebP, lossy or lossless.
    case webp
    /// GIF. Written with a palette of at most 256 colors.
    case gif
    /// TIFF and BigTIFF. Written losslessly.
    case tiff
    /// HEIF with pictures in HEVC, as telephones write it (HEIC).
    ///
    /// Read only if ``ImageLimits/allowedFormats`` names it, and written only if libvips has an
    /// encoder for it.
    case heif
    /// HEIF with pictures in AV1; the same applies as to ``heif``.
    case avif
    /// A camera's raw file that is built like TIFF: NEF, NRW, CR2, DNG, ARW, SR2, ORF, RW2, RWL,
    /// PEF or SRW.
    ///
    /// Read only if ``ImageLimits/allowedFormats`` names it, and never written. What is decoded is
    /// the largest JPEG that the camera has put into the file, with the orientation and the EXIF
    /// fields of the raw file. ``ImageInfo/rawSize`` is the size of the raw data.
    case raw

    /// The media type for an HTTP `Content-Type`; raw files have no common one.
    public var mediaType: String {
        self == .raw ? "application/octet-stream" : "image/\(rawValue)"
    }

    /// Whether ``ImageEngine/encode(_:as:quality:cancellation:)`` can write this format.
    ///
    /// The encoders of HEIF and AVIF are optional parts of libvips. The first call for one of these
    /// formats encodes a small picture to find out, which takes some 50 ms.
    public var canEncode: Bool { self != .raw && cvips_can_encode(shimFormat) }

    /// Whether this format can contain several frames or pages that the engine reads and writes.
    public var hasFrames: Bool {
        switch self {
        case .webp, .gif, .tiff: true
        case .jpeg, .png, .heif, .avif, .raw: false
        }
    }

    /// Whether this format can have more than 8 bits per channel.
    public var hasDepth: Bool {
        switch self {
        case .png, .tiff, .heif, .avif: true
        case .jpeg, .webp, .gif, .raw: false
        }
    }

    /// The kinds of metadata that the engine writes in this format.
    public var metadataKinds: Set<MetadataKind> {
        switch self {
        case .jpeg: [.exif, .xmp, .iptc]
        case .png, .webp, .heif, .avif: [.exif, .xmp]
        case .tiff: [.xmp, .iptc]
        case .gif, .raw: []
        }
    }

    /// The formats that can be written, by name, for messages.
    static var encodableNames: String {
        allCases.filter(\.canEncode).map(\.rawValue).joined(separator: ", ")
    }

    /// Whether this format can be written with an alpha channel.
    ///
    /// A transparent picture is put on white when it is written in a format without alpha.
    public var hasAlpha: Bool { self != .jpeg }

    /// The longest side in pixels that a file of this format can express.
    var maximumEncodedSide: Int {
        switch self {
        case .webp: 16_383
        case .jpeg, .gif, .raw: 65_535
        // The encoders' own limits.
        case .heif, .avif: 16_384
        case .png, .tiff: Int(Int32.max)
        }
    }
}
#endif
