#if PhotoImaging
/// The parts of a picture that decoding may keep in addition to the pixels of its first frame.
///
/// Without any part, a decoded picture is what a screen needs: one frame, 8 bits per channel, and
/// nothing about the place and time of the photo.
public struct PictureParts: OptionSet, Sendable, Hashable {
    /// The bits of the parts.
    public let rawValue: Int

    /// Parts with the given bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Channels of 16 bits stay channels of 16 bits.
    public static let depth = PictureParts(rawValue: 1 << 0)

    /// A gray picture is written with one gray channel, as long as no filter colors it.
    public static let gray = PictureParts(rawValue: 1 << 1)

    /// All frames of an animation, or all pages of a document.
    public static let frames = PictureParts(rawValue: 1 << 2)

    /// EXIF, XMP, IPTC, comments, the resolution, the duration of frames, and an sRGB profile if
    /// the file has a profile.
    ///
    /// The orientation is reset, because the picture is turned upright, and the thumbnail in EXIF
    /// is dropped, because it would show the picture without filters.
    public static let metadata = PictureParts(rawValue: 1 << 3)

    /// Everything in a file that the engine can keep.
    public static let all: PictureParts = [.depth, .gray, .frames, .metadata]
}

/// What a file may have beside the levels of its picture, and no copy of it has.
public enum ExtraPart: String, Sendable, Hashable, CaseIterable, Codable {
    /// A map of brighter light for screens that can show it: Ultra HDR, ISO 21496-1, Apple's.
    case gainMap
    /// The video of a motion photo.
    case video
    /// Light brighter than white in the picture itself: a PNG in PQ or HLG. It becomes white.
    case highlights
}

/// The kinds of metadata that a file may contain.
public enum MetadataKind: String, Sendable, Hashable, CaseIterable, Codable {
    /// The camera's notes: time, place, exposure.
    case exif = "EXIF"
    /// Titles, ratings and the history of edits, as XML.
    case xmp = "XMP"
    /// Captions and rights for the press.
    case iptc = "IPTC"
}
#endif
