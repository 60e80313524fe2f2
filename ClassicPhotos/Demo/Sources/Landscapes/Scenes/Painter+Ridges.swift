extension Painter {
    /// Ridges in haze, as in Chinese ink paintings and early mornings in the mountains.
    mutating func paintRidges() {
        let horizon = height * random.between(0.5, 0.72)
        let sky = sky(horizon: horizon)
        sky.paint(on: canvas, noise: noise)
        let layers = random.whole(5...8)
        let first = height * random.between(0.34, 0.5)
        paintLayers(
            layers, from: first, to: height * random.between(0.86, 1.0),
            jagged: random.between(0.2, 1))
        if random.chance(0.6) { fringe(from: height * 1.0) }
        if random.chance(0.35) {
            Accents(canvas: canvas).birds(
                around: SIMD2(width * random.between(0.3, 0.7), first * 0.6),
                count: random.whole(5...12), color: atmosphere.near, random: &random)
        }
    }

    /// Paints layers of land from far and pale to near and dark.
    mutating func paintLayers(
        _ count: Int, from first: Float, to last: Float, jagged: Float
    ) {
        let skylines = layerSkylines(count, from: first, to: last, jagged: jagged)
        for layer in 0..<count {
            let t = Float(layer) / Float(count - 1)
            let dark = atmosphere.haze.mixed(with: atmosphere.near, powTo(t, 0.8) * 0.94 + 0.06)
            let tinted = dark.mixed(with: atmosphere.middle, 0.2 * (1 - t))
            // Rows that the next layer hides completely need no paint.
            let hidden = layer + 1 < count ? skylines[layer + 1].max().map { Int($0) + 2 } : nil
            Ridge(
                skyline: skylines[layer], color: tinted,
                mist: atmosphere.haze.mixed(with: atmosphere.horizon, 0.35 * (1 - t)),
                mistDepth: mix(0.16, 0.5, t), mistStrength: mix(0.85, 0.42, t),
                texture: 0.1 + 0.2 * t, textureSize: mix(2, 1, t)
            ).paint(on: canvas, noise: noise, bottom: hidden)
        }
    }

    private mutating func layerSkylines(
        _ count: Int, from first: Float, to last: Float, jagged: Float
    ) -> [[Float]] {
        let offset = random.between(0, 50)
        return (0..<count).map { layer in
            let t = Float(layer) / Float(count - 1)
            let base = mix(first, last, powTo(t, 1.15))
            let rise = mix(0.13, 0.3, t) * random.between(0.75, 1.25)
            let span = mix(0.42, 1.0, t) * random.between(0.8, 1.3)
            let place = offset + Float(layer) * 13.7
            guard jagged > 0.45 else {
                return noise.hills(
                    canvas, base: base, height: rise, width: span * 0.8, offset: place, rough: 1)
            }
            return noise.mountains(
                canvas, base: base, height: rise, width: span * 0.9, offset: place,
                rough: jagged * (1 - t * 0.5))
        }
    }

    /// Paints dark firs along the bottom edge.
    mutating func fringe(from base: Float) {
        let plants = Plants(canvas: canvas)
        let side = random.chance(0.5)
        let count = Int(width * 46)
        for _ in 0..<count {
            let t = random.unit()
            let slope = side ? t : 1 - t
            let size = height * random.between(0.05, 0.11) * (0.6 + slope * 1.1)
            plants.conifer(
                x: t * Float(canvas.width),
                foot: (base + 0.02 - slope * 0.07 * height) * canvas.scale + size * canvas.scale
                    * 0.15,
                height: size * canvas.scale, color: atmosphere.near * random.between(0.6, 1),
                mist: atmosphere.haze, random: &random)
        }
    }
}
