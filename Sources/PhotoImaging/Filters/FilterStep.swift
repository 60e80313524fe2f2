#if PhotoImaging
/// A step that the engine can compute; every filter is a sequence of steps.
enum FilterStep: Sendable {
    /// Tone in linear light: `in + intensity * (gain * luminance^exponent - in)` for each channel.
    case tone(intensity: Double, gain: [Double], exponent: [Double])

    /// A matrix on sRGB-encoded values, then a curve for each channel.
    case recolor(ColorLook)

    /// A look at an intensity, on sRGB-encoded values.
    case look(Look, intensity: Double)

    /// Darkening that grows from `start` to the corner, which keeps `1 - amount` of its brightness.
    case vignette(amount: Double, start: Double)

    /// A Gaussian blur. Here and below, `radius` is in thousandths of the longer side.
    case blur(radius: Double)

    /// A blur outside a sharp horizontal band. `center`, `band` and `transition` are shares of the
    /// height.
    case tiltShift(center: Double, band: Double, transition: Double, radius: Double)

    /// An unsharp mask.
    case sharpen(amount: Double, radius: Double)

    /// Whether gray pixels stay gray.
    var keepsGray: Bool {
        switch self {
        case .tone(let intensity, let gain, let exponent):
            intensity == 0 || Set(gain).count == 1 && Set(exponent).count == 1
        case .recolor(let look): look.keepsGray
        case .look(let look, let intensity): intensity == 0 || look.keepsGray
        case .vignette, .blur, .tiltShift, .sharpen: true
        }
    }
}
#endif
