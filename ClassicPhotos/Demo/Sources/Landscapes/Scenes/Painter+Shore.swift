extension Painter {
    /// A beach seen from straight above: deep water, shallows, foam, sand, green.
    mutating func paintShore() {
        let noise = noise
        let turn = random.between(-0.9, 0.9)
        let flip: Float = random.chance(0.5) ? 1 : -1
        let place = random.between(0, 50)
        let middle = SIMD2(width / 2, height / 2)
        let shift = random.between(-0.12, 0.14)
        let upright = random.chance(0.4)
        let cell = canvas.width > 700 ? 3 : 2
        let land = Field(canvas, cell: cell) { x, y in
            let from = SIMD2(x, y) - middle
            let across = upright ? from.y + from.x * turn * 0.5 : from.x + from.y * turn
            return across * flip * 0.85 + shift
                + noise.fractal(x * 1.5 + place, y * 1.5, octaves: 6, gain: 0.44) * 0.26
        }
        let swell = Field(canvas, cell: cell) { x, y in
            let bend = noise.value(x * 3 + place, y * 3) * 0.8
            return noise.fractal(x * 9 + bend, y * 9 - bend, octaves: 4, gain: 0.55)
        }
        let speck = Field(canvas, cell: canvas.width > 700 ? 2 : 1) { x, y in
            noise.fractal(x * 42, y * 42 + place, octaves: 2, gain: 0.6)
        }
        let tones = beachTones()
        let light = atmosphere.sunlight.mixed(with: .gray(1), 0.5)
        withLine(canvas.width) { ground in
            withLine(canvas.width) { wave in
                withLine(canvas.width) { grain in
                    for y in 0..<canvas.height {
                        land.read(row: y, into: ground)
                        swell.read(row: y, into: wave)
                        speck.read(row: y, into: grain)
                        let line = canvas.row(y)
                        for x in 0..<canvas.width {
                            line[x] = tones.color(ground[x], wave[x], grain[x]) * light
                        }
                    }
                }
            }
        }
        umbrellas(land: land, tones: tones)
    }

    private struct BeachTones {
        var deep: Light
        var middle: Light
        var shallow: Light
        var sand: Light
        var wet: Light
        var green: Light

        /// The color at a distance from the water's edge: `land` is 0 at the edge and negative in
        /// the sea.
        func color(_ land: Float, _ wave: Float, _ grain: Float) -> Light {
            if land < 0.012 {
                let depth = -land + wave * 0.012
                var water = shallow.mixed(with: middle, smoothstep(0.01, 0.17, depth))
                    .mixed(with: deep, smoothstep(0.14, 0.5, depth))
                water = water * (1 + wave * 0.13 + grain * 0.07)
                // Two or three lines of surf follow the shore.
                let surf =
                    band(depth, at: 0.004 + wave * 0.006, width: 0.008)
                    + band(depth, at: 0.038 + wave * 0.014, width: 0.006 + wave * 0.006) * 0.8
                    + band(depth, at: 0.085 + wave * 0.02, width: wave * 0.011) * 0.6
                let foam = clamp(surf * (0.55 + grain * 0.9 + wave * 0.4))
                let edge = smoothstep(-0.014, 0.008, depth + wave * 0.003)
                return wet.mixed(with: water.mixed(with: Light(0.95, 0.97, 0.97, 0), foam), edge)
            }
            let dry = smoothstep(0.012, 0.06, land + wave * 0.012)
            let beach = wet.mixed(with: sand, dry) * (1 + grain * 0.09 + wave * 0.05)
            let plants = smoothstep(0.2, 0.25, land + wave * 0.06 + grain * 0.04)
            let leaf = green * (0.75 + grain * 0.7 + wave * 0.45)
            return beach.mixed(with: leaf, plants)
        }

        private func band(_ value: Float, at place: Float, width: Float) -> Float {
            guard width > 0 else { return 0 }
            return 1 - smoothstep(width * 0.3, width, abs(value - place))
        }
    }

    private mutating func beachTones() -> BeachTones {
        let waters: [(UInt32, UInt32, UInt32)] = [
            (0x0B4A78, 0x1D93A8, 0x8FDCCB), (0x0A5A6C, 0x2AA79C, 0xA9E2C4),
            (0x14406A, 0x3478A4, 0x9CCBD0), (0x17505A, 0x4A8F88, 0xB4CDB0),
        ]
        let water = random.pick(waters)
        let sand = Light(random.pick([0xEBD9B4, 0xF2E6CC, 0xD9B98A, 0xE6C9A8, 0x8A8078]))
        return BeachTones(
            deep: Light(water.0), middle: Light(water.1), shallow: Light(water.2), sand: sand,
            wet: sand * 0.62, green: Light(random.pick([0x2E4F2A, 0x3C5C30, 0x27463A])))
    }

    private mutating func umbrellas(land: Field, tones: BeachTones) {
        guard time != .overcast, random.chance(0.6) else { return }
        let colors = [0xE84A3C, 0xF2B43C, 0xF6F2E8, 0x3C8CC8, 0x4AB49A] as [UInt32]
        var wanted = random.whole(8...26)
        let unit = canvas.scale
        withLine(canvas.width) { line in
            for _ in 0..<600 where wanted > 0 {
                let x = random.whole(0...(canvas.width - 1))
                let y = random.whole(0...(canvas.height - 1))
                land.read(row: y, into: line)
                guard line[x] > 0.07, line[x] < 0.17 else { continue }
                wanted -= 1
                let radius = 0.0085 * unit
                canvas.disc(
                    x: Float(x) + radius * 0.8, y: Float(y) + radius * 0.9, radius: radius,
                    softness: radius * 0.25, tones.wet * 0.45, 0.6)
                let color = Light(random.pick(colors))
                canvas.disc(x: Float(x), y: Float(y), radius: radius, softness: 0.6, color)
                canvas.disc(
                    x: Float(x), y: Float(y), radius: radius * 0.5, softness: radius * 0.4,
                    color * 1.25, 0.5)
            }
        }
    }
}
