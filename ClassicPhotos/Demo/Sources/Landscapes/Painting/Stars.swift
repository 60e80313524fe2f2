/// Stars, and the moon.
struct Stars {
    var count = 900
    /// The lowest position of stars, in units; stars fade out towards it.
    var horizon: Float
    var tint = Light(0.9, 0.95, 1.1, 0)

    func paint(on canvas: Canvas, random: inout Random) {
        let pixel = canvas.scale / 1386
        for _ in 0..<count {
            let x = random.unit() * Float(canvas.width)
            let y = random.unit() * horizon * canvas.scale
            let fade = smoothstep(0, 0.3, horizon - y / canvas.scale)
            // A few bright stars and many faint ones.
            let magnitude = random.unit() * random.unit()
            let brightness = 0.08 + 1.5 * magnitude * magnitude
            let warm = random.between(-0.14, 0.14)
            let light = tint * Light(1 + warm, 1, 1 - warm, 1) * (brightness * fade)
            let radius = (0.45 + 0.8 * magnitude) * pixel
            canvas.disc(x: x, y: y, radius: radius, softness: 0.5 * pixel, light, add: true)
            if magnitude > 0.72 {
                canvas.disc(
                    x: x, y: y, radius: 3 * pixel, softness: 3 * pixel, light * 0.12, add: true)
            }
        }
    }

    /// Paints a moon with its maria; `phase` from -1 … 1 moves the shadow across, and 1 is full.
    static func moon(
        on canvas: Canvas, at place: SIMD2<Float>, radius: Float, phase: Float, noise: Noise,
        light: Light
    ) {
        let centre = place * canvas.scale
        let size = radius * canvas.scale
        let box = Int(size) + 2
        for row in -box...box {
            for column in -box...box {
                let u = Float(column) / size
                let v = Float(row) / size
                let squared = u * u + v * v
                guard squared < 1.1 else { continue }
                let edge = 1 - smoothstep(1 - 1.5 / size, 1 + 0.5 / size, squared.squareRoot())
                let seas = noise.fractal(u * 1.3 + 5, v * 1.3, octaves: 4)
                let bulge = (max(1 - squared, 0)).squareRoot()
                let shadow = smoothstep(-0.12, 0.12, u * 0.94 - v * 0.34 + bulge * phase)
                let tone = 0.82 - 0.3 * smoothstep(0.02, 0.4, seas)
                canvas.blend(
                    Int(centre.x) + column, Int(centre.y) + row, light * tone, edge * shadow)
            }
        }
    }
}
