/// Linear light: red, green, blue, and an unused fourth lane.
///
/// Four lanes fit a vector register; three would need shuffling at every step. "Linear" here means
/// the square of the display value (a gamma of 2), because a square root is cheap.
typealias Light = SIMD4<Float>

extension Light {
    /// Converts a color from hexadecimal display values, `0xRRGGBB`.
    init(_ hex: UInt32) {
        let red = Float((hex >> 16) & 0xFF) / 255
        let green = Float((hex >> 8) & 0xFF) / 255
        let blue = Float(hex & 0xFF) / 255
        self.init(red * red, green * green, blue * blue, 0)
    }

    /// Light of the same intensity in all three channels.
    @inline(__always)
    static func gray(_ amount: Float) -> Light { Light(repeating: amount) }

    /// Mixes this light with another: `amount` is 0 for this light, 1 for `other`.
    @inline(__always)
    func mixed(with other: Light, _ amount: Float) -> Light { self + (other - self) * amount }

    /// The luminance by the weights of Rec. 709.
    var luminance: Float { x * 0.2126 + y * 0.7152 + z * 0.0722 }

    /// Light of the same luminance with more (> 1) or less (< 1) saturation.
    func saturated(_ amount: Float) -> Light {
        let mixed = Light.gray(luminance).mixed(with: self, amount)
        return mixed.replacing(with: 0, where: mixed .< 0)
    }
}

/// Limits `value` to a range.
@inline(__always)
func clamp(_ value: Float, _ low: Float = 0, _ high: Float = 1) -> Float {
    min(max(value, low), high)
}

/// A smooth step from 0 to 1 between two edges (the cubic Hermite step).
@inline(__always)
func smoothstep(_ low: Float, _ high: Float, _ value: Float) -> Float {
    let t = clamp((value - low) / (high - low))
    return t * t * (3 - 2 * t)
}

/// Interpolates linearly between two numbers.
@inline(__always)
func mix(_ from: Float, _ to: Float, _ amount: Float) -> Float { from + (to - from) * amount }
