import Foundation

/// Small objects that show the scale of a scene: birds, boats, balloons.
struct Accents {
    let canvas: Canvas

    /// Paints a loose, distant flock of birds.
    func birds(around place: SIMD2<Float>, count: Int, color: Light, random: inout Random) {
        for _ in 0..<count {
            let x = (place.x + random.between(-0.14, 0.14)) * canvas.scale
            let y = (place.y + random.between(-0.05, 0.05)) * canvas.scale
            let size = random.between(0.006, 0.012) * canvas.scale
            let beat = random.between(0.25, 0.7)
            let reach = Int(size)
            guard reach > 0 else { continue }
            for dx in -reach...reach {
                let t = abs(Float(dx)) / size
                let lift = (t * (1.6 - t * 1.1)) * beat * size
                canvas.disc(
                    x: x + Float(dx), y: y - lift, radius: max(size * 0.07 * (1.2 - t), 0.3),
                    softness: 0.4, color, 0.75)
            }
        }
    }

    /// Paints a small sailing boat on the water line.
    func sailboat(at place: SIMD2<Float>, size: Float, hull: Light, sail: Light) {
        let x = place.x * canvas.scale
        let foot = place.y * canvas.scale
        let height = size * canvas.scale
        for y in Int(foot - height)..<Int(foot) {
            let t = (foot - Float(y)) / height
            if t < 0.1 {
                let half = height * (0.24 + t * 0.9)
                canvas.span(from: x - half, to: x + half * 1.1, y: y, hull)
            } else if t > 0.14 {
                let up = (t - 0.14) / 0.86
                canvas.span(
                    from: x - height * 0.30 * (1 - up) * (1 - up * 0.2), to: x, y: y, sail)
                canvas.span(
                    from: x + height * 0.02, to: x + height * 0.24 * max(0.92 - up * 1.1, 0), y: y,
                    sail * 0.85)
            }
        }
    }

    /// Paints a hot-air balloon in two colors, lit from `side` (-1 left, 1 right).
    func balloon(
        at place: SIMD2<Float>, size: Float, colors: (Light, Light), side: Float,
        haze: Light, hazeAmount: Float
    ) {
        let cx = place.x * canvas.scale
        let cy = place.y * canvas.scale
        let radius = size * canvas.scale
        for row in stride(from: -radius, through: radius * 1.35, by: 1) {
            let v = row / radius
            let half: Float =
                v < 0.3
                ? max(1 - v * v, 0).squareRoot()
                : 0.954 * (1 - powf((v - 0.3) / 1.05, 1.35) * 0.86)
            for column in Int(-half * radius)...max(Int(half * radius), Int(-half * radius)) {
                let u = Float(column) / (radius * max(half, 0.05))
                let gore = Int((asinf(clamp(u, -1, 1)) / 3.1416 + 0.5) * 9)
                let base = gore % 2 == 0 ? colors.0 : colors.1
                let light = 0.48 + 0.55 * clamp(0.5 + u * side * 0.6 - v * 0.35)
                let edge = clamp((half * radius - abs(Float(column))) + 0.5)
                canvas.blend(
                    Int(cx) + column, Int(cy + row), (base * light).mixed(with: haze, hazeAmount),
                    edge)
            }
        }
        let basket = radius * 0.13
        for row in 0..<Int(basket * 1.5) {
            canvas.span(
                from: cx - basket, to: cx + basket, y: Int(cy + radius * 1.62) + row,
                Light(0x3A2A1C).mixed(with: haze, hazeAmount))
        }
        for row in Int(radius * 1.3)..<Int(radius * 1.62) {
            for side in [-1, 1] as [Float] {
                let x = cx + side * basket * 0.85
                canvas.span(
                    from: x - 0.4, to: x + 0.4, y: Int(cy) + row,
                    Light(0x3A2A1C).mixed(with: haze, hazeAmount), 0.6)
            }
        }
    }
}
