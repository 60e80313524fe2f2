public import PhotoImaging
@_spi(ClassicPhotos) import PhotoPipeline

/// Everything that decides what a batch makes of a photo.
public struct PhotoRecipe: Sendable, Hashable, Codable {
    /// The filters, applied in order.
    public var filters: [ImageFilter]
    /// The box that pictures are shrunk to fit; nil keeps the original size.
    public var size: PixelSize?
    /// The format of the files; nil keeps the format of each photo if it can be written.
    public var format: ImageFormat?
    /// The quality for JPEG, WebP, HEIF and AVIF, from 1 to 100.
    public var quality: Int
    /// Whether EXIF, XMP, IPTC and profiles are kept.
    public var keepsMetadata: Bool
    /// Whether incomplete and damaged files are processed as far as possible.
    public var acceptsDamage: Bool

    /// Creates a recipe.
    public init(
        filters: [ImageFilter] = [], size: PixelSize? = nil, format: ImageFormat? = nil,
        quality: Int = 88, keepsMetadata: Bool = true, acceptsDamage: Bool = false
    ) {
        self.filters = filters
        self.size = size
        self.format = format
        self.quality = quality
        self.keepsMetadata = keepsMetadata
        self.acceptsDamage = acceptsDamage
    }

    /// The parts of a photo that are kept; depth, gray and frames always are, as far as the format
    /// of the result can hold them.
    func parts(writtenAs format: ImageFormat) -> PictureParts {
        var parts: PictureParts = .gray
        if format.hasDepth { parts.insert(.depth) }
        if format.hasFrames { parts.insert(.frames) }
        if keepsMetadata { parts.insert(.metadata) }
        return parts
    }

    /// The format of a photo's result: the requested format, otherwise the photo's own, or JPEG if
    /// there is no encoder for the photo's format.
    func format(of info: ImageInfo) -> ImageFormat {
        format ?? (info.format.canEncode ? info.format : .jpeg)
    }

    /// What to make of a photo with a header.
    func plan(for info: ImageInfo) -> FilePlan {
        let format = format(of: info)
        return FilePlan(
            size: size, filters: filters, format: format, quality: quality,
            parts: parts(writtenAs: format), acceptsDamage: acceptsDamage)
    }

    /// A number that differs for recipes with different results.
    var fingerprint: UInt64 {
        let size = size.map { "\($0.width)x\($0.height)" } ?? "full"
        let format = format?.rawValue ?? "own"
        let filters = filters.map(\.description).joined(separator: ";")
        let parts = "\(keepsMetadata) \(acceptsDamage)"
        // Increment the number after a change of the pixels or metadata that the engine writes.
        let engine = 4
        return fnv1a("\(engine) \(filters) \(size) \(format) \(quality) \(parts)".utf8)
    }
}

/// A loss that a person should know of, although the photo was processed.
public enum PhotoRemark: Sendable, Hashable, Codable {
    /// Only the first frame of an animation, or the first page of a document, was kept.
    case firstFrameOnly
    /// The channels of 16 bits became channels of 8 bits, because the format has no more.
    case depthReduced(as: ImageFormat)
    /// Floating-point numbers became channels of 8 bits.
    case floatsReduced
    /// The result lacks something that the file has beside its picture.
    case partDropped(ExtraPart)
    /// Metadata was dropped, because it cannot be written in the format.
    case metadataDropped(MetadataKind, as: ImageFormat)
    /// The result is a JPEG, because there is no encoder for the photo's format.
    case noEncoder(for: ImageFormat)
    /// The result was made of the JPEG in a raw file, and not of the raw data.
    case embeddedPicture
    /// The same, and the JPEG is small: the result has less than 1,000 pixels on its longer side,
    /// or less than half of the raw data's, although a larger one was wanted.
    case smallEmbeddedPicture

    /// The remarks on a photo.
    ///
    /// - Parameter frames: the number of frames that were decoded.
    static func remarks(
        on info: ImageInfo, frames: Int, recipe: PhotoRecipe
    ) -> [PhotoRemark] {
        let format = recipe.format(of: info)
        var remarks: [PhotoRemark] = []
        if info.frames > frames { remarks.append(.firstFrameOnly) }
        if info.bitsPerChannel > 8, !format.hasDepth { remarks.append(.depthReduced(as: format)) }
        if info.hasFloats { remarks.append(.floatsReduced) }
        remarks += ExtraPart.allCases.filter(info.extraParts.contains).map(Self.partDropped)
        if info.format == .raw {
            let isSmall = info.isSmallPart(of: recipe.size)
            remarks.append(isSmall ? .smallEmbeddedPicture : .embeddedPicture)
        } else if recipe.format == nil, !info.format.canEncode {
            remarks.append(.noEncoder(for: info.format))
        }
        guard recipe.keepsMetadata else { return remarks }
        for kind in MetadataKind.allCases where info.metadataKinds.contains(kind) {
            // The XMP of a raw file says how to develop it.
            let isRead = kind == .exif || info.format != .raw
            if !isRead || !format.metadataKinds.contains(kind) {
                remarks.append(.metadataDropped(kind, as: format))
            }
        }
        return remarks
    }

    /// The remark on a number of photos, as a sentence.
    public func sentence(for count: Int) -> String {
        func pictures(_ kind: String = "") -> String {
            "\(count) \(kind)picture\(count == 1 ? "" : "s")"
        }
        switch self {
        case .firstFrameOnly:
            return "\(pictures("animated ")): first frame only."
        case .depthReduced(let format):
            return "\(pictures()): 16 bits became 8, because \(format.displayName) has no more."
        case .floatsReduced:
            return "\(pictures()): floating-point numbers became 8 bits."
        case .partDropped(let part):
            return "\(pictures()) lost \(count == 1 ? "its" : "their") \(part.loss)."
        case .metadataDropped(let kind, let format):
            return "\(pictures()): \(kind.rawValue) was not kept in \(format.displayName)."
        case .noEncoder(let format):
            return "\(pictures()): written as JPEG, because there is no encoder for "
                + "\(format.displayName)."
        case .embeddedPicture, .smallEmbeddedPicture:
            let files = "\(count) raw file\(count == 1 ? "" : "s")"
            return self == .embeddedPicture
                ? "\(files): the JPEG in the file was processed, not the raw data."
                : "\(files): the JPEG in the file is small, and the raw data is not developed."
        }
    }
}

extension ExtraPart {
    /// The part, for a sentence about its loss.
    fileprivate var loss: String {
        switch self {
        case .gainMap: "gain map (HDR)"
        case .video: "video (motion photo)"
        case .highlights: "light brighter than white (HDR)"
        }
    }
}

extension ImageInfo {
    /// Whether the JPEG in a raw file is much smaller than the photo, although a larger picture is
    /// wanted.
    fileprivate func isSmallPart(of box: PixelSize?) -> Bool {
        let enough = max(1_000, (rawSize?.longerSide ?? 0) / 2)
        return size.longerSide < min(enough, box?.longerSide ?? .max)
    }
}

extension ImageFormat {
    /// The formats that a result may have, on some machine.
    static let written = allCases.filter { $0 != .raw }

    /// The name for people.
    public var displayName: String { self == .webp ? "WebP" : rawValue.uppercased() }
}
