/// What the engine can compute; every filter is made of these.
enum FilterStep: Sendable {
    /// Linear light: `in + intensity * (gain * luminance^exponent - in)` for each channel.
    case tone(intensity: Double, gain: [Double], exponent: [Double])

    /// sRGB-encoded values: a matrix, then a curve for each channel.
    case recolour(ColourLook)

    /// Darkens outwards from `start` to `1 - amount` in the corner.
    case vignette(amount: Double, start: Double)

    /// Gaussian blur; `radius` in thousandths of the longer side, here and below.
    case blur(radius: Double)

    /// A sharp horizontal band; the others are shares of the height.
    case tiltShift(center: Double, band: Double, transition: Double, radius: Double)

    /// Unsharp mask.
    case sharpen(amount: Double, radius: Double)
}
