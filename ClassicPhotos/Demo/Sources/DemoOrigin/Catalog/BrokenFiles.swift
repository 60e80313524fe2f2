import Landscapes

/// Bytes that are served as photos but are not pictures.
enum BrokenFiles {
    /// A typical response under the URL of a photo that has moved.
    static let htmlPage: [UInt8] = Array(
        """
        <!doctype html>
        <html lang="en">
        <head><meta charset="utf-8"><title>This photo has moved</title></head>
        <body><h1>This photo has moved</h1><p>Please use the search of our new site.</p></body>
        </html>

        """.utf8)

    /// 40,000 bytes of noise, the same for the same seed; never starts with the signature of a
    /// picture.
    static func noise(seed: UInt64) -> [UInt8] {
        var random = Random(seed: seed)
        return (0..<40_000).map { $0 == 0 ? 0 : UInt8(truncatingIfNeeded: random.next()) }
    }

    /// The first two fifths of a file: enough for its header and a part of the picture.
    static func truncated(_ file: [UInt8]) -> [UInt8] { Array(file.prefix(file.count * 2 / 5)) }

    /// A baseline JPEG whose header claims 50,000 × 50,000 pixels, which would take 7.5 GB.
    static let hugeHeader: [UInt8] = {
        var file: [UInt8] = [0xFF, 0xD8]
        file += segment(0xE0, Array("JFIF".utf8) + [0, 1, 1, 0, 0, 1, 0, 1, 0, 0])
        file += segment(0xDB, [0] + [UInt8](repeating: 1, count: 64))
        let side: [UInt8] = [UInt8(50_000 >> 8), UInt8(50_000 & 0xFF)]
        file += segment(0xC0, [8] + side + side + [3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0])
        file += segment(0xC4, huffmanTable(0x00) + huffmanTable(0x10))
        file += segment(0xDA, [3, 1, 0, 2, 0, 3, 0, 0, 63, 0])
        file += [UInt8](repeating: 0x55, count: 4096)
        return file + [0xFF, 0xD9]
    }()

    private static func segment(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
        let length = body.count + 2
        return [0xFF, marker, UInt8(length >> 8), UInt8(length & 0xFF)] + body
    }

    /// The smallest valid table: a single one-bit code for "no more coefficients".
    private static func huffmanTable(_ kind: UInt8) -> [UInt8] {
        [kind, 1] + [UInt8](repeating: 0, count: 15) + [0]
    }
}
