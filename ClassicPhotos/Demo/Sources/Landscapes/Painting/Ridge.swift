/// A layer of land in front of the layers behind it: a skyline and the ground below the skyline.
struct Ridge {
    /// The skyline in pixels from the top, one number for each column.
    var skyline: [Float]
    /// The color directly below the skyline.
    var color: Light
    /// The color further down: the mist in the valley in front.
    var mist: Light
    /// The distance below the skyline at which the mist is complete, in units.
    var mistDepth: Float
    /// The maximum strength of the mist, 0 … 1.
    var mistStrength: Float = 0.8
    /// The variation of the surface; 0 is completely flat.
    var texture: Float = 0
    var textureSize: Float = 1

    /// - Parameter bottom: the first pixel row that a nearer layer will hide.
    func paint(on canvas: Canvas, noise: Noise, bottom: Int? = nil) {
        let highest = Int((skyline.min() ?? 0).rounded(.down)) - 1
        let top = max(highest, 0)
        let end = min(bottom ?? canvas.height, canvas.height)
        guard top < end else { return }
        let grain = Field(canvas, cell: canvas.width > 700 ? 8 : 4, rows: top..<end) { x, y in
            guard texture > 0 else { return 0 }
            let u = x * 7 * textureSize
            let v = y * 5 * textureSize
            return (noise.ridged(u + v * 0.3, v, octaves: 4) - 0.55) * texture
        }
        let level = smoothed()
        let fall = 1 / (mistDepth * canvas.scale)
        withLine(canvas.width) { surface in
            for y in top..<end {
                grain.read(row: y, into: surface)
                let line = canvas.row(y)
                let bottom = Float(y) + 1
                for x in 0..<canvas.width {
                    let depth = bottom - skyline[x]
                    if depth <= 0 { continue }
                    let fog = clamp((bottom - level[x]) * fall)
                    let amount = fog * (2 - fog) * mistStrength
                    let ground = color * (1 + surface[x])
                    let light = ground.mixed(with: mist, amount)
                    line[x] = depth >= 1 ? light : line[x].mixed(with: light, depth)
                }
            }
        }
    }

    /// The smoothed skyline: mist is level and does not follow every peak.
    private func smoothed() -> [Float] {
        var line = skyline
        let reach = max(skyline.count / 36, 1)
        for _ in 0..<2 {
            var sum: Float = 0
            let source = line
            let last = source.count - 1
            for x in -reach...reach { sum += source[min(max(x, 0), last)] }
            for x in 0...last {
                line[x] = sum / Float(2 * reach + 1)
                sum += source[min(x + reach + 1, last)] - source[max(x - reach, 0)]
            }
        }
        return line
    }
}

extension Noise {
    /// A skyline of sharp mountains, in pixels; `height` and `base` are in units.
    func mountains(
        _ canvas: Canvas, base: Float, height: Float, width: Float, offset: Float, rough: Float
    ) -> [Float] {
        skyline(canvas) { x in
            let u = x / width + offset
            let crest = ridged(u, offset * 1.7, octaves: 7, gain: 0.32 + 0.2 * rough)
            let swell = value(u * 0.55, offset + 40) * 0.45
            return base - height * (crest * 0.62 + swell)
        }
    }

    /// A skyline of rounded hills.
    func hills(
        _ canvas: Canvas, base: Float, height: Float, width: Float, offset: Float, rough: Float
    ) -> [Float] {
        skyline(canvas) { x in
            let u = x / width + offset
            let line = fractal(u, offset * 2.3, octaves: 3, gain: 0.38)
            let fine = fractal(u * 11, offset + 9, octaves: 4, gain: 0.55)
            return base - height * (0.5 + line * 0.6 + fine * 0.03 * rough)
        }
    }

    /// Converts a function of the horizontal position, in units, to a skyline in pixels.
    func skyline(_ canvas: Canvas, _ function: (Float) -> Float) -> [Float] {
        (0..<canvas.width).map { function(Float($0) / canvas.scale) * canvas.scale }
    }
}
