extension Painter {
    /// Mountains over still water.
    mutating func paintLake() {
        let shore = height * random.between(0.5, 0.62)
        let sky = sky(horizon: shore)
        let side: Float = random.chance(0.5) ? -1 : 1
        sky.paint(on: canvas, noise: noise)
        if time == .night { nightLights(horizon: shore, moon: sky.sun) }
        if random.chance(0.5), time != .night {
            paintMassif(horizon: shore - 0.015, side: side, valley: random.between(0.15, 0.5))
        } else {
            paintLayers(
                random.whole(3...5), from: shore - height * random.between(0.12, 0.2),
                to: shore - height * 0.015, jagged: random.between(0.3, 1))
        }
        bank(shore)
        Water(
            shore: Int(shore * canvas.scale), deep: seaColor(),
            roughness: random.between(0.02, 0.1), clearness: 0.62, waveSize: random.between(0.6, 1)
        ).paint(on: canvas, noise: noise)
        if random.chance(0.5) { reeds() }
    }

    /// The far bank, with a few firs.
    private mutating func bank(_ shore: Float) {
        let offset = random.between(0, 40)
        let noise = noise
        let color = atmosphere.near.mixed(with: atmosphere.haze, 0.16)
        let line = noise.skyline(canvas) { x in
            shore - 0.008 - 0.02 * max(noise.fractal(x * 2 + offset, 4, octaves: 4) + 0.2, 0)
        }
        let plants = Plants(canvas: canvas)
        for _ in 0..<Int(width * 110) {
            let x = random.unit() * width
            guard noise.value(x * 2.4 + offset, 11) > 0.02 else { continue }
            let tall = height * random.between(0.015, 0.055)
            plants.conifer(
                x: x * canvas.scale, foot: (shore - 0.003) * canvas.scale,
                height: tall * canvas.scale, color: color * random.between(0.7, 1.1),
                mist: atmosphere.haze, random: &random)
        }
        Ridge(
            skyline: line, color: color, mist: atmosphere.haze, mistDepth: 0.2,
            mistStrength: 0.3, texture: 0.3, textureSize: 4
        ).paint(on: canvas, noise: noise, bottom: Int(shore * canvas.scale))
    }

    /// Reeds in one corner.
    private mutating func reeds() {
        let plants = Plants(canvas: canvas)
        let left = random.chance(0.5)
        for _ in 0..<Int(150 * width) {
            let t = random.unit() * random.unit() * 0.6
            let x = left ? t * width : width - t * width
            let tall = random.between(0.06, 0.2) * (1.1 - t) * height
            plants.blade(
                x: x * canvas.scale, foot: height * canvas.scale + 2, height: tall * canvas.scale,
                bend: random.between(-0.25, 0.4) * tall * canvas.scale,
                width: 0.0042 * canvas.scale,
                color: atmosphere.near.mixed(with: atmosphere.haze, random.between(0, 0.18)))
        }
    }
}
