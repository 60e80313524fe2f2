#if PhotoImaging
/// A width and a height in pixels.
public struct PixelSize: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Pixels from left to right.
    public var width: Int

    /// Pixels from top to bottom.
    public var height: Int

    /// A size of `width` × `height` pixels.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// The number of pixels, or `Int.max` if the product overflows.
    public var pixelCount: Int {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? .max : product
    }

    /// The longer of the two sides.
    public var longerSide: Int { max(width, height) }

    /// The size after a quarter turn.
    public var transposed: PixelSize { PixelSize(width: height, height: width) }

    /// The size for display: `4000 × 3000`.
    public var description: String { "\(width) × \(height)" }
}
#endif
