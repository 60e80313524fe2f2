import PhotoImaging

/// A picture of four by three colors, which an interface shows until it has the photo: 24 bytes.
public struct PhotoPlaceholder: Sendable, Hashable {
    /// The number of columns and rows.
    public static let (columns, rows) = (4, 3)
    static let count = columns * rows

    /// The colors of the upright photo, row by row, each with 5 bits of red, 6 of green and 5 of
    /// blue.
    let cells: [UInt16]

    init?(cells: [UInt16]) {
        guard cells.count == Self.count else { return nil }
        self.cells = cells
    }

    /// The colors of the upright photo as `0xRRGGBB`, row by row from the upper left.
    public var colors: [UInt32] { cells.map(Self.wide) }

    /// The average color as `0xRRGGBB`.
    public var color: UInt32 {
        var mean = MeanColor()
        for color in colors {
            mean.add(color >> 16 & 255, color >> 8 & 255, color & 255, weight: 1)
        }
        return mean.color
    }

    /// The colors of a small picture; nil for 16 bits per channel.
    ///
    /// - Parameters:
    ///   - bitmap: the picture. The small pictures that cameras put into their files have black
    ///     bars if their shape is another one than the photo's; what is outside of that shape is
    ///     left out.
    ///   - orientation: how the picture is turned upright, 1 to 8 as in EXIF.
    ///   - shape: the size of the upright photo.
    init?(_ bitmap: Bitmap, orientation: Int = 1, shape: PixelSize) {
        guard bitmap.bitsPerChannel == 8, shape.width > 0, shape.height > 0 else { return nil }
        let stored = orientation >= 5 ? shape.transposed : shape
        let part = Self.part(of: bitmap.size, shapedLike: stored)
        var means = [MeanColor](repeating: MeanColor(), count: Self.count)
        let bands = bitmap.hasAlpha ? 4 : 3
        let width = bitmap.size.width
        bitmap.withPixels { pixels in
            for y in part.top..<(part.top + part.height) {
                for x in part.left..<(part.left + part.width) {
                    let cell = Self.cell(
                        (Double(x - part.left) + 0.5) / Double(part.width),
                        (Double(y - part.top) + 0.5) / Double(part.height), orientation)
                    let place = (y * width + x) * bands
                    means[cell].add(
                        UInt32(pixels[place]), UInt32(pixels[place + 1]),
                        UInt32(pixels[place + 2]), weight: bands == 4 ? Int(pixels[place + 3]) : 1)
                }
            }
        }
        // A picture with fewer pixels than cells has empty cells.
        let whole = means.reduce(into: MeanColor()) { $0.add($1) }
        cells = means.map { Self.narrow($0.isEmpty ? whole.color : $0.color) }
    }

    /// The middle part of a picture that has the proportions of a photo.
    private static func part(
        of size: PixelSize, shapedLike photo: PixelSize
    ) -> (left: Int, top: Int, width: Int, height: Int) {
        let ratio = Double(photo.width) / Double(photo.height)
        let width = min(size.width, max(1, Int((Double(size.height) * ratio).rounded())))
        let height = min(size.height, max(1, Int((Double(size.width) / ratio).rounded())))
        return ((size.width - width) / 2, (size.height - height) / 2, width, height)
    }

    /// The cell of a stored pixel at shares of the width and the height.
    private static func cell(_ x: Double, _ y: Double, _ orientation: Int) -> Int {
        let (across, down) =
            switch orientation {
            case 2: (1 - x, y)
            case 3: (1 - x, 1 - y)
            case 4: (x, 1 - y)
            case 5: (y, x)
            case 6: (1 - y, x)
            case 7: (1 - y, 1 - x)
            case 8: (y, 1 - x)
            default: (x, y)
            }
        let column = min(columns - 1, Int(across * Double(columns)))
        return min(rows - 1, Int(down * Double(rows))) * columns + column
    }

    private static func narrow(_ color: UInt32) -> UInt16 {
        func part(_ shift: UInt32, _ most: UInt32) -> UInt16 {
            UInt16(((color >> shift & 255) * most + 127) / 255)
        }
        return part(16, 31) << 11 | part(8, 63) << 5 | part(0, 31)
    }

    private static func wide(_ cell: UInt16) -> UInt32 {
        func part(_ shift: UInt16, _ most: UInt16) -> UInt32 {
            (UInt32(cell >> shift & most) * 255 + UInt32(most) / 2) / UInt32(most)
        }
        return part(11, 31) << 16 | part(5, 63) << 8 | part(0, 31)
    }
}

/// The mean color of some pixels.
///
/// The mean of the squares is close to the mean of the light, so that a picture of black and white
/// stripes gets the gray that the eye sees.
struct MeanColor {
    private var (red, green, blue, weight) = (0, 0, 0, 0)

    var isEmpty: Bool { weight == 0 }

    /// Adds a pixel of three channels from 0 to 255.
    mutating func add(_ red: UInt32, _ green: UInt32, _ blue: UInt32, weight: Int) {
        self.red += Int(red * red) * weight
        self.green += Int(green * green) * weight
        self.blue += Int(blue * blue) * weight
        self.weight += weight
    }

    mutating func add(_ other: MeanColor) {
        red += other.red
        green += other.green
        blue += other.blue
        weight += other.weight
    }

    /// The color as `0xRRGGBB`; white without pixels.
    var color: UInt32 {
        guard weight > 0 else { return 0xFFFFFF }
        return [red, green, blue].reduce(0) { color, sum in
            let root = (Double(sum) / Double(weight)).squareRoot().rounded()
            return color << 8 | UInt32(min(root, 255))
        }
    }
}
