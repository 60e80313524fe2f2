/// The conversion from light to bytes: exposure, shoulder, contrast, vignette, grain.
struct Film {
    var exposure: Float = 1
    /// The strength of the S-curve; 0 is straight, 1 is strong.
    var contrast: Float = 0.35
    /// The darkening of the corners, 0 … 1.
    var vignette: Float = 0.25
    /// The grain in display steps of 1/255; also prevents banding in wide gradients.
    var grain: Float = 2.2

    /// Converts the canvas to packed RGB8, `canvas.width * canvas.height * 3` bytes.
    func developed(_ canvas: Canvas, seed: UInt64) -> [UInt8] {
        let width = canvas.width
        let height = canvas.height
        return [UInt8](unsafeUninitializedCapacity: width * height * 3) { bytes, count in
            guard var out = bytes.baseAddress else { return }
            var chance = UInt32(truncatingIfNeeded: seed ^ (seed >> 32)) | 1
            var previous: Float = 0
            let halfWidth = Float(width) / 2
            let halfHeight = Float(height) / 2
            let reach = 1 / (halfWidth * halfWidth + halfHeight * halfHeight)
            for y in 0..<height {
                let line = canvas.row(y)
                let dy = Float(y) - halfHeight
                for x in 0..<width {
                    let dx = Float(x) - halfWidth
                    let distance = (dx * dx + dy * dy) * reach
                    let fall = 1 - vignette * distance * (1.3 - 0.3 * distance)
                    let shown = curve(line[x] * (exposure * fall))
                    chance ^= chance << 13
                    chance ^= chance >> 17
                    chance ^= chance << 5
                    let speck = Float(chance & 0xFFFF) * (1 / 32768) - 1
                    // Neighbors share half of the grain, because film grain is softer than single
                    // pixels.
                    let soft = speck + previous * 0.5
                    previous = speck
                    let level = shown.y
                    let amount = soft * grain * (0.35 + 2.2 * level * (1 - level))
                    var value = shown * 255 + amount
                    value.replace(with: 0, where: value .< 0)
                    value.replace(with: 255, where: value .> 255)
                    // Adding 2^23 rounds to an integer and leaves the integer in the lowest bits.
                    let whole = unsafeBitCast(value + 8_388_608, to: SIMD4<UInt32>.self)
                    out[0] = UInt8(truncatingIfNeeded: whole.x)
                    out[1] = UInt8(truncatingIfNeeded: whole.y)
                    out[2] = UInt8(truncatingIfNeeded: whole.z)
                    out += 3
                }
            }
            count = width * height * 3
        }
    }

    /// Converts linear light to display values in 0 … 1 without clipping highlights, and raises the
    /// contrast of mid-tones.
    ///
    /// The code uses masks instead of the library's pointwise minimum and maximum, which are not
    /// inlined and take as long as the rest of the development.
    @inline(__always)
    private func curve(_ light: Light) -> Light {
        let knee = Light(repeating: 0.62)
        let positive = light.replacing(with: 0, where: light .< 0)
        let over = (positive - knee) * (1 / 0.38)
        let shoulder = knee + 0.38 * over / (1 + over)
        let held = positive.replacing(with: shoulder, where: positive .> knee)
        let shown = held.squareRoot()
        return shown + contrast * shown * (1 - shown) * (2 * shown - 0.86)
    }
}
