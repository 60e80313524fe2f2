/// The picture being painted, in linear light, row by row.
///
/// Positions are in pixels or in units. A unit is `scale` pixels, the geometric mean of width and
/// height. So a scene looks the same at every size, and its features keep their size from landscape
/// to portrait format.
///
/// Not thread-safe: one painter owns the canvas from the first stroke to `developed()`.
final class Canvas {
    let width: Int
    let height: Int
    /// The number of pixels in a unit.
    let scale: Float
    /// The `width * height` pixels, row by row. Uninitialized until the sky has been painted.
    let pixels: UnsafeMutablePointer<Light>

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        self.scale = (Float(width) * Float(height)).squareRoot()
        self.pixels = .allocate(capacity: width * height)
        pixels.initialize(repeating: Light(repeating: 0), count: width * height)
    }

    deinit { pixels.deallocate() }

    /// The width and height of the picture in units.
    var frameWidth: Float { Float(width) / scale }
    var frameHeight: Float { Float(height) / scale }

    @inline(__always)
    func row(_ y: Int) -> UnsafeMutablePointer<Light> { pixels + y * width }

    /// Blends light over a pixel; does nothing outside the picture.
    @inline(__always)
    func blend(_ x: Int, _ y: Int, _ light: Light, _ amount: Float) {
        guard x >= 0, y >= 0, x < width, y < height else { return }
        let pixel = pixels + (y * width + x)
        pixel.pointee = pixel.pointee.mixed(with: light, amount)
    }

    /// Fills a part of a row; anti-aliases both ends by coverage.
    @inline(__always)
    func span(from left: Float, to right: Float, y: Int, _ light: Light, _ amount: Float = 1) {
        guard y >= 0, y < height, right > left, right > 0, left < Float(width) else { return }
        let first = max(Int(left.rounded(.down)), 0)
        let last = min(Int(right.rounded(.down)), width - 1)
        guard first <= last else { return }
        let line = row(y)
        for x in first...last {
            let cover = min(right, Float(x + 1)) - max(left, Float(x))
            line[x] = line[x].mixed(with: light, clamp(cover) * amount)
        }
    }

    /// Paints a disc with a soft edge, in pixels; `add` adds light instead of covering.
    func disc(
        x cx: Float, y cy: Float, radius: Float, softness: Float, _ light: Light,
        _ amount: Float = 1, add: Bool = false
    ) {
        let reach = radius + softness + 1
        let top = max(Int(cy - reach), 0)
        let bottom = min(Int(cy + reach), height - 1)
        let left = max(Int(cx - reach), 0)
        let right = min(Int(cx + reach), width - 1)
        guard top <= bottom, left <= right else { return }
        for y in top...bottom {
            let line = row(y)
            let dy = Float(y) + 0.5 - cy
            for x in left...right {
                let dx = Float(x) + 0.5 - cx
                let distance = (dx * dx + dy * dy).squareRoot()
                let cover =
                    1 - smoothstep(radius - softness - 0.5, radius + softness + 0.5, distance)
                if cover <= 0 { continue }
                line[x] =
                    add
                    ? line[x] + light * (cover * amount)
                    : line[x].mixed(with: light, cover * amount)
            }
        }
    }
}
