/// A function over the picture, sampled on a coarse grid and interpolated smoothly in between.
///
/// The grid keeps rendering fast: many octaves of noise take one evaluation for every `cell * cell`
/// pixels, and a pixel takes one interpolation.
struct Field {
    private let columns: Int
    private let cell: Int
    private let values: [Float]
    private let width: Int

    /// - Parameters:
    ///   - cell: the distance between two samples in pixels.
    ///   - rows: the pixel rows of the field; other rows must not be read.
    ///   - sample: the function of a position in units.
    init(
        _ canvas: Canvas, cell: Int, rows: Range<Int>? = nil,
        _ sample: (_ x: Float, _ y: Float) -> Float
    ) {
        let lines = canvas.height / cell + 2
        columns = canvas.width / cell + 2
        self.cell = cell
        width = canvas.width
        var values = [Float](repeating: 0, count: columns * lines)
        let unit = 1 / canvas.scale
        for line in 0..<lines {
            let y = line * cell
            if let rows, y + cell < rows.lowerBound || y - cell > rows.upperBound { continue }
            for column in 0..<columns {
                values[line * columns + column] = sample(
                    Float(column * cell) * unit, Float(y) * unit)
            }
        }
        self.values = values
    }

    /// Writes the values along pixel row `y` to `line`, which must have space for the whole width.
    func read(row y: Int, into line: UnsafeMutablePointer<Float>) {
        let top = (y / cell) * columns
        let vertical = Float(y % cell) / Float(cell)
        let step = 1 / Float(cell)
        values.withUnsafeBufferPointer { values in
            guard let base = values.baseAddress else { return }
            var left = mix(base[top], base[top + columns], vertical)
            var x = 0
            var column = 1
            while x < width {
                let right = mix(base[top + column], base[top + columns + column], vertical)
                let count = min(cell, width - x)
                let slope = (right - left) * step
                for offset in 0..<count { line[x + offset] = left + slope * Float(offset) }
                left = right
                x += cell
                column += 1
            }
        }
    }
}

/// Allocates memory for one row of numbers while a closure runs.
func withLine<Result>(_ width: Int, _ body: (UnsafeMutablePointer<Float>) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: Float.self, capacity: width) { buffer in
        buffer.initialize(repeating: 0)
        // A canvas is never empty, so a row is never empty.
        guard let line = buffer.baseAddress else { preconditionFailure("a row without pixels") }
        return body(line)
    }
}
