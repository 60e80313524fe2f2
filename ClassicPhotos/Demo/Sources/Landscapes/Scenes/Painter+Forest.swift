extension Painter {
    /// Rows of firs that grow paler with distance.
    mutating func paintForest() {
        var sky = sky(horizon: height * 0.8)
        if sky.clouds == .cumulus || sky.clouds == .banks { sky.clouds = .none }
        sky.sunRadius = 0
        sky.haloStrength += 0.4
        sky.paint(on: canvas, noise: noise)
        let ranks = random.whole(5...7)
        let green = Light(random.pick([0x1F3A2A, 0x16323A, 0x2E3A22, 0x1C2C34]))
        let fog = atmosphere.haze.mixed(with: atmosphere.horizon, 0.5)
        let first = height * random.between(0.34, 0.5)
        let tilt = random.between(-0.16, 0.16)
        for rank in 0..<ranks {
            let t = Float(rank) / Float(ranks - 1)
            // Even the nearest trees keep some fog and some green.
            let dark = green.mixed(with: atmosphere.near, 0.55) * 0.75
            let color = fog.mixed(with: dark, 0.08 + 0.9 * powTo(t, 1.15))
            let base = mix(first, height * 1.02, powTo(t, 1.1))
            let size = mix(0.11, 0.42, powTo(t, 1.3)) * height
            forestRank(base: base, size: size, tilt: tilt * (1 - t), color: color, fog: fog, t: t)
        }
    }

    private mutating func forestRank(
        base: Float, size: Float, tilt: Float, color: Light, fog: Light, t: Float
    ) {
        let offset = random.between(0, 60)
        let noise = noise
        let width = width
        let ground: @Sendable (Float) -> Float = { x in
            base + tilt * (x / width - 0.5)
                + noise.fractal(x * 1.6 + offset, 2, octaves: 3) * 0.05
        }
        Ridge(
            skyline: noise.skyline(canvas, ground), color: color, mist: fog,
            mistDepth: size * 0.9, mistStrength: 0.92, texture: 0.15, textureSize: 3
        ).paint(on: canvas, noise: noise)
        let plants = Plants(canvas: canvas)
        let count = Int(width / size * mix(16, 6.5, t))
        for _ in 0..<count {
            let x = random.between(-0.05, 1.05) * width
            // Trees stand in groups.
            let clump = noise.value(x * 3.1 + offset, 7)
            if clump < -0.3, random.chance(0.75) { continue }
            let tall = size * random.between(0.45, 1.05) * (1 + clump * 0.3)
            plants.conifer(
                x: x * canvas.scale, foot: (ground(x) + size * 0.12) * canvas.scale,
                height: tall * canvas.scale, color: color * random.between(0.88, 1.06), mist: fog,
                mistAmount: mix(0.55, 0.28, t), random: &random)
        }
    }
}
