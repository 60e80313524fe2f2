extension Painter {
    /// Snow fields and snow-laden firs.
    mutating func paintWinter() {
        let horizon = height * random.between(0.42, 0.56)
        let sky = sky(horizon: horizon)
        sky.paint(on: canvas, noise: noise)
        let snow = Light(0.88, 0.91, 0.97, 0)
        let lit = snow * (atmosphere.sunlight * 0.75 + atmosphere.ambient * 0.6)
        let shade = snow * (atmosphere.ambient * 1.05 + atmosphere.zenith * 0.3)
        let ranks = random.whole(4...6)
        let offset = random.between(0, 90)
        for rank in 0..<ranks {
            let t = Float(rank) / Float(ranks - 1)
            snowRank(t, horizon: horizon, lit: lit, shade: shade, offset: offset)
        }
        if time == .overcast || random.chance(0.3) { snowfall() }
    }

    private mutating func snowRank(
        _ t: Float, horizon: Float, lit: Light, shade: Light, offset: Float
    ) {
        let noise = noise
        let base = mix(horizon, height * 0.86, powTo(t, 1.2))
        let place = offset + t * 31
        let rise = mix(0.07, 0.12, t)
        let ground: @Sendable (Float) -> Float = { x in
            base - rise
                * (0.3 + noise.fractal(x * mix(2.2, 0.9, t) + place, 3, octaves: 3, gain: 0.35))
        }
        let far = atmosphere.haze.mixed(with: lit, 0.25 + 0.75 * t)
        let plants = Plants(canvas: canvas)
        let needle = atmosphere.near.mixed(with: Light(0x22343A), 0.5)
        let dark = atmosphere.haze.mixed(with: needle, 0.25 + 0.7 * t)
        let size = mix(0.045, 0.3, t * t) * height
        Ridge(
            skyline: noise.skyline(canvas, ground), color: far,
            mist: far.mixed(with: shade, 0.75), mistDepth: mix(0.09, 0.22, t), mistStrength: 0.85,
            texture: 0.05, textureSize: 0.6
        ).paint(on: canvas, noise: noise)
        let count = Int(width * mix(90, 7, powTo(t, 0.5)))
        var trees: [(x: Float, depth: Float)] = []
        for _ in 0..<count {
            let x = random.between(-0.03, 1.03) * width
            guard noise.value(x * 2.1 + place, 17) > mix(-0.1, 0.1, t) else { continue }
            trees.append((x, random.unit()))
        }
        for tree in trees.sorted(by: { $0.depth < $1.depth }) {
            let tall = size * random.between(0.5, 1.05)
            let foot = ground(tree.x) + tree.depth * size * 0.22 + 0.004
            firInSnow(
                plants, x: tree.x, foot: foot, tall: tall, dark: dark,
                snow: atmosphere.haze.mixed(with: lit, 0.4 + 0.6 * t), shade: shade)
        }
    }

    private mutating func firInSnow(
        _ plants: Plants, x: Float, foot: Float, tall: Float, dark: Light, snow: Light,
        shade: Light
    ) {
        let unit = canvas.scale
        // First a blue shadow below the tree, then the tree, then snow on its tiers.
        for row in 0..<max(Int(tall * 0.05 * unit), 1) {
            let t = Float(row) / max(tall * 0.05 * unit, 1)
            let half = tall * 0.2 * (1 - t * t).squareRoot() * unit
            canvas.span(
                from: x * unit - half, to: x * unit + half, y: Int(foot * unit) + row, shade * 0.8,
                0.5)
        }
        var twin = random
        plants.conifer(
            x: x * unit, foot: foot * unit, height: tall * unit, color: dark, mist: snow,
            random: &random)
        let tiers = 11
        for tier in 0..<tiers {
            let t = (Float(tier) + 0.35) / Float(tiers)
            let y = (foot - tall + tall * t) * unit
            let reach = tall * 0.15 * t * unit
            for _ in 0..<3 {
                let from = x * unit + twin.between(-1, 0.55) * reach
                let long = reach * twin.between(0.3, 0.75)
                let thick = max(tall * 0.013 * unit, 0.7)
                for row in 0..<max(Int(thick), 1) {
                    canvas.span(
                        from: from + Float(row), to: from + long - Float(row),
                        y: Int(y) + row + Int(abs(from + long / 2 - x * unit) * 0.35), snow, 0.85)
                }
            }
        }
    }

    private mutating func snowfall() {
        for _ in 0..<Int(420 * width) {
            let near = random.unit() * random.unit()
            let radius = mix(0.0008, 0.005, near * near) * canvas.scale
            canvas.disc(
                x: random.unit() * width * canvas.scale, y: random.unit() * height * canvas.scale,
                radius: radius, softness: radius * mix(0.4, 0.9, near), Light(0.95, 0.97, 1, 0),
                mix(0.75, 0.4, near))
        }
    }
}
