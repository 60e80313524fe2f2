import Foundation

extension Painter {
    /// A sand sea: smooth windward slopes, sharp crests, shadowed slip faces.
    mutating func paintDunes() {
        let horizon = height * random.between(0.3, 0.46)
        var sky = sky(horizon: horizon + 0.03)
        if sky.clouds == .cumulus { sky.cover *= 0.5 }
        let side: Float = random.chance(0.5) ? -1 : 1
        sky.sun.x = side < 0 ? -0.1 : width + 0.1
        sky.paint(on: canvas, noise: noise)
        let noise = noise
        let place = random.between(0, 60)
        let turn = random.between(-0.5, 0.5)
        let sand = Light(random.pick([0xD9A066, 0xE3B77C, 0xC98752, 0xE8CFA6, 0xC77B4A]))
        let sunlight = atmosphere.sunlight
        let ambient = atmosphere.ambient
        let tall = random.between(0.9, 1.5)
        let terrain = Terrain(
            eye: 1.75, horizon: horizon, near: 0.75, far: 46, sun: sideLight(side),
            clarity: random.between(22, 40), hazeHeight: 5, atmosphere: atmosphere,
            glowSide: side < 0 ? 0 : width)
        terrain.paint(on: canvas) { x, z in
            let bend = noise.value(x * 0.16 + place, z * 0.16) * 2.6
            let u = (x * cosf(turn) + z * sinf(turn)) * 0.34 + bend * 0.62 + place
            let along = (z * cosf(turn) - x * sinf(turn)) * 0.1
            let swell = noise.value(u * 0.8, along + place)
            // Crests are sharp nearby and rounded far away, where a slice is too coarse for an
            // edge.
            let round = 0.0004 + z * z * 0.00006
            let fold = noise.value(u, along * 1.7 + 7)
            let fine = noise.value(u * 2.7 + 3, along * 3 + bend)
            let crest = 1 - (fold * fold + round).squareRoot() * 1.6
            let small = (1 - (fine * fine + round * 6).squareRoot() * 1.5) / (1 + z * z * 0.004)
            let calm = 1 / (1 + z * z * 0.003)
            return tall * calm * (crest * 0.85 + swell * 0.55 + small * 0.16)
        } color: { place in
            let bend = noise.value(place.x * 0.9, place.z * 0.9)
            let ripple = noise.value(place.x * 3 + bend * 2, place.z * 22 + bend * 7)
            let near = 1 / (1 + place.z * place.z * 0.08)
            let tone = 1 + ripple * 0.2 * near + bend * 0.07
            return sand * tone * (sunlight * (place.sun * 1.35) + ambient * (place.open * 0.55))
        }
    }
}
