import Foundation

extension Painter {
    /// Trunks in a wood, with leaves between them out of focus.
    mutating func paintWood() {
        let autumn: [(UInt32, UInt32, [UInt32])] = [
            (0xF2D9A0, 0xC88A3C, [0xE8A030, 0xD0702A, 0xF0C850, 0xB8502A]),
            (0xE4EFC4, 0x8CB050, [0x7CA83C, 0xA4C850, 0x5C8C3A, 0xD0DC7A]),
            (0xDCE4E4, 0x9CB0AC, [0x8CA89C, 0xB8C8B4, 0x7C988C, 0xD0D8C4]),
            (0xF6D2B4, 0xC86C4A, [0xD8583A, 0xE88A4A, 0xB84030, 0xF0B070]),
        ]
        let theme = random.pick(autumn)
        let air = Light(theme.0)
        let floor = Light(theme.1)
        let ground = height * random.between(0.72, 0.84)
        background(air: air, floor: floor, ground: ground)
        leaves(theme.2.map { Light($0) }, count: 150, size: 0.05, amount: 0.28, to: ground)
        let birch = random.chance(0.5)
        let bark = birch ? Light(0xE9E4DA) : Light(random.pick([0x3A2E26, 0x4A3B2E, 0x2E2A28]))
        let ranks = 4
        for rank in 0..<ranks {
            let t = Float(rank) / Float(ranks - 1)
            if rank == 2 { litter(theme.2.map { Light($0) }, ground: ground) }
            trunks(t, bark: bark, birch: birch, air: air, ground: ground)
            leaves(
                theme.2.map { $0 }.map { Light($0).mixed(with: air, 0.4 * (1 - t)) },
                count: Int(mix(120, 50, t)), size: mix(0.018, 0.03, t), amount: 0.55,
                to: ground * mix(0.8, 0.35, t))
        }
    }

    private mutating func background(air: Light, floor: Light, ground: Float) {
        let sun = SIMD2(width * random.between(0.25, 0.75), height * random.between(0.25, 0.5))
        let noise = noise
        let place = random.between(0, 40)
        let cell = canvas.width > 700 ? 4 : 2
        let veil = Field(canvas, cell: cell) { x, y in
            noise.fractal(x * 3 + place, y * 2, octaves: 4)
        }
        withLine(canvas.width) { shape in
            for y in 0..<canvas.height {
                veil.read(row: y, into: shape)
                let v = Float(y) / canvas.scale
                let below = smoothstep(ground - 0.1, ground + 0.04, v)
                let dark = smoothstep(ground, height * 1.1, v)
                let line = canvas.row(y)
                for x in 0..<canvas.width {
                    let dx = Float(x) / canvas.scale - sun.x
                    let dy = v - sun.y
                    let glow = 1 / (1 + (dx * dx + dy * dy) * 7)
                    let back = floor.mixed(with: air, clamp(0.25 + glow * 0.85 + shape[x] * 0.28))
                    let earth = floor * (0.75 - 0.4 * dark + shape[x] * 0.2 + glow * 0.25)
                    line[x] = back.mixed(with: earth, below)
                }
            }
        }
    }

    private mutating func leaves(
        _ colors: [Light], count: Int, size: Float, amount: Float, to low: Float
    ) {
        for _ in 0..<Int(Float(count) * width) {
            let t = random.unit()
            let x = random.between(-0.03, 1.03) * width
            let y = t * low
            let radius = size * random.between(0.35, 1) * canvas.scale
            canvas.disc(
                x: x * canvas.scale, y: y * canvas.scale, radius: radius, softness: radius * 0.5,
                random.pick(colors) * random.between(0.75, 1.2), amount * random.between(0.4, 1))
        }
    }

    private mutating func trunks(_ t: Float, bark: Light, birch: Bool, air: Light, ground: Float) {
        let count = Int(width * mix(26, 4.5, t)) + 1
        let color = bark.mixed(with: air, 0.72 * (1 - t))
        let dark = (birch ? bark * 0.3 : bark * 0.45).mixed(with: air, 0.72 * (1 - t))
        let noise = noise
        for _ in 0..<count {
            let x = random.unit() * width * canvas.scale
            let half = mix(0.004, 0.026, t * t) * random.between(0.6, 1.25) * canvas.scale
            let foot = (ground + mix(-0.03, 0.16, t) + random.between(-0.01, 0.02)) * canvas.scale
            let lean = random.between(-0.05, 0.05)
            let key = random.between(0, 500)
            for y in 0..<min(Int(foot), canvas.height) {
                let up = (foot - Float(y)) / canvas.scale
                let bend = noise.value(key, up * 1.6) * 0.012 * canvas.scale
                let middle = x + lean * up * canvas.scale + bend
                let flare = 1 + 0.6 * expf(-up * 26)
                let wide = half * flare * (1 - 0.22 * up)
                paintBark(
                    y, middle: middle, half: wide, color: color, dark: dark, birch: birch,
                    key: key)
            }
        }
    }

    @inline(__always)
    private func paintBark(
        _ y: Int, middle: Float, half: Float, color: Light, dark: Light, birch: Bool, key: Float
    ) {
        let first = max(Int(middle - half - 1), 0)
        let last = min(Int(middle + half + 1), canvas.width - 1)
        guard first <= last else { return }
        let line = canvas.row(y)
        let v = Float(y) / max(half, 3)
        let scar = birch ? smoothstep(0.3, 0.5, noise.value(key, v * 0.9)) : 0
        for x in first...last {
            let u = (Float(x) + 0.5 - middle) / half
            let edge = clamp((1 - abs(u)) * half + 0.5)
            if edge <= 0 { continue }
            let round = clamp(0.62 - u * 0.42)
            let rough =
                birch
                ? scar * smoothstep(-0.25, 0.35, noise.value(u * 1.2 + key, v * 0.9 + 3))
                : clamp(0.4 + noise.value(u * 3.4 + key, v * 0.35) * 0.7)
            let light = dark.mixed(with: color, round * (1 - rough * 0.8))
            line[x] = line[x].mixed(with: light, edge)
        }
    }

    /// Fallen leaves on the ground.
    private mutating func litter(_ colors: [Light], ground: Float) {
        for _ in 0..<Int(1100 * width) {
            let t = random.unit()
            let y = ground + 0.01 + t * t * (height - ground)
            let size = mix(0.0015, 0.009, t) * random.between(0.5, 1.1) * canvas.scale
            canvas.disc(
                x: random.unit() * width * canvas.scale, y: y * canvas.scale, radius: size,
                softness: size * 0.4, random.pick(colors) * random.between(0.35, 0.95), 0.75)
        }
    }
}
