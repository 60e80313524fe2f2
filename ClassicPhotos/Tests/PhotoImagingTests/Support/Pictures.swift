import PhotoImaging

extension ImageFormat {
    /// The formats that are read and written everywhere, without optional parts of libvips.
    static let always: [ImageFormat] = [.jpeg, .png, .webp, .gif, .tiff]
}

/// Pictures for tests.
enum Pictures {
    /// A picture of one color.
    static func plain(_ red: UInt8, _ green: UInt8, _ blue: UInt8, size: PixelSize) throws -> Bitmap
    {
        let count = size.width * size.height
        return try Bitmap(
            size: size, pixels: Array(repeating: [red, green, blue], count: count).flatMap(\.self))
    }

    /// Smooth colors with some texture, which compress like a photo and not like a drawing.
    static func colorful(width: Int, height: Int) throws -> Bitmap {
        var pixels = [UInt8](repeating: 0, count: width * height * 3)
        var noise: UInt32 = 1
        for y in 0..<height {
            for x in 0..<width {
                noise = noise &* 1_664_525 &+ 1_013_904_223
                let grain = Int(noise >> 28)
                let at = (y * width + x) * 3
                pixels[at] = UInt8(x * 239 / width + grain)
                pixels[at + 1] = UInt8(y * 239 / height + grain)
                pixels[at + 2] = UInt8((x + y) * 239 / (width + height) + grain)
            }
        }
        return try Bitmap(size: PixelSize(width: width, height: height), pixels: pixels)
    }

    /// A row with one pixel for each color.
    static func row(_ colors: [[UInt8]]) throws -> Bitmap {
        try Bitmap(
            size: PixelSize(width: colors.count, height: 1), pixels: colors.flatMap(\.self))
    }

    /// A picture whose left half is red and whose right half is blue.
    static func halves(width: Int, height: Int) throws -> Bitmap {
        var pixels: [UInt8] = []
        for _ in 0..<height {
            for x in 0..<width { pixels += x < width / 2 ? [255, 0, 0] : [0, 0, 255] }
        }
        return try Bitmap(size: PixelSize(width: width, height: height), pixels: pixels)
    }

    static func file(_ format: ImageFormat, width: Int = 120, height: Int = 80) throws -> [UInt8] {
        try ImageEngine.encode(colorful(width: width, height: height), as: format).bytes
    }
}

extension Bitmap {
    /// The channels of one pixel.
    func pixel(_ x: Int, _ y: Int) -> [UInt8] {
        let bands = hasAlpha ? 4 : 3
        let at = (y * size.width + x) * bands
        return withPixels { Array($0[at..<at + bands]) }
    }
}

/// The largest difference between two lists of levels with equal lengths.
func largestDifference(_ a: [UInt8], _ b: [UInt8]) -> Int {
    precondition(a.count == b.count, "Only pictures of equal sizes can be compared.")
    return zip(a, b).map { abs(Int($0) - Int($1)) }.max() ?? 0
}
