/// Gradient noise over the plane. Its lattice is hashed, not tabulated, so it neither repeats nor
/// needs memory.
///
/// After Perlin, "Improving noise" (2002): quintic interpolation between lattice gradients.
struct Noise {
    private let seed: UInt32

    init(seed: UInt32) { self.seed = seed }

    /// One octave at a point: about -1 … 1, mean 0, with features one unit wide.
    @inline(__always)
    func value(_ x: Float, _ y: Float) -> Float {
        let cellX = Self.below(x)
        let cellY = Self.below(y)
        let fx = x - Float(cellX)
        let fy = y - Float(cellY)
        let ix = UInt32(bitPattern: cellX)
        let iy = UInt32(bitPattern: cellY)
        let column = ix &* 0x8DA6_B343
        let row = iy &* 0xD816_3841 &+ seed
        let nextColumn = column &+ 0x8DA6_B343
        let nextRow = row &+ 0xD816_3841
        var hash = SIMD4<UInt32>(
            column &+ row, nextColumn &+ row, column &+ nextRow, nextColumn &+ nextRow)
        hash = (hash ^ (hash &>> 15)) &* 0x2C1B_3C6D
        hash = (hash ^ (hash &>> 13)) &* 0x297A_2D39
        hash ^= hash &>> 16
        let gradientX = Self.signed(hash)
        let gradientY = Self.signed(hash &<< 16)
        let corner =
            gradientX * SIMD4<Float>(fx, fx - 1, fx, fx - 1)
            + gradientY * SIMD4<Float>(fy, fy, fy - 1, fy - 1)
        let sx = fx * fx * fx * (fx * (fx * 6 - 15) + 10)
        let sy = fy * fy * fy * (fy * (fy * 6 - 15) + 10)
        let top = corner.x + (corner.y - corner.x) * sx
        let bottom = corner.z + (corner.w - corner.z) * sx
        return (top + (bottom - top) * sy) * 1.4
    }

    /// The floor of a value; the library's rounding would be a function call on older processors.
    @inline(__always)
    private static func below(_ value: Float) -> Int32 {
        let whole = Int32(value)
        return Float(whole) > value ? whole - 1 : whole
    }

    /// Converts the upper bits of each lane to -1 … 1: the bits become the fraction of a float in 2
    /// ..< 4.
    @inline(__always)
    private static func signed(_ bits: SIMD4<UInt32>) -> SIMD4<Float> {
        unsafeBitCast((bits &>> 9) | 0x4000_0000, to: SIMD4<Float>.self) - 3
    }

    /// The sum of several octaves; each octave is half as strong and about twice as fine as the
    /// previous one.
    @inline(__always)
    func fractal(_ x: Float, _ y: Float, octaves: Int, gain: Float = 0.5) -> Float {
        var (px, py) = (x, y)
        var amplitude: Float = 1
        var sum: Float = 0
        for _ in 0..<octaves {
            sum += value(px, py) * amplitude
            amplitude *= gain
            // Each octave is rotated by 37°, so that the lattices never align.
            (px, py) = (1.61 * px - 1.2 * py + 17.3, 1.2 * px + 1.61 * py - 9.1)
        }
        return sum
    }

    /// Octaves folded at zero, for sharp crests and round valleys: 0 … about 1.6.
    @inline(__always)
    func ridged(_ x: Float, _ y: Float, octaves: Int, gain: Float = 0.5) -> Float {
        var (px, py) = (x, y)
        var amplitude: Float = 1
        var sum: Float = 0
        var weight: Float = 1
        for _ in 0..<octaves {
            let fold = 1 - abs(value(px, py)) * 1.3
            let crest = max(fold, 0) * max(fold, 0)
            sum += crest * amplitude * weight
            // Fine crests grow only on coarse ones; valleys stay smooth, as after erosion.
            weight = clamp(crest * 1.6)
            amplitude *= gain
            (px, py) = (1.61 * px - 1.2 * py + 17.3, 1.2 * px + 1.61 * py - 9.1)
        }
        return sum
    }
}
