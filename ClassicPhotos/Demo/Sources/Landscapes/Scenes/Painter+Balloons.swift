extension Painter {
    /// Balloons drifting over hills in the early light.
    mutating func paintBalloons() {
        let horizon = height * random.between(0.62, 0.76)
        let sky = sky(horizon: horizon)
        sky.paint(on: canvas, noise: noise)
        let side: Float = sky.sun.x < width / 2 ? -1 : 1
        paintLayers(
            random.whole(3...5), from: horizon - 0.03, to: height * 0.95,
            jagged: random.between(0.1, 0.6))
        let colors: [(UInt32, UInt32)] = [
            (0xD8452E, 0xF2D4A0), (0x2E6CA8, 0xF4EFE2), (0xE8A02C, 0xB8402C), (0x4A8C5A, 0xF0E2B0),
            (0x8C4A8C, 0xF0B860), (0xC8443C, 0x2C4470), (0xF2C84A, 0x3C6C9C),
        ]
        let count = random.whole(5...11)
        let accents = Accents(canvas: canvas)
        for index in 0..<count {
            let t = Float(index) / Float(count - 1)
            let size = mix(0.012, 0.075, t * t) * random.between(0.85, 1.2)
            let pair = random.pick(colors)
            let x = (Float((index * 5) % count) + random.between(0.2, 0.8)) / Float(count) * width
            let y = mix(horizon * 0.75, horizon * 0.32, t) + random.between(-0.09, 0.09)
            accents.balloon(
                at: SIMD2(x, y), size: size, colors: (Light(pair.0), Light(pair.1)), side: side,
                haze: atmosphere.haze.mixed(with: atmosphere.horizon, 0.5),
                hazeAmount: mix(0.62, 0.05, t))
        }
    }
}
