import Foundation

/// `.cube` files for tests, and the colors that they describe.
struct CubeFile {
    var curves: [[Double]] = []
    var curveRange = 0.0...1.0
    var side = 0
    var cube: [[Double]] = []
    var minimum = [0.0, 0, 0]
    var maximum = [1.0, 1, 1]

    /// A cube with a color for each place from 0 to 1.
    init(side: Int, _ color: (_ red: Double, _ green: Double, _ blue: Double) -> [Double]) {
        self.side = side
        let places = (0..<side).map { Double($0) / Double(side - 1) }
        cube = places.flatMap { blue in
            places.flatMap { green in places.map { red in color(red, green, blue) } }
        }
    }

    /// A curve for each channel.
    init(size: Int, _ color: (_ value: Double) -> [Double]) {
        curves = (0..<size).map { color(Double($0) / Double(size - 1)) }
    }

    /// The file.
    var bytes: [UInt8] {
        func list(_ numbers: [Double]) -> String { numbers.map { "\($0)" }.joined(separator: " ") }
        var lines = ["# A look", "TITLE \"Test\""]
        if !curves.isEmpty {
            lines += ["LUT_1D_SIZE \(curves.count)"]
            lines += ["LUT_1D_INPUT_RANGE \(curveRange.lowerBound) \(curveRange.upperBound)"]
        }
        if side > 0 { lines += ["LUT_3D_SIZE \(side)"] }
        if curves.isEmpty {
            lines += ["DOMAIN_MIN \(list(minimum))", "DOMAIN_MAX \(list(maximum))"]
        }
        lines += (curves + cube).map(list)
        return Array(lines.joined(separator: "\n").utf8)
    }

    /// The color of the look for a color, by the definitions: a straight line between the entries
    /// of a curve, and in a cube the tetrahedron whose corners surround the color.
    func apply(_ color: [Double]) -> [Double] {
        var color = color
        if !curves.isEmpty {
            let width = curveRange.upperBound - curveRange.lowerBound
            color = (0..<3).map { channel in
                let share = (color[channel] - curveRange.lowerBound) / width
                let place = min(max(share, 0), 1) * Double(curves.count - 1)
                let low = min(Int(place), curves.count - 2)
                let part = place - Double(low)
                return curves[low][channel] * (1 - part) + curves[low + 1][channel] * part
            }
        }
        return side > 0 ? interpolate(color) : color
    }

    private func interpolate(_ color: [Double]) -> [Double] {
        let places = (0..<3).map { axis in
            let share = (color[axis] - minimum[axis]) / (maximum[axis] - minimum[axis])
            return min(max(share, 0), 1) * Double(side - 1)
        }
        var corner = places.map { min(Int($0), side - 2) }
        let shares = (0..<3).map { places[$0] - Double(corner[$0]) }
        // A walk from the first corner to the opposite one, along the axis with the largest share
        // first, visits the corners of the tetrahedron. The weight of a corner is the difference
        // between the shares before and after it.
        var result = [0.0, 0, 0]
        var before = 1.0
        for axis in (0..<3).sorted(by: { shares[$0] > shares[$1] }) + [nil] {
            let entry = cube[corner[0] + side * (corner[1] + side * corner[2])]
            let after = axis.map { shares[$0] } ?? 0
            for channel in 0..<3 { result[channel] += (before - after) * entry[channel] }
            before = after
            if let axis { corner[axis] += 1 }
        }
        return result
    }
}
