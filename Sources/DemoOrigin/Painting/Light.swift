/// Linear light: red, green, blue, and a fourth lane that rides along unused.
///
/// Four lanes fit one vector register; three would be shuffled at every step. "Linear" here means
/// the square of what a display is sent (a gamma of 2), because a square root costs next to nothing.
typealias Light = SIMD4<Float>

extension Light {
    /// A colour as designers write it, `0xRRGGBB` in display values.
    init(_ hex: UInt32) {
        let red = Float((hex >> 16) & 0xFF) / 255
        let green = Float((hex >> 8) & 0xFF) / 255
        let blue = Float(hex & 0xFF) / 255
        self.init(red * red, green * green, blue * blue, 0)
    }

    /// The same light in all three channels.
    @inline(__always)
    static func grey(_ amount: Float) -> Light { Light(repeating: amount) }

    /// This light where `amount` is 0, `other` where it is 1.
    @inline(__always)
    func mixed(with other: Light, _ amount: Float) -> Light { self + (other - self) * amount }

    /// How bright it looks, by the weights of Rec. 709.
    var luminance: Float { x * 0.2126 + y * 0.7152 + z * 0.0722 }

    /// The same brightness with more (> 1) or less (< 1) colour.
    func saturated(_ amount: Float) -> Light {
        let mixed = Light.grey(luminance).mixed(with: self, amount)
        return mixed.replacing(with: 0, where: mixed .< 0)
    }
}

/// `value` held between two bounds.
@inline(__always)
func clamp(_ value: Float, _ low: Float = 0, _ high: Float = 1) -> Float {
    min(max(value, low), high)
}

/// A step from 0 to 1 between two edges without corners at either (the cubic Hermite step).
@inline(__always)
func smoothstep(_ low: Float, _ high: Float, _ value: Float) -> Float {
    let t = clamp((value - low) / (high - low))
    return t * t * (3 - 2 * t)
}

/// The point `amount` of the way from one number to another.
@inline(__always)
func mix(_ from: Float, _ to: Float, _ amount: Float) -> Float { from + (to - from) * amount }
