#if PhotoImaging
/// A JPEG inside another file, up to the head of its first scan.
///
/// Layout: ISO/IEC 10918-1, annex B.
struct EmbeddedJPEG {
    /// The place of the JPEG in the file.
    let range: Range<Int>
    let size: PixelSize
    /// The TIFF structure of the JPEG's own EXIF block.
    let exif: Range<Int>?
    /// The segments that say how to decode the pixels, in order.
    private let segments: [Range<Int>]
    /// The place of the first scan.
    private let pixels: Int

    /// The JPEG's bytes with an EXIF block in place of the metadata that it has.
    func bytes(in file: [UInt8], exif block: [UInt8]) -> [UInt8] {
        var result: [UInt8] = [0xFF, 0xD8]
        result.reserveCapacity(range.count + block.count)
        result += ExifBlock.segment(block)
        for segment in segments { result += file[segment] }
        return result + file[pixels..<range.upperBound]
    }

    /// More segments before the pixels are damage.
    private static let mostSegments = 1_000

    private enum Marker {
        static let start = 0xD8
        static let scan = 0xDA
        static let end = 0xD9
        static let quantization = 0xDB
        static let huffman = 0xC4
        static let profile = 0xE2
        static let adobe = 0xEE
        /// Baseline, extended and progressive; the others are lossless, or arithmetically coded.
        static let frames = 0xC0...0xC2
        static let allFrames: Set = [
            0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF,
        ]
        static let application = 0xE0...0xEF
    }

    /// Finds a JPEG that decoders read as it is; nil if there is something else in the range, such
    /// as the lossless JPEG of raw data, or a JPEG whose tables are elsewhere.
    init?(in file: [UInt8], at range: Range<Int>) {
        guard file.indices.contains(range), range.count > 4, file[range.lowerBound] == 0xFF,
            file[range.lowerBound + 1] == Marker.start
        else { return nil }
        var (size, exif, segments) = (PixelSize?.none, Range<Int>?.none, [Range<Int>]())
        var tables: Set<Int> = []
        var place = range.lowerBound + 2
        for _ in 0..<Self.mostSegments {
            guard let (marker, body) = Self.segment(in: file, at: place, before: range.upperBound)
            else { return nil }
            switch marker {
            case Marker.scan:
                guard let size, tables.count == 2 else { return nil }
                (self.range, self.size, self.exif) = (range, size, exif)
                (self.segments, pixels) = (segments, place)
                return
            case Marker.end: return nil
            case _ where Marker.allFrames.contains(marker):
                guard Marker.frames.contains(marker), size == nil,
                    let frame = Self.frame(file[body])
                else { return nil }
                size = frame
            case Marker.quantization, Marker.huffman: tables.insert(marker)
            default: break
            }
            if exif == nil { exif = ExifBlock.place(in: file, marker: marker, body: body) }
            if Self.isKept(marker, file[body]) { segments.append(place..<body.upperBound) }
            place = body.upperBound
        }
        return nil
    }

    /// The marker at a place, and its data without the length; nil if there is no complete segment.
    private static func segment(
        in file: [UInt8], at start: Int, before end: Int
    ) -> (marker: Int, body: Range<Int>)? {
        var place = start
        guard place < end, file[place] == 0xFF else { return nil }
        // A marker may have more than one byte of 0xFF.
        while place < end, file[place] == 0xFF { place += 1 }
        guard end - place >= 3 else { return nil }
        let length = Int(file[place + 1]) << 8 | Int(file[place + 2])
        guard length >= 2, length <= end - place - 1 else { return nil }
        return (Int(file[place]), place + 3..<place + 1 + length)
    }

    /// The size of a frame of 8 bits in gray or color.
    private static func frame(_ body: ArraySlice<UInt8>) -> PixelSize? {
        let body = Array(body.prefix(6))
        guard body.count == 6, body[0] == 8, body[5] == 1 || body[5] == 3 else { return nil }
        let size = PixelSize(
            width: Int(body[3]) << 8 | Int(body[4]), height: Int(body[1]) << 8 | Int(body[2]))
        return size.width > 0 && size.height > 0 ? size : nil
    }

    /// Whether a segment belongs to the pixels: the tables, a profile, and what says how the
    /// colors are coded.
    private static func isKept(_ marker: Int, _ body: ArraySlice<UInt8>) -> Bool {
        guard Marker.application.contains(marker) else { return true }
        return switch marker {
        case Marker.application.lowerBound: body.starts(with: "JFIF\0".utf8)
        case Marker.profile: body.starts(with: "ICC_PROFILE\0".utf8)
        case Marker.adobe: body.starts(with: "Adobe".utf8)
        default: false
        }
    }
}
#endif
