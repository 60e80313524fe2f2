import Foundation

extension Painter {
    /// Curtains of northern lights.
    mutating func paintAurora() {
        let horizon = height * random.between(0.66, 0.8)
        var sky = sky(horizon: horizon)
        sky.haloStrength = 0
        sky.paint(on: canvas, noise: noise)
        Stars(count: 1100, horizon: horizon).paint(on: canvas, random: &random)
        let hues: [(UInt32, UInt32)] = [
            (0x4CF29A, 0x7A4CE0), (0x58F0C0, 0x3A7CE8), (0x8CF46A, 0xE04CA0), (0x3CE8B4, 0xB85AE8),
        ]
        let hue = random.pick(hues)
        for curtain in 0..<random.whole(2...4) {
            paintCurtain(
                base: horizon - height * random.between(0.1, 0.3) - Float(curtain) * 0.05,
                tall: height * random.between(0.3, 0.6), low: Light(hue.0), high: Light(hue.1),
                power: random.between(0.9, 1.5))
        }
        let lake = random.chance(0.5)
        paintLayers(
            3, from: horizon - 0.06, to: lake ? horizon - 0.01 : height * 0.9, jagged: 0.8)
        if lake {
            Water(
                shore: Int(horizon * canvas.scale), deep: atmosphere.near, roughness: 0.06,
                clearness: 0.7, waveSize: 0.8
            ).paint(on: canvas, noise: noise)
        } else {
            fringe(from: height)
        }
    }

    private mutating func paintCurtain(
        base: Float, tall: Float, low: Light, high: Light, power: Float
    ) {
        let noise = noise
        let place = random.between(0, 90)
        let lean = random.between(-0.25, 0.25)
        let foot = noise.skyline(canvas) { x in
            base + lean * (x - 0.5) * 0.6 + noise.fractal(x * 1.5 + place, 3, octaves: 3) * 0.24
        }
        let strength = noise.skyline(canvas) { x in
            let fold = noise.value(x * 2.3 + place, 8)
            let rays = noise.fractal(x * 17 + fold * 6 + place, 1, octaves: 4, gain: 0.6)
            return max(0.36 + fold * 0.8 + rays * 0.32, 0) * power / canvas.scale
        }
        let reach = noise.skyline(canvas) { x in
            tall * (0.7 + 0.5 * noise.fractal(x * 7 + place, 5, octaves: 3))
        }
        for y in 0..<canvas.height {
            let line = canvas.row(y)
            for x in 0..<canvas.width {
                let up = foot[x] - Float(y)
                // A sharp lower edge, a long fade upwards.
                let t = up / max(reach[x], 1)
                if t > 3 || t < -0.12 { continue }
                let edge = smoothstep(-0.1, 0.07, t)
                let fade = 1 / (1 + t * t * 7 + t * 1.5)
                let light = low.mixed(with: high, smoothstep(0.1, 1.1, t))
                line[x] += light * (edge * fade * strength[x] * (1 - smoothstep(1.5, 3, t)))
            }
        }
    }

    /// The Milky Way over a dark land.
    mutating func paintStars() {
        let horizon = height * random.between(0.72, 0.86)
        var sky = sky(horizon: horizon)
        sky.haloStrength = 0
        sky.paint(on: canvas, noise: noise)
        milkyWay(horizon: horizon)
        Stars(count: 2600, horizon: horizon).paint(on: canvas, random: &random)
        horizonGlow(horizon)
        paintLayers(
            random.whole(2...3), from: horizon - 0.02, to: height * 0.93,
            jagged: random.between(0.2, 1))
        if random.chance(0.5) { fringe(from: height * 1.0) }
    }

    private mutating func milkyWay(horizon: Float) {
        let tilt = random.between(0.35, 1.45) * (random.chance(0.5) ? 1 : -1)
        let middle = SIMD2(width * random.between(0.4, 0.6), height * 0.4)
        let along = SIMD2(cosf(tilt), sinf(tilt))
        let noise = noise
        let place = random.between(0, 60)
        let cell = canvas.width > 700 ? 4 : 2
        let rows = 0..<min(Int(horizon * canvas.scale) + 1, canvas.height)
        func offset(_ x: Float, _ y: Float) -> SIMD2<Float> {
            let from = SIMD2(x, y) - middle
            return SIMD2((from * along).sum(), from.x * along.y - from.y * along.x)
        }
        let glow = Field(canvas, cell: cell, rows: rows) { x, y in
            let at = offset(x, y)
            let wander = noise.fractal(at.x * 2 + place, at.y * 2, octaves: 3) * 0.06
            let across = (at.y + wander) / 0.14
            let bulge = 1 / (1 + at.x * at.x * 2.2)
            let cloud = 0.75 + 0.5 * noise.fractal(x * 6 + place, y * 6, octaves: 4)
            return expf(-across * across) * (0.3 + 0.9 * bulge) * cloud
        }
        let dust = Field(canvas, cell: cell, rows: rows) { x, y in
            let at = offset(x, y)
            let lane = expf(-powf((at.y + 0.015) / 0.075, 2))
            let shape = noise.fractal(at.x * 4 + place, at.y * 9 + 5, octaves: 5, gain: 0.55)
            return clamp(lane * (0.35 + shape * 1.3))
        }
        let core = Light(0xF6E0D0) * 0.42
        let rim = Light(0x8FA4E0) * 0.26
        withLine(canvas.width) { bright in
            withLine(canvas.width) { dark in
                for y in rows {
                    glow.read(row: y, into: bright)
                    dust.read(row: y, into: dark)
                    let line = canvas.row(y)
                    for x in 0..<canvas.width {
                        let amount = max(bright[x], 0)
                        let light = rim.mixed(with: core, min(amount, 1)) * amount
                        line[x] = (line[x] + light * 0.8) * (1 - dark[x] * 0.6)
                    }
                }
            }
        }
        for _ in 0..<5200 {
            let t = random.between(-0.9, 0.9)
            let spread = (random.unit() + random.unit() + random.unit() - 1.5) * 0.22
            let x = middle.x + along.x * t + along.y * spread
            let y = middle.y + along.y * t - along.x * spread
            let light = Light(0xE8EAFF) * random.between(0.04, 0.2)
            canvas.disc(
                x: x * canvas.scale, y: y * canvas.scale, radius: 0.35, softness: 0.5, light,
                add: true)
        }
    }

    private mutating func horizonGlow(_ horizon: Float) {
        let light = Light(random.pick([0xC88A4C, 0x5A8C7A, 0xA0705A, 0x6A7AB0])) * 0.32
        let end = min(Int(horizon * canvas.scale) + 40, canvas.height)
        for y in 0..<end {
            let above = max(horizon - Float(y) / canvas.scale, 0) * 7
            let amount = 1 / (1 + above * above)
            let line = canvas.row(y)
            for x in 0..<canvas.width { line[x] += light * amount }
        }
    }

    /// City lights out of focus, as discs of color.
    mutating func paintLights() {
        let themes: [(UInt32, UInt32, [UInt32])] = [
            (0x140C1C, 0x3A2030, [0xFFB45A, 0xFF8A3C, 0xFFD890, 0xFF5A4A, 0xFFC878]),
            (0x081420, 0x123048, [0x5AC8FF, 0x8CE0FF, 0xFFC878, 0x4A8CFF, 0xE8F4FF]),
            (0x12081E, 0x3A1450, [0xFF5AB4, 0xB45AFF, 0x5AB4FF, 0xFFB4E0, 0xFF8A5A]),
            (0x0A140C, 0x203A24, [0xC8FF8A, 0xFFE08A, 0x8AFFC8, 0xFFB45A, 0xF0FFD0]),
            (0x1A1008, 0x4A2C14, [0xFFE0A0, 0xFFC060, 0xFFF0D0, 0xFF9A40, 0xFFD080]),
        ]
        let theme = random.pick(themes)
        let low = Light(theme.0)
        let high = Light(theme.1)
        for y in 0..<canvas.height {
            let t = Float(y) / Float(canvas.height)
            let light = low.mixed(with: high, smoothstep(0, 0.6, t) * (1 - smoothstep(0.6, 1.1, t)))
            let line = canvas.row(y)
            for x in 0..<canvas.width { line[x] = light }
        }
        let street = height * random.between(0.45, 0.65)
        let big = random.between(0.035, 0.1)
        let slant = random.between(-0.3, 0.3)
        for pass in 0..<3 {
            let size = big * [1.5, 1, 0.55][pass]
            let power: Float = [0.1, 0.22, 0.42][pass]
            for _ in 0..<Int(width * [26, 46, 60][pass] * 0.065 / big) {
                let spread = (random.unit() + random.unit() - 1) * [0.8, 0.55, 0.35][pass] * height
                let x = random.between(-0.05, 1.05) * width
                bokeh(
                    SIMD2(x, street + spread + (x - width / 2) * slant),
                    radius: size * random.between(0.7, 1.1),
                    Light(random.pick(theme.2)) * (power * random.between(0.4, 1.3)))
            }
        }
    }

    private func bokeh(_ place: SIMD2<Float>, radius: Float, _ light: Light) {
        let x = place.x * canvas.scale
        let y = place.y * canvas.scale
        let size = radius * canvas.scale
        canvas.disc(x: x, y: y, radius: size, softness: size * 0.03, light * 0.72, add: true)
        // The brighter rim of a real lens.
        canvas.disc(x: x, y: y, radius: size, softness: size * 0.02, light * 0.4, add: true)
        canvas.disc(x: x, y: y, radius: size * 0.9, softness: size * 0.09, light * -0.4, add: true)
    }
}
