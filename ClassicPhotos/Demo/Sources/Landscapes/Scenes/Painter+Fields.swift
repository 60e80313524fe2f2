import Foundation

extension Painter {
    /// Rolling farmland.
    mutating func paintFields() {
        let horizon = height * random.between(0.44, 0.6)
        var sky = sky(horizon: horizon + 0.02)
        if time == .noon || time == .morning {
            sky.clouds = .cumulus
            sky.cover = random.between(0.4, 0.62)
        }
        let side: Float = sky.sun.x < width / 2 ? -1 : 1
        sky.paint(on: canvas, noise: noise)
        let land = farmland(horizon: horizon, side: side)
        trees(on: land, horizon: horizon, side: side)
        if random.chance(0.3) {
            Plants(canvas: canvas).meadow(
                count: Int(900 * width), height: 0.1, color: atmosphere.near * 1.6,
                tip: Light(0xB9A45A) * atmosphere.sunlight, random: &random)
        }
    }

    struct Farmland {
        var terrain: Terrain
        var height: @Sendable (Float, Float) -> Float
    }

    mutating func farmland(horizon: Float, side: Float) -> Farmland {
        let noise = noise
        let place = random.between(0, 70)
        let crops = crops()
        let sunlight = atmosphere.sunlight
        let ambient = atmosphere.ambient
        let turn = random.between(-0.6, 0.6)
        let tall = random.between(0.8, 1.25)
        let rows = random.between(2.5, 4.5)
        let height: @Sendable (Float, Float) -> Float = { x, z in
            let broad = noise.fractal(x * 0.17 + place, z * 0.17, octaves: 3, gain: 0.36)
            return broad * tall * smoothstep(0.4, 4, z) + smoothstep(14, 38, z) * 0.75
                * (0.6 + noise.value(x * 0.09, z * 0.02 + place))
        }
        let terrain = Terrain(
            eye: 1.75, horizon: horizon, near: 0.9, far: 40, sun: sideLight(side),
            clarity: random.between(20, 38), hazeHeight: 4, atmosphere: atmosphere,
            glowSide: side < 0 ? 0 : width)
        terrain.paint(on: canvas, height: height) { place in
            let bend = noise.value(place.x * 0.3, place.z * 0.3) * 0.35
            let u = place.x * cosf(turn) + place.z * sinf(turn) + bend
            let v = (place.z * cosf(turn) - place.x * sinf(turn)) * 0.55 + bend * 1.5
            let lane = floorf(v * 0.8)
            let shift = noise.value(lane * 3.7, 1.5) * 2
            let plot = floorf(u * 0.5 + shift)
            let pickOne = noise.value(plot * 1.73 + 0.4, lane * 2.31 + 0.6) * 0.75 + 0.5
            let kind = crops[min(Int(clamp(pickOne) * Float(crops.count)), crops.count - 1)]
            // Furrows run along the plot and vanish with distance.
            let furrow = sinf((u * 0.6 + v * 0.25) * rows * 6.2832)
            let fine = noise.value(place.x * 9, place.z * 9)
            let edge = min(
                abs(v * 0.8 - lane - 0.5), abs(u * 0.5 + shift - plot - 0.5))
            let hedge = smoothstep(0.47, 0.485, edge) * 0.55
            let tone =
                1 + furrow * 0.16 / (1 + place.z * place.z * 0.02) + fine * 0.16
                + noise.value(place.x * 1.3, place.z * 1.3) * 0.14
            let ground = (kind * tone).mixed(with: Light(0x24381C), hedge)
            return ground * (sunlight * (place.sun * 1.3) + ambient * (place.open * 0.6))
        }
        return Farmland(terrain: terrain, height: height)
    }

    private mutating func crops() -> [Light] {
        let sets: [[UInt32]] = [
            [0x6F8F3A, 0x8DA544, 0xC9B45A, 0x55792F, 0xA3A24A],
            [0xE0C632, 0x6E9338, 0x86A53E, 0xD7BF3A, 0x4E742E],
            [0x7D66A8, 0x8C74B4, 0x7F9A50, 0x9A82BE, 0x6C8A44],
            [0xC9A45C, 0xD8B970, 0xA88648, 0x8F8A44, 0xE0C78A],
            [0x5E8A3C, 0x7BA04A, 0xB5463A, 0x6B9440, 0x4D7836],
        ]
        return random.pick(sets).map { Light($0) }
    }

    private mutating func trees(on land: Farmland, horizon: Float, side: Float) {
        let plants = Plants(canvas: canvas)
        let lens = land.terrain.focal * canvas.scale
        let slim = random.chance(0.4)
        let dark = Light(0x1C2A16) * (atmosphere.ambient * 0.8 + atmosphere.sunlight * 0.5)
        let lit = Light(0x6E8638) * (atmosphere.sunlight * 0.9 + atmosphere.ambient * 0.3)
        var places: [(Float, Float)] = []
        for _ in 0..<random.whole(5...12) {
            let z = random.between(5, 24)
            let x = random.between(-0.6, 0.6) * z * width
            // Trees stand in small groups and rows.
            let run = random.between(0.2, 0.5)
            for step in 0..<random.whole(1...7) {
                places.append(
                    (
                        x + Float(step) * run * random.between(0.7, 1.3),
                        max(z + random.between(-0.5, 0.5), 3)
                    ))
            }
        }
        for (x, z) in places.sorted(by: { $0.1 > $1.1 }) {
            let column = x / z * lens + Float(canvas.width) / 2
            let foot =
                horizon * canvas.scale + (land.terrain.eye - land.height(x, z)) / z * lens
            let tall = random.between(0.34, 0.56) / z * lens * (slim ? 1.25 : 0.9)
            let fade = 1 - expf(-z / land.terrain.clarity)
            let near = dark.mixed(with: atmosphere.haze, fade)
            let far = lit.mixed(with: atmosphere.haze, fade)
            if slim {
                plants.cypress(
                    x: column, foot: foot, height: tall, dark: near, lit: far, side: side)
            } else {
                plants.broadleaf(
                    x: column, foot: foot, height: tall, dark: near, lit: far, side: side,
                    random: &random)
            }
        }
    }
}
