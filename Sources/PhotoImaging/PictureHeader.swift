#if PhotoImaging
import CPhotoVips

/// What a file says of its picture before the pixels.
public struct PictureHeader: Sendable, Hashable {
    /// The size, the format and the like.
    public let info: ImageInfo
    /// The fields of the EXIF block.
    public let fields: ExifFields
    /// The packet of XMP, which is XML; nil if the file has none.
    public let xmp: [UInt8]?
    /// The small JPEG in the EXIF block, which is stored like the picture: not turned upright. nil
    /// if the file has none.
    public let thumbnail: [UInt8]?
}

extension ImageEngine {
    /// Reads a picture's header and what the file says of the photo, without decoding any pixel.
    ///
    /// The first bytes of a file are enough for most JPEGs and PNGs. Blocks of more than 1 MiB are
    /// left out. The start of a raw file is enough, too, if it contains the file's directories:
    /// without the JPEG, the size is that of the raw data.
    ///
    /// - Throws: the errors of ``inspect(_:limits:)``.
    public static func header(
        of bytes: [UInt8], limits: ImageLimits = .standard
    ) throws(ImagingError) -> PictureHeader {
        let visit = HeaderVisit()
        if let info = try rawInfo(of: bytes, limits: limits, visiting: visit) {
            return PictureHeader(
                info: info, fields: ExifFields(entries: visit.entries), xmp: nil, thumbnail: nil)
        }
        let header = try readHeader(
            of: bytes, limits: limits, cancellation: nil, visiting: visit)
        return PictureHeader(
            info: header.info, fields: ExifFields(entries: visit.entries), xmp: visit.xmp,
            thumbnail: visit.thumbnail)
    }
}

/// Collects the parts of a header; used by one thread.
final class HeaderVisit {
    private(set) var entries: [String: String] = [:]
    private(set) var xmp: [UInt8]?
    private(set) var thumbnail: [UInt8]?

    private static let longestPart = 1 << 20

    /// Reads a header; keeps its parts.
    func read(
        _ bytes: [UInt8], _ format: ImageFormat, _ token: OpaquePointer?,
        _ info: inout cvips_info
    ) -> cvips_status {
        var visitor = cvips_header_visitor(
            entry: { context, entry, text in
                guard let entry, let text else { return }
                HeaderVisit.at(context)?.found(entry: String(cString: entry), text)
            },
            part: { context, part, bytes, count in
                HeaderVisit.at(context)?
                    .found(part, UnsafeBufferPointer(start: bytes, count: count))
            })
        return cvips_read_header(
            bytes, bytes.count, format.shimFormat, token, &visitor,
            Unmanaged.passUnretained(self).toOpaque(), &info)
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> HeaderVisit? {
        context.map { Unmanaged<HeaderVisit>.fromOpaque($0).takeUnretainedValue() }
    }

    private func found(entry name: String, _ text: UnsafePointer<CChar>) {
        guard ExifFields.entryNames.contains(name) else { return }
        entries[name] = String(cString: text)
    }

    private func found(_ part: cvips_header_part, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count <= Self.longestPart else { return }
        switch part {
        case .xmp: xmp = xmp ?? Array(bytes)
        case .thumbnail: thumbnail = Array(bytes)
        }
    }
}
#endif
