/// Animated GIFs of plain grays, 16 × 8 pixels.
enum SmallGIF {
    static func file(_ grays: [UInt8], hundredths: [Int]? = nil) -> [UInt8] {
        var bytes = Array("GIF89a".utf8) + [16, 0, 8, 0, 0xF6, 0, 0]
        // A palette of 128 grays.
        for index in 0..<128 { bytes += [UInt8](repeating: UInt8(index * 2), count: 3) }
        bytes += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0]
        for (frame, gray) in grays.enumerated() {
            let time = hundredths?[frame] ?? 10
            bytes += [0x21, 0xF9, 4, 0, UInt8(time & 0xFF), UInt8(time >> 8), 0, 0]
            bytes += [0x2C, 0, 0, 0, 0, 16, 0, 8, 0, 0, 7] + pixels(gray / 2) + [0]
        }
        return bytes + [0x3B]
    }

    /// 128 equal pixels in LZW codes of 8 bits. A code that clears the table, often enough, keeps
    /// the codes from growing.
    private static func pixels(_ index: UInt8) -> [UInt8] {
        var codes: [UInt8] = []
        for pixel in 0..<128 {
            if pixel.isMultiple(of: 60) { codes.append(128) }
            codes.append(index)
        }
        codes.append(129)
        return [UInt8(codes.count)] + codes
    }

    /// The durations of the frames, in hundredths of a second.
    static func hundredths(in gif: [UInt8]) -> [Int] {
        gif.ranges(of: [0x21, 0xF9, 4] as [UInt8]).map { range in
            Int(gif[range.upperBound + 1]) | Int(gif[range.upperBound + 2]) << 8
        }
    }
}

/// Documents with pages of plain grays, 16 × 8 pixels, uncompressed.
enum SmallTIFF {
    static func file(_ grays: [UInt8], orientation: Int = 1, lastWidth: Int = 16) -> [UInt8] {
        var bytes: [UInt8] = [0x4D, 0x4D, 0, 42]
        var place = 8
        for (page, gray) in grays.enumerated() {
            let isLast = page == grays.count - 1
            let width = isLast ? lastWidth : 16
            let pixels = [UInt8](repeating: gray, count: width * 8 * 3)
            let entries: [(tag: Int, isLong: Bool, value: Int)] = [
                (256, false, width), (257, false, 8), (258, false, 8), (259, false, 1),
                (262, false, 2), (273, true, 0), (274, false, orientation), (277, false, 3),
                (278, false, 8), (279, true, pixels.count), (284, false, 1),
            ]
            let size = 2 + entries.count * 12 + 4
            var directory = short(entries.count)
            for entry in entries {
                let value = entry.tag == 273 ? place + size : entry.value
                directory += short(entry.tag) + short(entry.isLong ? 4 : 3)
                directory += HostileFiles.bigEndian(1)
                directory += entry.isLong ? HostileFiles.bigEndian(value) : short(value) + [0, 0]
            }
            let next = place + size + pixels.count + pixels.count % 2
            directory += HostileFiles.bigEndian(isLast ? 0 : next)
            if page == 0 { bytes += HostileFiles.bigEndian(8) }
            bytes += directory + pixels + (pixels.count.isMultiple(of: 2) ? [] : [0])
            place = next
        }
        return bytes
    }

    private static func short(_ value: Int) -> [UInt8] {
        Array(HostileFiles.bigEndian(value).suffix(2))
    }
}
