import Foundation

/// Land in true perspective: a height field, lit by the sun and drawn from far to near.
///
/// The land is sampled where the camera needs it: in columns across the picture and in slices of
/// depth that are dense near the camera and sparse in the distance. Each slice is a skyline.
/// Drawing the strips between slices from the farthest to the nearest hides all hidden parts
/// without a depth buffer.
struct Terrain {
    /// The data for shading one point.
    struct Place {
        var x: Float
        var z: Float
        var height: Float
        /// The slope: 1 is level ground, 0 is a wall.
        var level: Float
        /// The direct sunlight with cast shadows, 0 … 1.
        var sun: Float
        /// The sky light, 0 … 1.
        var open: Float
    }

    /// The camera: the eye height in the land's own measure, the picture row of the horizon in
    /// units, and the focal length in units.
    var eye: Float
    var horizon: Float
    var focal: Float = 0.95
    var near: Float = 0.28
    var far: Float = 42
    /// The distribution of the slices: 1 spreads them evenly over the picture's rows (open plains);
    /// towards 0 each slice is a constant factor deeper than the previous one (steep, distant
    /// land).
    var spread: Float = 0.6
    /// The unit vector towards the sun: x to the right, y up, z away from the camera.
    var sun: SIMD3<Float>
    /// The depth at which haze covers about two thirds.
    var clarity: Float = 16
    /// The height over which the haze halves.
    var hazeHeight: Float = 3
    var atmosphere: Atmosphere
    /// The horizontal position, in units, at which the sun's halo tints the haze; nil for no tint.
    var glowSide: Float?

    private struct Grid {
        var columns: Int
        var slices: Int
        var depths: [Float]
        var heights: [Float]
        var lights: [Light]
    }

    func paint(
        on canvas: Canvas, height: (_ x: Float, _ z: Float) -> Float,
        color: (Place) -> Light
    ) {
        let step = canvas.width > 700 ? 3 : 2
        var grid = Grid(
            columns: canvas.width / step + 2,
            slices: clampSlices(canvas), depths: [], heights: [], lights: [])
        sample(&grid, canvas, step, height)
        shade(&grid, canvas, step, color)
        draw(grid, canvas, step)
    }

    private func clampSlices(_ canvas: Canvas) -> Int {
        min(max(canvas.height * 2 / 5, min(canvas.height * 2 + 40, 240)), 420)
    }

    private func across(_ column: Int, _ step: Int, _ canvas: Canvas) -> Float {
        (Float(column * step) - Float(canvas.width) / 2) / (canvas.scale * focal)
    }

    private func sample(
        _ grid: inout Grid, _ canvas: Canvas, _ step: Int, _ height: (Float, Float) -> Float
    ) {
        grid.depths = (0..<grid.slices).map { slice in
            let t = Float(slice) / Float(grid.slices - 1)
            return powf(mix(powf(near, -spread), powf(far, -spread), t), -1 / spread)
        }
        grid.heights.reserveCapacity(grid.columns * grid.slices)
        for slice in 0..<grid.slices {
            let z = grid.depths[slice]
            for column in 0..<grid.columns {
                grid.heights.append(height(across(column, step, canvas) * z, z))
            }
        }
    }

    private func shade(
        _ grid: inout Grid, _ canvas: Canvas, _ step: Int, _ color: (Place) -> Light
    ) {
        grid.lights.reserveCapacity(grid.columns * grid.slices)
        let hazeLit = atmosphere.haze.mixed(with: atmosphere.glow, 0.55)
        for slice in 0..<grid.slices {
            let z = grid.depths[slice]
            let fade = 1 - expf(-z / clarity)
            for column in 0..<grid.columns {
                let slope = across(column, step, canvas)
                let height = grid.heights[slice * grid.columns + column]
                let normal = self.normal(grid, canvas, step, column, slice)
                let direct = max((normal * sun).sum(), 0)
                let shadow = direct > 0.01 ? shadow(grid, canvas, step, column, slice) : 0
                let place = Place(
                    x: slope * z, z: z, height: height, level: normal.y,
                    sun: direct * shadow, open: 0.55 + 0.45 * normal.y)
                let thin = expf(-max(height, 0) / hazeHeight * 0.69)
                let amount = clamp(fade * (0.35 + 0.65 * thin))
                // At the far end, the land is as bright as the sky behind it.
                var haze = atmosphere.haze.mixed(with: atmosphere.horizon, fade * fade * 0.8)
                if let glowSide {
                    let distance = slope * focal + canvas.frameWidth / 2 - glowSide
                    haze = haze.mixed(with: hazeLit, 1 / (1 + distance * distance * 7))
                }
                grid.lights.append(color(place).mixed(with: haze, amount))
            }
        }
    }

    private func normal(
        _ grid: Grid, _ canvas: Canvas, _ step: Int, _ column: Int, _ slice: Int
    ) -> SIMD3<Float> {
        let left = max(column - 1, 0)
        let right = min(column + 1, grid.columns - 1)
        let front = max(slice - 1, 0)
        let back = min(slice + 1, grid.slices - 1)
        let line = slice * grid.columns
        let z = grid.depths[slice]
        let width = Float((right - left) * step) / (canvas.scale * focal) * z
        let depth = grid.depths[back] - grid.depths[front]
        let slopeX = (grid.heights[line + right] - grid.heights[line + left]) / width
        // A column leans outwards with distance; subtract the sideways slope of that lean.
        let lean = across(column, step, canvas) * slopeX
        let slopeZ =
            (grid.heights[back * grid.columns + column]
                - grid.heights[front * grid.columns + column]) / depth - lean
        let length = (slopeX * slopeX + slopeZ * slopeZ + 1).squareRoot()
        return SIMD3(-slopeX, 1, -slopeZ) / length
    }

    /// 1 in the sun, 0 behind a mountain, with a soft transition.
    private func shadow(
        _ grid: Grid, _ canvas: Canvas, _ step: Int, _ column: Int, _ slice: Int
    ) -> Float {
        let z = grid.depths[slice]
        let start = SIMD3(
            across(column, step, canvas) * z, grid.heights[slice * grid.columns + column], z)
        var reach: Float = 0.02 + z * 0.012
        var visible: Float = 1
        let first = powf(near, -spread)
        let last = powf(far, -spread)
        for _ in 0..<7 {
            let point = start + sun * reach
            guard point.z > near, point.z < far else { break }
            let pixel = point.x / point.z * focal * canvas.scale + Float(canvas.width) / 2
            let at = Int(pixel) / step
            guard at >= 0, at < grid.columns else { break }
            let t = (powf(point.z, -spread) - first) / (last - first)
            let index = Int(t * Float(grid.slices - 1))
            let ground = grid.heights[min(max(index, 0), grid.slices - 1) * grid.columns + at]
            visible = min(visible, 1 - smoothstep(-0.06, 0.22, (ground - point.y) / reach))
            reach *= 1.75
        }
        return visible
    }

    private func draw(_ grid: Grid, _ canvas: Canvas, _ step: Int) {
        let width = canvas.width
        let middle = horizon * canvas.scale
        let lens = focal * canvas.scale
        var behind = [Float](repeating: 0, count: width)
        var behindLight = [Light](repeating: .gray(0), count: width)
        let share = 1 / Float(step)
        let rim = atmosphere.haze.mixed(with: atmosphere.horizon, 0.7)
        for slice in stride(from: grid.slices - 1, through: 0, by: -1) {
            let rise = lens / grid.depths[slice]
            let line = slice * grid.columns
            let farthest = slice == grid.slices - 1
            for x in 0..<width {
                let column = x / step
                let part = Float(x - column * step) * share
                let here = line + column
                let height = mix(grid.heights[here], grid.heights[here + 1], part)
                let light = grid.lights[here].mixed(with: grid.lights[here + 1], part)
                let y = middle + (eye - height) * rise
                if farthest {
                    // The land ends in haze, without a gap below the sky.
                    behind[x] = min(y, middle)
                    behindLight[x] = rim
                }
                strip(
                    canvas, x, from: behind[x], behindLight[x], to: y, light,
                    last: slice == 0)
                behind[x] = y
                behindLight[x] = light
            }
        }
    }

    @inline(__always)
    private func strip(
        _ canvas: Canvas, _ x: Int, from top: Float, _ first: Light, to bottom: Float,
        _ second: Light, last: Bool
    ) {
        let end = last ? Float(canvas.height) : bottom
        guard end > top, end > 0, top < Float(canvas.height) else { return }
        let start = Int(max(top, 0))
        let stop = min(Int(end), canvas.height - 1)
        guard start <= stop else { return }
        let slope = 1 / max(bottom - top, 0.001)
        var pixel = canvas.pixels + (start * canvas.width + x)
        for y in start...stop {
            let light = first.mixed(with: second, clamp((Float(y) - top) * slope))
            if y == start, top > 0 {
                pixel.pointee = pixel.pointee.mixed(with: light, Float(y + 1) - top)
            } else {
                pixel.pointee = light
            }
            pixel += canvas.width
        }
    }
}
