#if PhotoImaging
/// The reason why a picture could not be read, filtered or written.
///
/// Each description says what to do.
public enum ImagingError: Error, Sendable, Hashable {
    /// The ``ImagingCancellation`` was cancelled.
    case cancelled

    /// The deadline of the ``ImagingCancellation`` has passed, or its processor time is used up.
    case timedOut

    /// The input has no bytes.
    case emptyInput

    /// The bytes do not start like any format that this module reads.
    ///
    /// `looksLike` is a guess, such as "an HTML page".
    case unknownFormat(looksLike: String?)

    /// The bytes are a picture in a format that this module does not read, because its decoder is
    /// not safe with files from others.
    ///
    /// `name` has an article, as in "a BMP picture".
    case formatNotRead(name: String)

    /// A raw file contains no JPEG that shows its photo.
    case noPictureInRawFile

    /// The format is known, but ``ImageLimits/allowedFormats`` does not include it.
    case formatNotAllowed(ImageFormat, allowed: Set<ImageFormat>)

    /// The header claims more than ``ImageLimits`` allows; nothing was decoded.
    ///
    /// `limit` is the limit in words, such as "100,000,000 pixels".
    case tooLarge(size: PixelSize, limit: String)

    /// The frames of an animation or the pages of a document have too many pixels together.
    case tooManyFrames(Int, size: PixelSize, limit: String)

    /// The bytes are truncated or corrupt; `detail` describes the damage.
    case decodeFailed(detail: String)

    /// A filter could not be computed.
    case filterFailed(detail: String)

    /// The picture could not be written.
    case encodeFailed(detail: String)

    /// A `.cube` file cannot be read as a look.
    ///
    /// `line` is counted from 1. `problem` is a clause, such as "LUT_3D_SIZE is given twice".
    case invalidLook(line: Int, problem: String)

    /// An argument of the call is invalid: a size, a quality, or the text of a filter.
    ///
    /// The associated text names the argument.
    case invalidArgument(String)

    /// There is not enough memory for the picture.
    case outOfMemory

    /// libvips cannot be used in this process.
    case engineUnavailable
}

extension ImagingError: CustomStringConvertible {
    /// One or two sentences: the cause, and what to do about it.
    public var description: String {
        switch self {
        case .cancelled: "The work on the picture was cancelled."
        case .timedOut:
            "The picture took longer than its time limit. Try again, or allow more time."
        case .emptyInput: "The file is empty. Download or copy it again."
        case .unknownFormat(let looksLike):
            Self.unknownFormatSentence(looksLike)
        case .formatNotRead(let name): Self.notReadSentence(name)
        case .noPictureInRawFile:
            "The raw file contains no JPEG that shows the photo, and raw data is not developed. "
                + "Export the photo as JPEG with another program."
        case .formatNotAllowed(let format, let allowed):
            Self.notAllowedSentence(format, allowed)
        case .tooLarge(let size, let limit):
            "The picture claims \(size) pixels; the limit is \(limit). "
                + "Use a smaller picture, or raise the limit if you trust the source."
        case .tooManyFrames(let frames, let size, let limit):
            "The picture has \(frames) frames of \(size) pixels, together more than the limit of "
                + "\(limit). Use a smaller size, or raise the limit if you trust the source."
        case .decodeFailed(let detail):
            "The picture cannot be decoded: \(detail). Download or copy the file again."
        case .filterFailed(let detail): "The filter failed: \(detail)."
        case .encodeFailed(let detail): "The picture cannot be written: \(detail)."
        case .invalidLook(let line, let problem):
            "Line \(line) of the look is not valid: \(problem). Export the look again as a .cube "
                + "file."
        case .invalidArgument(let detail): detail
        case .outOfMemory:
            "There is not enough memory for the picture. Use a smaller size, or process fewer "
                + "pictures at a time."
        case .engineUnavailable:
            "libvips could not start. Install libvips 8.14 or later (Debian: libvips42)."
        }
    }

    private static func unknownFormatSentence(_ looksLike: String?) -> String {
        let found = looksLike.map { "it looks like \($0)" } ?? "its first bytes are unknown"
        return "The file is not a picture of a known format: \(found). "
            + "Use JPEG, PNG, WebP, GIF, TIFF, HEIC, AVIF or a raw file that is built like TIFF."
    }

    private static func notReadSentence(_ name: String) -> String {
        "The file is \(name). This format is not read, because its decoder is not safe with "
            + "damaged or malicious files. Convert the file to PNG, TIFF or JPEG."
    }

    private static func notAllowedSentence(
        _ format: ImageFormat, _ allowed: Set<ImageFormat>
    ) -> String {
        let names = allowed.map(\.rawValue).sorted().joined(separator: ", ")
        return "The format \(format.rawValue) is not allowed here. "
            + (names.isEmpty ? "No format is allowed." : "Allowed formats: \(names).")
    }
}
#endif
