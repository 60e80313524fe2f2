#if PhotoImaging
/// A color change that treats all pixels alike: a 3 × 3 matrix on sRGB-encoded values, then a
/// curve for each channel.
struct ColorLook: Sendable {
    typealias Curve = @Sendable (Double) -> Double

    /// The 9 elements of the matrix, row by row.
    private(set) var matrix: [Double]

    private let intensity: Double

    /// The curves of red, green and blue.
    private let curves: [@Sendable (Double) -> Double]

    /// The look at `intensity`: 0 is unchanged, 1 is the matrix and curves as given.
    init(
        intensity: Double, matrix: [Double],
        red: @escaping Curve = { $0 }, green: @escaping Curve = { $0 },
        blue: @escaping Curve = { $0 }
    ) {
        self.matrix = zip(Self.identity, matrix).map { $0 + intensity * ($1 - $0) }
        self.intensity = intensity
        curves = [red, green, blue]
    }

    /// The values of the red curve at evenly spaced points, then those of green and blue.
    func levels(_ points: Int, upTo maximum: Double) -> [UInt16] {
        curves.flatMap { curve in
            (0..<points).map { point in
                let value = Double(point) / Double(points - 1)
                let mixed = value + intensity * (curve(value) - value)
                return UInt16((maximum * min(max(mixed, 0), 1)).rounded())
            }
        }
    }

    /// Whether gray pixels stay gray.
    var keepsGray: Bool {
        let sums = (0..<3).map { row in matrix[(3 * row)..<(3 * row + 3)].reduce(0, +) }
        let levels = levels(256, upTo: 65_535)
        return abs(sums[0] - sums[1]) < 1e-9 && abs(sums[0] - sums[2]) < 1e-9
            && levels[..<256] == levels[256..<512] && levels[..<256] == levels[512...]
    }

    /// A look with the same curve for all channels.
    init(intensity: Double, matrix: [Double], curve: @escaping Curve) {
        self.init(intensity: intensity, matrix: matrix, red: curve, green: curve, blue: curve)
    }

    static let identity: [Double] = [1, 0, 0, 0, 1, 0, 0, 0, 1]

    /// A saturation matrix by Rec. 709 luma: 0 gives gray, 1 leaves colors unchanged, higher
    /// values strengthen them.
    static func saturation(_ amount: Double) -> [Double] {
        let luma = [0.2126, 0.7152, 0.0722]
        return (0..<9).map { luma[$0 % 3] + amount * (identity[$0] - luma[$0 % 3]) }
    }
}

/// Darkens values below the middle and lightens values above it; monotone for a `strength` of 0 to
/// 1.
func contrastCurve(_ value: Double, strength: Double) -> Double {
    // The cubic ease has slope 1.5 in the middle and leaves 0, 0.5 and 1 unchanged.
    let eased = value * value * (3 - 2 * value)
    return value + strength * (eased - value)
}
#endif
