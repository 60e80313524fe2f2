#if PhotoPipeline
/// Counts the complete scans at the beginning of a progressive JPEG file while the file arrives.
///
/// Each scan of such a file adds detail to the whole picture. The markers are those of ITU-T T.81,
/// annex B. Each byte is looked at once.
struct JPEGScans: Sendable {
    private enum Place: Sendable {
        /// The next byte to look at is the first of a marker.
        case marker
        /// The next byte belongs to the compressed data of a scan.
        case data
        /// The file is no progressive JPEG, or has ended.
        case over
    }

    private var place = Place.marker
    private var position = 0
    private var isProgressive = false

    /// The number of complete scans.
    private(set) var count = 0
    /// The position after the last complete scan.
    private(set) var end = 0

    /// Continues with the bytes that have arrived; `bytes` begins with those of the last call.
    mutating func read(_ bytes: [UInt8]) {
        while true {
            switch place {
            case .over: return
            case .marker: guard readMarker(bytes) else { return }
            case .data: guard readData(bytes) else { return }
            }
        }
    }

    /// Reads a marker and its segment; returns false if the segment has not arrived.
    private mutating func readMarker(_ bytes: [UInt8]) -> Bool {
        guard position + 4 <= bytes.count else { return false }
        guard bytes[position] == 0xFF else {
            place = .over
            return true
        }
        let marker = bytes[position + 1]
        if position == 0 {
            if marker == 0xD8 { position = 2 } else { place = .over }
            return true
        }
        switch marker {
        case 0xFF:
            // A marker may follow any number of fill bytes.
            position += 1
            return true
        case 0xD9:
            place = .over
            return true
        default: break
        }
        let length = Int(bytes[position + 2]) << 8 | Int(bytes[position + 3])
        guard length >= 2, position + 2 + length <= bytes.count else {
            if length < 2 { place = .over }
            return length < 2
        }
        position += 2 + length
        switch marker {
        case 0xC2: isProgressive = true
        case 0xC0, 0xC1, 0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF: place = .over
        case 0xDA: place = isProgressive ? .data : .over
        default: break
        }
        return true
    }

    /// Reads the data of a scan up to the next marker; returns false if it has not arrived.
    private mutating func readData(_ bytes: [UInt8]) -> Bool {
        while position + 1 < bytes.count {
            let next = bytes[position + 1]
            // In the data, 0xFF is followed by 0 or by a restart marker.
            if bytes[position] == 0xFF, next != 0, next != 0xFF, !(0xD0...0xD7).contains(next) {
                count += 1
                end = position
                place = .marker
                return true
            }
            position += 1
        }
        return false
    }
}
#endif
