import Foundation

/// Trees and grasses as silhouettes; positions are in pixels.
struct Plants {
    let canvas: Canvas

    /// A fir or spruce: tiers of drooping branches around a straight stem.
    func conifer(
        x: Float, foot: Float, height: Float, color: Light, mist: Light, mistAmount: Float = 0,
        random: inout Random
    ) {
        let top = foot - height
        guard foot > 0, top < Float(canvas.height) else { return }
        let tiers = random.between(9, 15)
        let spread = random.between(0.15, 0.21)
        let lean = random.between(-0.012, 0.012)
        var left = random.unit()
        var right = random.unit()
        var tier = -1
        for y in max(Int(top), 0)...max(min(Int(foot), canvas.height - 1), max(Int(top), 0)) {
            let t = clamp((Float(y) - top) / height)
            let position = powf(t, 0.85) * tiers
            if Int(position) != tier {
                tier = Int(position)
                left = random.between(0.65, 1.1)
                right = random.between(0.65, 1.1)
            }
            let droop = position - Float(tier)
            let reach = height * spread * powf(t, 0.95) * (0.4 + 0.75 * droop)
            let ragged = random.between(0.82, 1.08)
            let stem = max(height * 0.008, 0.35)
            let middle = x + lean * height * (1 - t)
            let light = color.mixed(with: mist, mistAmount * t * t)
            canvas.span(
                from: middle - reach * left * ragged - stem,
                to: middle + reach * right * ragged + stem, y: y, light)
        }
    }

    /// A round-headed tree: a stem below masses of leaves, lit from one side.
    func broadleaf(
        x: Float, foot: Float, height: Float, dark: Light, lit: Light, side: Float,
        random: inout Random
    ) {
        let stem = height * 0.028
        for y in Int(foot - height * 0.5)...Int(foot) {
            canvas.span(from: x - stem, to: x + stem, y: y, dark * 0.6)
        }
        for mass in 0..<46 {
            let angle = random.between(0, 6.2832)
            let out = random.unit().squareRoot() * 0.34
            let cx = cosf(angle) * out
            let cy = sinf(angle) * out * 0.82
            let bright = clamp(0.32 + cx * side * 1.1 - cy * 0.95 + random.between(-0.12, 0.12))
            let size = height * random.between(0.055, 0.12) * (mass < 14 ? 1.5 : 1)
            canvas.disc(
                x: x + cx * height, y: foot - height * 0.64 + cy * height, radius: size,
                softness: size * 0.22, dark.mixed(with: lit, mass < 14 ? bright * 0.3 : bright),
                0.9)
        }
    }

    /// A slim cypress, as along the lanes of Tuscany.
    func cypress(x: Float, foot: Float, height: Float, dark: Light, lit: Light, side: Float) {
        let top = foot - height
        for y in max(Int(top), 0)..<max(min(Int(foot), canvas.height), max(Int(top), 0)) {
            let t = clamp((Float(y) - top) / height)
            let reach = height * 0.085 * powf(sinf(min(t * 1.06, 1) * 2.75), 0.7)
            canvas.span(from: x - reach, to: x + reach, y: y, dark)
            let from = side > 0 ? x + reach * 0.25 : x - reach
            canvas.span(from: from, to: from + reach * 0.75, y: y, lit, 0.6)
        }
    }

    /// A blade of grass or a reed, bending to one side.
    func blade(x: Float, foot: Float, height: Float, bend: Float, width: Float, color: Light) {
        let top = max(Int(foot - height), 0)
        let bottom = min(Int(foot), canvas.height - 1)
        guard top <= bottom else { return }
        for y in top...bottom {
            let t = clamp((foot - Float(y)) / height)
            let middle = x + bend * t * t
            let half = max(width * (1 - t) * 0.5, 0.3)
            canvas.span(from: middle - half, to: middle + half, y: y, color)
        }
    }

    /// A fringe of grass along the bottom of the picture.
    func meadow(count: Int, height: Float, color: Light, tip: Light, random: inout Random) {
        let wind = random.between(-0.5, 0.5)
        for _ in 0..<count {
            let x = random.between(-0.02, 1.02) * Float(canvas.width)
            let size = height * random.between(0.35, 1) * canvas.scale
            let foot = Float(canvas.height) + random.between(0, 0.1) * size
            blade(
                x: x, foot: foot, height: size, bend: size * (wind + random.between(-0.35, 0.35)),
                width: size * random.between(0.018, 0.04),
                color: color.mixed(with: tip, random.unit() * random.unit()))
        }
    }
}
