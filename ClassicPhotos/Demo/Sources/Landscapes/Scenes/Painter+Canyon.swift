import Foundation

extension Painter {
    /// Mesas and gorges of layered rock.
    mutating func paintCanyon() {
        let horizon = height * random.between(0.36, 0.52)
        var sky = sky(horizon: horizon + 0.03)
        let side: Float = random.chance(0.5) ? -1 : 1
        sky.sun.x = side < 0 ? -0.1 : width + 0.1
        sky.paint(on: canvas, noise: noise)
        let noise = noise
        let place = random.between(0, 90)
        let bands = strata()
        let sunlight = atmosphere.sunlight
        let ambient = atmosphere.ambient
        let tall = random.between(1.5, 2.2)
        let gate = random.between(-0.08, 0.05)
        let eye = tall * random.between(0.62, 1.2)
        let terrain = Terrain(
            eye: eye, horizon: horizon, near: 1.2, far: 38, spread: 0.3, sun: sideLight(side),
            clarity: random.between(26, 44), hazeHeight: 4, atmosphere: atmosphere,
            glowSide: side < 0 ? 0 : width)
        terrain.paint(on: canvas) { x, z in
            let bend = noise.value(x * 0.5, z * 0.5 + place) * 0.3
            let shape = noise.fractal(x * 0.2 + place + bend, z * 0.2 - bend, octaves: 3, gain: 0.4)
            let edge = noise.fractal(x * 1.1, z * 1.1 + place, octaves: 3) * 0.06
            let rise = shape + edge + gate
            // Cliffs with ledges between them, worn slopes below.
            let steps =
                smoothstep(-0.02, 0.05, rise) * 0.42 + smoothstep(0.12, 0.17, rise) * 0.3
                + smoothstep(0.25, 0.31, rise) * 0.28
            let talus = smoothstep(-0.3, 0.02, rise) * 0.2
            return tall * (steps + talus) * smoothstep(3.5, 8, z + abs(x) * 1.5) + edge * 1.2
        } color: { place in
            let wobble = noise.value(place.x * 0.8, place.z * 0.8) * 0.06
            let fine = noise.value(place.x * 6, place.z * 6 + place.height * 4)
            let layer = (place.height + wobble) * 7.5
            let index = Int(floorf(layer))
            let part = smoothstep(0.25, 0.75, layer - floorf(layer))
            let rock = bands[((index % 8) + 8) % 8].mixed(
                with: bands[(((index + 1) % 8) + 8) % 8], part)
            let flat = smoothstep(0.75, 0.95, place.level + fine * 0.06)
            let scrub = smoothstep(
                0.25, 0.5, noise.value(place.x * 2.2, place.z * 2.2) + fine * 0.5)
            let soil = bands[8].mixed(with: Light(0x6E6B42), scrub * 0.6)
            let ground = rock.mixed(with: soil, flat) * (1 + fine * 0.2)
            return ground * (sunlight * (place.sun * 1.35) + ambient * (place.open * 0.7))
        }
    }

    /// Eight layers of rock and, last, the soil on top.
    private mutating func strata() -> [Light] {
        let sets: [[UInt32]] = [
            [0xB5583A, 0xC87850, 0x9C4530, 0xD89468, 0xA8523A, 0xE0B088, 0xB86242, 0x8C3E2C],
            [0xC99A6A, 0xDDB888, 0xB07A50, 0xE8D0A8, 0xC08A5C, 0xA06C48, 0xD8AC7C, 0xEAD8B8],
            [0xA8604C, 0xC89080, 0x8C4C44, 0xD8B0A0, 0xB87864, 0x9A5850, 0xE0C4B4, 0x7C4440],
        ]
        let bands = random.pick(sets).map { Light($0) }
        return bands + [bands[1].mixed(with: Light(0xC8A070), 0.5)]
    }
}
