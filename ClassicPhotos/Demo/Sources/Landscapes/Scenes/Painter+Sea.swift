extension Painter {
    /// The open sea.
    mutating func paintSeascape() {
        let horizon = height * random.between(0.42, 0.66)
        var sky = sky(horizon: horizon)
        if time == .sunset || time == .dawn || time == .goldenHour {
            sky.sun.y = horizon - random.between(0.0, 0.13) * height
            sky.sun.x = width * random.between(0.25, 0.75)
            sky.sunRadius = random.between(0.022, 0.05)
        }
        sky.paint(on: canvas, noise: noise)
        let shore = Int(horizon * canvas.scale)
        if time == .night { nightLights(horizon: horizon, moon: sky.sun) }
        coast(horizon: horizon)
        let calm = random.chance(0.4)
        let low = sky.sun.y < horizon && sky.sun.y > horizon - 0.5 && time != .morning
        let shine: Float = time == .storm ? 0.25 : time == .night ? 0.3 : 0.8
        Water(
            shore: shore, deep: seaColor(), roughness: calm ? 0.18 : random.between(0.4, 0.75),
            clearness: calm ? 0.6 : 0.42, waveSize: random.between(0.7, 1.3),
            path: low ? (sky.sun.x, atmosphere.glow * shine * (calm ? 0.5 : 1)) : nil
        ).paint(on: canvas, noise: noise)
        if random.chance(0.5), time != .night {
            let x = width * random.between(0.15, 0.85)
            let sail =
                time == .noon || time == .morning
                ? Light(0xFAF6EC) : atmosphere.near.mixed(with: atmosphere.haze, 0.25)
            Accents(canvas: canvas).sailboat(
                at: SIMD2(x, horizon + random.between(0.012, 0.05)),
                size: random.between(0.05, 0.11), hull: atmosphere.near, sail: sail)
        }
        if random.chance(0.35) { rocks() }
    }

    mutating func nightLights(horizon: Float, moon: SIMD2<Float>) {
        Stars(count: 500, horizon: horizon).paint(on: canvas, random: &random)
        let light = Light(1.15, 1.1, 1.0, 0)
        canvas.disc(
            x: moon.x * canvas.scale, y: moon.y * canvas.scale, radius: 0.09 * canvas.scale,
            softness: 0.09 * canvas.scale, atmosphere.glow * 0.16, add: true)
        Stars.moon(
            on: canvas, at: moon, radius: random.between(0.03, 0.055), phase: 1, noise: noise,
            light: light)
    }

    func seaColor() -> Light {
        switch time {
        case .noon: Light(0x0E5A80)
        case .morning: Light(0x1C5A70)
        case .overcast, .storm: Light(0x24343C)
        default: atmosphere.near.mixed(with: atmosphere.zenith, 0.4)
        }
    }

    /// A headland or islands on the horizon.
    private mutating func coast(horizon: Float) {
        guard random.chance(0.6) else { return }
        let from = random.chance(0.5)
        let reach = random.between(0.35, 0.8)
        let rise = random.between(0.05, 0.15)
        let offset = random.between(0, 50)
        let noise = noise
        let width = width
        for layer in 0..<2 {
            let near = Float(layer)
            let skyline = noise.skyline(canvas) { x in
                let along = from ? x / width : 1 - x / width
                let fall =
                    1 - smoothstep(reach * (0.25 + 0.2 * (1 - near)), reach, along + near * 0.2)
                let shape = 0.6 + 0.4 * noise.fractal(x * 3 + offset + near * 9, 1.5, octaves: 6)
                return horizon + 0.003 - rise * shape * fall * (1 - 0.35 * near)
                    * (fall > 0 ? 1 : 0)
            }
            Ridge(
                skyline: skyline,
                color: atmosphere.haze.mixed(with: atmosphere.near, 0.35 + 0.4 * near),
                mist: atmosphere.haze, mistDepth: 0.12, mistStrength: 0.5, texture: 0.2,
                textureSize: 2
            ).paint(on: canvas, noise: noise, bottom: Int(horizon * canvas.scale) + 1)
        }
    }

    /// Dark stones in the foreground.
    private mutating func rocks() {
        let offset = random.between(0, 90)
        let side = random.chance(0.5)
        let noise = noise
        let (width, height) = (width, height)
        let skyline = noise.skyline(canvas) { x in
            let along = side ? x / width : 1 - x / width
            let shape = noise.ridged(x * 2.2 + offset, 3, octaves: 6, gain: 0.4)
            return height * 1.06 - (0.05 + 0.17 * shape) * (1 - smoothstep(0.2, 0.75, along))
        }
        Ridge(
            skyline: skyline, color: atmosphere.near.mixed(with: atmosphere.haze, 0.12),
            mist: atmosphere.near * 0.5, mistDepth: 0.15, texture: 0.7, textureSize: 2.4
        ).paint(on: canvas, noise: noise)
    }
}
