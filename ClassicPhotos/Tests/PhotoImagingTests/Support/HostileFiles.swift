/// Files with false headers, built byte by byte.
enum HostileFiles {
    /// A PNG with the given size in its header and `data` as its compressed pixels.
    static func png(
        width: Int, height: Int, bitDepth: UInt8 = 8, colorType: UInt8 = 2,
        interlaced: Bool = false,
        data: [UInt8] = [0x78, 0x9C, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01]
    ) -> [UInt8] {
        let header =
            bigEndian(width) + bigEndian(height)
            + [bitDepth, colorType, 0, 0, interlaced ? 1 : 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + chunk("IHDR", header) + chunk("IDAT", data) + chunk("IEND", [])
    }

    /// The start of a JPEG with the given size in its frame header; no data follows.
    static func jpeg(width: Int, height: Int, progressive: Bool = false) -> [UInt8] {
        let size = bigEndian(height).suffix(2) + bigEndian(width).suffix(2)
        let components: [UInt8] = [3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]
        return [0xFF, 0xD8, 0xFF, progressive ? 0xC2 : 0xC0, 0, 17, 8] + size + components
            + [0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0, 0xFF, 0xD9]
    }

    static func chunk(_ name: String, _ body: [UInt8]) -> [UInt8] {
        let checked = Array(name.utf8) + body
        return bigEndian(body.count) + checked + bigEndian(Int(crc32(checked)))
    }

    static func bigEndian(_ number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
