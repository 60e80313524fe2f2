import PhotoImaging

extension Pictures {
    /// Smooth colors with 16 bits per channel and more levels than 8 bits have.
    static func deep(width: Int, height: Int, hasAlpha: Bool = false) throws -> Bitmap {
        var samples: [UInt16] = []
        for y in 0..<height {
            for x in 0..<width {
                samples.append(UInt16(x * 65_535 / (width - 1)))
                samples.append(UInt16(y * 65_535 / (height - 1)))
                samples.append(UInt16((x + y) * 65_535 / (width + height - 2)))
                if hasAlpha { samples.append(UInt16((y * width + x) * 65_535 / (width * height))) }
            }
        }
        return try Bitmap(
            size: PixelSize(width: width, height: height), samples: samples, hasAlpha: hasAlpha)
    }
}

extension Bitmap {
    /// The samples of a bitmap with 16 bits per channel.
    func samples() -> [UInt16] {
        withPixels { UnsafeRawBufferPointer($0).bindMemory(to: UInt16.self).map(\.self) }
    }

    /// The samples of a bitmap with 16 bits per channel as the nearest 8-bit levels.
    func reduced() -> [UInt8] { samples().map { UInt8((Int($0) * 255 + 32_767) / 65_535) } }
}

extension [UInt8] {
    /// Whether a text occurs in the bytes.
    func contains(_ text: String) -> Bool { firstRange(of: Array(text.utf8)) != nil }
}
