/// Still or rough water: mirrors the picture above the shore, distorted by waves and tinted.
///
/// On rough water, the waves sample the mirrored picture far up and down. This alone creates the
/// glittering path under a low sun.
struct Water {
    /// The first pixel row of water.
    var shore: Int
    /// The color of the water seen from directly above.
    var deep: Light
    /// The roughness: 0 is a mirror, 1 a breezy sea.
    var roughness: Float
    /// The share of reflection at the bottom of the picture, 0 … 1; at the shore it is nearly 1.
    var clearness: Float = 0.5
    var waveSize: Float = 1
    /// The path of light under a low sun: its position in units, and its light.
    var path: (x: Float, light: Light)?

    func paint(on canvas: Canvas, noise: Noise) {
        guard shore > 1, shore < canvas.height else { return }
        let unit = 1 / canvas.scale
        let end = Float(canvas.height - shore) * unit
        let middle = canvas.frameWidth / 2
        for y in shore..<canvas.height {
            let down = (Float(y - shore) + 0.5) * unit
            let depth = 1 / (down + 0.014)
            let across = depth * 1.9 / waveSize
            let along = depth * 4.4 / waveSize
            let bend = roughness * canvas.scale * (0.02 + down * 1.15)
            let sway = roughness * canvas.scale * (0.002 + down * 0.1)
            let mirrored = Float(shore) - 1 - down * canvas.scale * (1 + 0.25 * roughness)
            let view = 1 - smoothstep(0, 1, down / max(end, 0.01))
            let share = mix(clearness, 0.96, view * view)
            let line = canvas.row(y)
            for x in 0..<canvas.width {
                let u = (Float(x) * unit - middle) * across
                let wave = noise.value(u, along)
                let ripple = noise.value(u * 2.7 + 9, along * 2.9 + wave)
                let tilt = wave * 0.62 + ripple * 0.45
                var fromY = Int(mirrored + tilt * bend)
                if fromY < 0 { fromY = -fromY }
                if fromY >= shore { fromY = max(2 * shore - 2 - fromY, 0) }
                fromY = min(fromY, shore - 1)
                let fromX = min(max(x + Int(ripple * sway), 0), canvas.width - 1)
                let light = canvas.pixels[fromY * canvas.width + fromX]
                // The near side of a wave shows the depth, the far side shows the sky.
                let facing = clamp(share - tilt * roughness * 0.4, 0.03, 1)
                line[x] = deep.mixed(with: light, facing)
                guard let path else { continue }
                let away = (Float(x) * unit - path.x) / (0.035 + down * 0.2)
                let glint = smoothstep(0.12, 0.62, tilt + 0.25) / (1 + away * away * away * away)
                line[x] += path.light * (glint / (1 + down * 1.6))
            }
        }
    }
}
