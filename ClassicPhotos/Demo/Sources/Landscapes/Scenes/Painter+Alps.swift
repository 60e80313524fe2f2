import Foundation

/// `base` to the power `exponent`, for curves between 0 and 1.
func powTo(_ base: Float, _ exponent: Float) -> Float { powf(max(base, 0), exponent) }

extension Painter {
    /// Snow mountains in perspective, lit from the side.
    mutating func paintAlps() {
        let horizon = height * random.between(0.56, 0.68)
        var sky = sky(horizon: horizon + 0.06)
        let side: Float = random.chance(0.5) ? -1 : 1
        sky.sun.x = side < 0 ? -0.15 : width + 0.15
        sky.paint(on: canvas, noise: noise)
        paintMassif(horizon: horizon, side: side, valley: random.between(0.25, 0.6))
        if random.chance(0.55) { fringe(from: height) }
    }

    /// Paints the mountains; `valley` is the width of the valley that stays clear.
    mutating func paintMassif(horizon: Float, side: Float, valley: Float) {
        let noise = noise
        let place = random.between(0, 80)
        let tall = random.between(3.4, 4.6)
        let snowline = random.between(0.9, 2.2)
        let meadow = grass()
        let rock = Light(random.pick([0x6B6560, 0x5A5F68, 0x77685C]))
        let sunlight = atmosphere.sunlight
        let ambient = atmosphere.ambient
        let forest = Light(0x1E2F22).mixed(with: meadow * 0.4, 0.3)
        let terrain = Terrain(
            eye: 0.75, horizon: horizon, near: 1.1, far: 30, spread: 0.25, sun: sideLight(side),
            clarity: random.between(18, 34), hazeHeight: 2.2, atmosphere: atmosphere,
            glowSide: side < 0 ? 0 : width)
        terrain.paint(on: canvas) { x, z in
            let rise = smoothstep(2, 15, z)
            let hill = noise.fractal(x * 0.42, z * 0.42 + place, octaves: 3, gain: 0.4) * 0.26
            if rise == 0 { return hill - 0.15 }
            let wall = clamp(abs(x) / (valley * z + 0.6) - 0.35)
            // Octaves finer than the depth of a slice would show as vertical streaks.
            let bend = noise.value(x * 0.21, z * 0.21 + place) * 0.25
            let crest = noise.ridged(
                x * 0.085 + place + bend, z * 0.085 + place - bend, octaves: z < 9 ? 6 : 5,
                gain: 0.38)
            let peak = crest * (0.55 + 0.45 * crest)
            return peak * tall * rise * (0.3 + 0.7 * smoothstep(0, 1, wall + rise * 0.45)) + hill
                - 0.15
        } color: { place in
            let fine = noise.value(place.x * 7, place.z * 7)
            let mottle = noise.value(place.x * 1.7 + 30, place.z * 1.7)
            let broad = noise.value(place.x * 0.6, place.z * 0.6 + 12)
            let snow =
                smoothstep(-0.3, 0.5, place.height - snowline + mottle * 0.6)
                * smoothstep(0.3, 0.62, place.level + fine * 0.12 + mottle * 0.1)
            let green =
                smoothstep(0.45, 0.8, place.level + mottle * 0.12)
                * (1 - smoothstep(0.3, 1.5, place.height - mottle * 0.4))
            let trees =
                smoothstep(0.0, 0.22, broad + mottle * 0.7 + (0.8 - place.level) * 0.9)
                * (1 - smoothstep(0.7, 1.5, place.height + fine * 0.2))
            var ground = (rock * (1 + fine * 0.2 + mottle * 0.25)).mixed(
                with: meadow * (1 + mottle * 0.35 + fine * 0.2), green)
            ground = ground.mixed(with: forest * (1 + fine * 0.5), trees * 0.9)
            ground = ground.mixed(with: Light(0.9, 0.93, 0.98, 0), snow)
            // Gullies and boulders finer than the grid; using the height prevents streaks on walls.
            let bump =
                1 + 0.34
                * noise.fractal(
                    place.x * 2.6 + place.height * 1.9, place.z * 2.6 - place.height * 3.1,
                    octaves: 2,
                    gain: 0.6)
            return ground * bump * (sunlight * (place.sun * 1.25) + ambient * (place.open * 0.75))
        }
    }

    /// The color of grass for the season and the time of day.
    mutating func grass() -> Light {
        Light(random.pick([0x4F6B2E, 0x64752F, 0x3F5F35, 0x8A7A3A, 0x7D6A35]))
    }
}
