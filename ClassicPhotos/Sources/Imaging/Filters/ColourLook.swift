/// A colour change that treats all pixels alike: a 3 × 3 matrix on sRGB-encoded values, then a
/// curve for each channel.
struct ColourLook: Sendable {
    typealias Curve = (Double) -> Double

    /// The 9 elements of the matrix, row by row.
    private(set) var matrix: [Double]

    /// The 256 entries of the red curve, then those of green and blue.
    private(set) var curves: [UInt8]

    /// The look at `intensity`: 0 is unchanged, 1 is the matrix and curves as given.
    init(
        intensity: Double, matrix: [Double],
        red: @escaping Curve = { $0 }, green: @escaping Curve = { $0 },
        blue: @escaping Curve = { $0 }
    ) {
        self.matrix = zip(Self.identity, matrix).map { $0 + intensity * ($1 - $0) }
        self.curves = [red, green, blue].flatMap { curve in
            (0...255).map { step in
                let value = Double(step) / 255
                let mixed = value + intensity * (curve(value) - value)
                return UInt8((255 * min(max(mixed, 0), 1)).rounded())
            }
        }
    }

    /// A look with the same curve for all channels.
    init(intensity: Double, matrix: [Double], curve: @escaping Curve) {
        self.init(intensity: intensity, matrix: matrix, red: curve, green: curve, blue: curve)
    }

    static let identity: [Double] = [1, 0, 0, 0, 1, 0, 0, 0, 1]

    /// A saturation matrix by Rec. 709 luma: 0 gives grey, 1 leaves colours unchanged, higher
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
