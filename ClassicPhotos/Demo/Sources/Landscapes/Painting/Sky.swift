/// A sky: a gradient, a sun or moon with a halo, and clouds lit by the sun or moon.
struct Sky {
    enum Clouds {
        case none
        /// Thin, combed veils.
        case cirrus
        /// Heaps with bright edges and gray undersides.
        case cumulus
        /// Long low banks.
        case banks
        /// A fully overcast sky.
        case cover
    }

    var atmosphere: Atmosphere
    /// The bottom of the sky, in units from the top.
    var horizon: Float
    /// The position of the sun or moon, in units; lights the clouds even outside the frame.
    var sun: SIMD2<Float>
    /// The radius of the sun or moon in units; 0 hides the disc and keeps the halo.
    var sunRadius: Float = 0.018
    var haloStrength: Float = 1
    var clouds: Clouds = .none
    /// The share of the sky that is clouded, 0 … 1.
    var cover: Float = 0.5
    /// The size of the clouds.
    var cloudScale: Float = 1

    func paint(on canvas: Canvas, noise: Noise) {
        paintAir(on: canvas)
        if clouds != .none { paintClouds(on: canvas, noise: noise) }
    }

    private func color(at height: Float) -> Light {
        // 0 at the horizon, 1 at the top.
        let t = clamp(height)
        let low = smoothstep(0, 0.42, t)
        let high = smoothstep(0.3, 1.05, t)
        return atmosphere.horizon.mixed(with: atmosphere.middle, low)
            .mixed(with: atmosphere.zenith, high)
    }

    private func paintAir(on canvas: Canvas) {
        let unit = 1 / canvas.scale
        let disc = max(sunRadius, 0.0001)
        for y in 0..<canvas.height {
            let vertical = Float(y) * unit
            let base = color(at: (horizon - vertical) / max(horizon, 0.2))
            let dy = vertical - sun.y
            let line = canvas.row(y)
            for x in 0..<canvas.width {
                let dx = Float(x) * unit - sun.x
                let squared = dx * dx + dy * dy
                let tight = 1 / (1 + squared * 130)
                let wide = 1 / (1 + squared * 5)
                let halo = (tight * tight * 0.85 + wide * wide * 0.4) * haloStrength
                line[x] =
                    base.mixed(with: atmosphere.glow, min(halo * 0.75, 0.9))
                    + atmosphere.glow * (halo * 0.28)
                if sunRadius > 0, squared < disc * disc * 4 {
                    let edge = 1 - smoothstep(disc * 0.88, disc * 1.12, squared.squareRoot())
                    line[x] += (atmosphere.glow * 0.6 + 0.9) * edge
                }
            }
        }
    }

    private func density(_ noise: Noise, _ x: Float, _ y: Float) -> Float {
        let above = max(horizon - y, 0)
        switch clouds {
        case .none:
            return 0
        case .cirrus:
            let depth = 1 / (above + 0.16)
            let u = x * depth * 0.55 * cloudScale
            let v = depth * 1.5 * cloudScale
            let bend = noise.value(u * 0.7, v * 0.7) * 0.9
            let veil = noise.fractal(u * 0.8 + bend, v * 2.3 + bend * 1.7 + u * 0.5, octaves: 5)
            return smoothstep(0.55 - cover, 1.45 - cover, veil + 0.35) * 0.8
        case .cumulus:
            let depth = 1 / (above * 0.9 + 0.16)
            let u = (x - 0.6) * depth * 0.72 * cloudScale
            let v = depth * 1.35 * cloudScale
            let shape = noise.fractal(u, v, octaves: 6, gain: 0.52)
            return smoothstep(0.42 - cover, 0.72 - cover, shape)
        case .banks:
            let u = x * 1.1 * cloudScale
            let v = y * 6.5 * cloudScale
            let bend = noise.value(u * 1.3, v * 0.4) * 0.6
            let shape = noise.fractal(u + bend, v + bend * 1.5, octaves: 5)
            return smoothstep(0.5 - cover, 1.0 - cover, shape) * 0.95
        case .cover:
            let depth = 1 / (above + 0.2)
            let shape = noise.fractal(
                x * depth * 0.6 * cloudScale, depth * 1.5 * cloudScale, octaves: 6, gain: 0.55)
            return clamp(0.62 + shape * 0.5)
        }
    }

    private func paintClouds(on canvas: Canvas, noise: Noise) {
        let cell = canvas.width > 700 ? 4 : 2
        let bottom = min(Int(horizon * canvas.scale) + 2, canvas.height)
        guard bottom > 0 else { return }
        let rows = 0..<bottom
        let mass = Field(canvas, cell: cell, rows: rows) { x, y in
            density(noise, x, y) * smoothstep(0, 0.09, horizon - y)
        }
        let light = Field(canvas, cell: cell * 2, rows: rows) { x, y in
            lit(noise, x, y)
        }
        let unit = 1 / canvas.scale
        withLine(canvas.width) { amount in
            withLine(canvas.width) { brightness in
                for y in rows {
                    mass.read(row: y, into: amount)
                    light.read(row: y, into: brightness)
                    let dy = Float(y) * unit - sun.y
                    let line = canvas.row(y)
                    for x in 0..<canvas.width where amount[x] > 0.002 {
                        let dx = Float(x) * unit - sun.x
                        let near = 1 / (1 + (dx * dx + dy * dy) * 9)
                        let thick = amount[x]
                        let bright = clamp(brightness[x] + near * (0.55 - 0.5 * thick))
                        let cloud =
                            atmosphere.cloudShade.mixed(
                                with: atmosphere.cloudLit, bright)
                            + atmosphere.glow * (near * near * 0.35 * (1.1 - thick) * haloStrength)
                        line[x] = line[x].mixed(with: cloud, thick * 0.96)
                    }
                }
            }
        }
    }

    /// The sunlight that reaches a cloud at this point; clouds towards the sun reduce it.
    private func lit(_ noise: Noise, _ x: Float, _ y: Float) -> Float {
        let towards = sun - SIMD2(x, y)
        let length = max((towards * towards).sum().squareRoot(), 0.05)
        let step = towards / length
        let here = density(noise, x, y)
        let first = density(noise, x + step.x * 0.03, y + step.y * 0.03)
        let second = density(noise, x + step.x * 0.075, y + step.y * 0.075)
        let floor: Float = clouds == .cover ? 0.4 : 0.62
        return clamp(floor + (here - first) * 0.8 + (here - second) * 0.7 - here * 0.22)
    }
}
