extension Painter {
    /// Peaks above a sea of clouds.
    mutating func paintCloudSea() {
        let horizon = height * random.between(0.4, 0.55)
        var sky = sky(horizon: horizon)
        if sky.clouds == .cumulus { sky.clouds = .cirrus }
        sky.paint(on: canvas, noise: noise)
        let layers = random.whole(5...7)
        let peak = random.whole(1...(layers - 2))
        for layer in 0..<layers {
            let t = Float(layer) / Float(layers - 1)
            if layer == peak || (layer > 0 && random.chance(0.45)) { summit(t, horizon: horizon) }
            cloudBank(t, horizon: horizon, sun: sky.sun)
        }
    }

    private mutating func summit(_ t: Float, horizon: Float) {
        let base = mix(horizon, height, t) + 0.05
        let rise = mix(0.16, 0.4, t) * random.between(0.8, 1.3)
        let middle = random.between(0.15, 0.85) * width
        let wide = mix(0.28, 0.6, t)
        let offset = random.between(0, 60)
        let noise = noise
        let skyline = noise.skyline(canvas) { x in
            let away = abs(x - middle) / wide
            let cone = max(1 - away, 0)
            let crest = noise.ridged(x * 2.6 + offset, 4, octaves: 6, gain: 0.45)
            return base - rise * cone * (0.55 + 0.6 * crest) + (cone > 0 ? 0 : 2)
        }
        Ridge(
            skyline: skyline, color: atmosphere.haze.mixed(with: atmosphere.near, 0.35 + 0.55 * t),
            mist: atmosphere.haze, mistDepth: rise * 1.2, mistStrength: 0.75, texture: 0.4,
            textureSize: mix(2, 1.2, t)
        ).paint(on: canvas, noise: noise)
    }

    /// A bank of billows with a lit, soft top edge.
    private mutating func cloudBank(_ t: Float, horizon: Float, sun: SIMD2<Float>) {
        let base = mix(horizon + 0.01, height * 0.94, powTo(t, 1.25))
        let size = mix(0.16, 0.75, t)
        let offset = random.between(0, 80)
        let noise = noise
        let top = noise.skyline(canvas) { x in
            let swell = noise.value(x / size * 0.6 + offset, 2) * 0.5
            let puffs =
                abs(noise.value(x / size * 1.9 + offset, 9)) * 0.55
                + abs(noise.value(x / size * 4.3 + offset, 4)) * 0.24
            return base - size * 0.14 * (swell + puffs)
        }
        let first = max(Int((top.min() ?? 0) - 0.03 * canvas.scale), 0)
        let puff = Field(canvas, cell: canvas.width > 700 ? 4 : 2, rows: first..<canvas.height) {
            x, y in
            let u = x / size + offset
            let v = y / size * 2.1
            let bend = noise.value(u * 1.5, v * 1.5) * 0.4
            return noise.fractal(u * 2 + bend, v * 2 - bend, octaves: 5, gain: 0.52)
        }
        let soft = mix(0.006, 0.03, t) * canvas.scale
        let deep = mix(0.07, 0.24, t) * canvas.scale
        let lit = atmosphere.cloudLit.mixed(with: atmosphere.haze, 0.45 * (1 - t))
        let shade =
            atmosphere.cloudShade.mixed(with: atmosphere.haze, 0.45 * (1 - t)) * mix(1, 0.8, t)
        withLine(canvas.width) { shape in
            for y in first..<canvas.height {
                puff.read(row: y, into: shape)
                let line = canvas.row(y)
                for x in 0..<canvas.width {
                    let depth = Float(y) - top[x] + shape[x] * soft * 1.6
                    if depth < -soft { continue }
                    let cover = smoothstep(-soft, soft, depth)
                    let away = Float(x) / canvas.scale - sun.x
                    let warm = 1 / (1 + away * away * 8)
                    let bright = clamp(
                        0.92 - smoothstep(0, deep, depth) * 0.6 + shape[x] * 0.85 + warm * 0.1)
                    let light =
                        shade.mixed(with: lit, bright)
                        + atmosphere.glow * (warm * 0.14 * bright)
                    line[x] = line[x].mixed(with: light, cover * 0.98)
                }
            }
        }
    }
}
