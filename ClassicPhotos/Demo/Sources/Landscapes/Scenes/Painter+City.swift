extension Painter {
    /// A skyline by the water, its windows lit.
    mutating func paintCity() {
        let horizon = height * random.between(0.56, 0.72)
        var sky = sky(horizon: horizon)
        if time == .night { sky.clouds = random.pick([.none, .banks]) }
        sky.paint(on: canvas, noise: noise)
        if time == .night {
            Stars(count: 260, horizon: horizon * 0.8).paint(on: canvas, random: &random)
        }
        skyGlow(horizon: horizon)
        let lamp = random.pick([Light(0xFFC878), Light(0xFFD9A0), Light(0xFFB860)])
        for layer in 0..<3 { towers(layer: layer, horizon: horizon, lamp: lamp) }
        let shore = Int(horizon * canvas.scale)
        quay(at: shore, lamp: lamp)
        Water(
            shore: shore, deep: atmosphere.near.mixed(with: atmosphere.zenith, 0.3),
            roughness: random.between(0.12, 0.3), clearness: 0.55, waveSize: 0.7
        ).paint(on: canvas, noise: noise)
    }

    /// The light of the city in the haze.
    private mutating func skyGlow(horizon: Float) {
        let light = Light(random.pick([0xC8783C, 0xB0645A, 0x9A6A8C])) * 0.5
        let middle = width * random.between(0.3, 0.7)
        let end = min(Int(horizon * canvas.scale), canvas.height)
        for y in 0..<end {
            let dy = (horizon - Float(y) / canvas.scale) * 3.2
            let line = canvas.row(y)
            for x in 0..<canvas.width {
                let dx = (Float(x) / canvas.scale - middle) * 1.3
                let amount = 1 / (1 + (dx * dx + dy * dy) * 4)
                line[x] += light * (amount * amount)
            }
        }
    }

    private mutating func towers(layer: Int, horizon: Float, lamp: Light) {
        let t = Float(layer) / 2
        let body = atmosphere.haze.mixed(with: atmosphere.near, 0.45 + 0.5 * t)
        let core = width * random.between(0.25, 0.75)
        var x: Float = -0.02
        while x < width {
            let wide = random.between(0.022, 0.06) * mix(0.8, 1.15, t)
            let away = (x - core) / width
            let rise = 1 / (1 + away * away * 9)
            let tall = mix(0.3, 0.14, t) * rise * random.between(0.35, 1.15) + 0.02
            tower(
                left: x, right: x + wide, top: horizon - tall * height, foot: horizon, body: body,
                lamp: lamp, lit: mix(0.16, 0.34, t) * (time == .sunset ? 0.5 : 1), scale: t)
            x += wide * random.between(0.85, 1.25)
        }
    }

    private mutating func tower(
        left: Float, right: Float, top: Float, foot: Float, body: Light, lamp: Light, lit: Float,
        scale: Float
    ) {
        let unit = canvas.scale
        let first = max(Int(top * unit), 0)
        let last = min(Int(foot * unit), canvas.height - 1)
        guard first < last else { return }
        for y in first...last {
            let down = Float(y - first) / Float(last - first)
            canvas.span(
                from: left * unit, to: right * unit, y: y,
                body.mixed(with: atmosphere.haze, 0.32 * down * (1 - scale * 0.6)))
        }
        roof(left: left, right: right, top: top, body: body)
        let cell = SIMD2<Float>(mix(0.0042, 0.0058, scale), mix(0.0062, 0.0086, scale)) * unit
        let busy = lit * random.between(0.2, 1.7)
        let tone = lamp.mixed(with: Light(random.pick([0xDFE9FF, 0xFFE9C8, 0xFFB45A])), 0.5)
        var y = top * unit + cell.y * 1.2
        while y < foot * unit - cell.y {
            // Whole floors are often lit or dark.
            let floor = random.chance(0.12) ? 1.9 : random.between(0.3, 1.2)
            var x = left * unit + cell.x * 0.7
            while x < right * unit - cell.x {
                if random.chance(busy * floor) {
                    let light = tone * random.between(0.35, 1.25)
                    for row in Int(y)..<Int(y + max(cell.y * 0.55, 1)) {
                        canvas.span(from: x, to: x + cell.x * 0.6, y: row, light, 0.9)
                    }
                }
                x += cell.x
            }
            y += cell.y
        }
    }

    private mutating func roof(left: Float, right: Float, top: Float, body: Light) {
        let unit = canvas.scale
        let middle = (left + right) / 2
        guard random.chance(0.45) else { return }
        let tall = random.between(0.008, 0.05) * height
        let pointed = random.chance(0.4)
        for y in max(Int((top - tall) * unit), 0)..<max(Int(top * unit), 0) {
            let t = clamp((Float(y) / unit - top + tall) / tall)
            let half = pointed ? (right - left) * 0.42 * t * t : (right - left) * 0.04
            canvas.span(
                from: (middle - half) * unit - 0.4, to: (middle + half) * unit + 0.4, y: y, body)
        }
        if tall > 0.03 * height, time != .sunset {
            canvas.disc(
                x: middle * unit, y: (top - tall) * unit, radius: 1.4 * unit / 1386,
                softness: 1.6 * unit / 1386, Light(0xFF3B30), 0.9, add: true)
        }
    }

    private mutating func quay(at shore: Int, lamp: Light) {
        let unit = canvas.scale
        for y in (shore - Int(0.008 * unit))..<shore {
            canvas.span(from: 0, to: Float(canvas.width), y: y, atmosphere.near)
        }
        var x = random.between(0, 0.03)
        while x < width {
            let light = random.chance(0.85) ? lamp : Light(random.pick([0x6FE0C8, 0xFF7A6A]))
            let y = Float(shore) - 0.012 * unit
            canvas.disc(
                x: x * unit, y: y, radius: 0.0016 * unit, softness: 0.001 * unit, light * 1.5, 1,
                add: true)
            canvas.disc(
                x: x * unit, y: y, radius: 0.011 * unit, softness: 0.011 * unit, light * 0.28, 1,
                add: true)
            x += random.between(0.016, 0.034)
        }
    }
}
