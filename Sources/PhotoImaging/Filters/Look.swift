#if PhotoImaging
import CPhotoVips

/// A look from a `.cube` file: a table that gives a new color for each color.
///
/// Programs for photos and videos export their looks in this format (Adobe, DaVinci Resolve).
///
///     let look = try Look(cube: bytes)
///     let filtered = try ImageEngine.apply([.look(look, intensity: 0.7)], to: bitmap)
///
/// A look works on sRGB-encoded values, as most looks for photos expect. A look that expects a
/// camera's logarithmic recording, or writes values for another display, gives wrong colors.
public struct Look: Sendable, Hashable {
    /// Colors for evenly spaced values of the channels.
    struct Table: Sendable, Hashable {
        /// The number of entries along an axis.
        var size: Int
        /// Four numbers for each entry; the last one is 0.
        var entries: [Float]
        /// The first and last values of red, green and blue.
        var minimum: [Float]
        var maximum: [Float]
    }

    /// The title in the file.
    public let title: String?

    /// The curves of the channels, which are applied first.
    let curves: Table?

    /// The cube of colors; red changes fastest.
    let cube: Table?

    /// A number that differs for looks with different tables.
    let fingerprint: UInt64

    /// The maximum size of a `.cube` file in bytes: 512 MiB, enough for the largest cube.
    public static let maximumByteCount = 512 << 20

    /// Reads a `.cube` file with a table of one or three dimensions, or with one of each.
    ///
    /// A table of one dimension has 2 to 65,536 entries, a table of three dimensions 2 to 256 along
    /// each axis. In a file with both, the table of one dimension comes first, and its results are
    /// the input of the other one. Input values outside the domain are clamped.
    ///
    /// - Complexity: O(*n*) in the number of bytes; a file with 33 entries along each axis takes
    ///   some ten milliseconds.
    /// - Parameter bytes: the contents of the file.
    /// - Throws: ``ImagingError/invalidLook(line:problem:)``.
    public init(cube bytes: [UInt8]) throws(ImagingError) {
        self = try CubeReader.read(bytes)
    }

    init(title: String?, curves: Table?, cube: Table?) {
        self.title = title
        self.curves = curves
        self.cube = cube
        fingerprint = Self.fingerprint(of: [curves, cube])
    }

    /// FNV-1a over the numbers of the tables.
    private static func fingerprint(of tables: [Table?]) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ number: UInt32) { hash = (hash ^ UInt64(number)) &* 0x100_0000_01B3 }
        for table in tables {
            add(UInt32(table?.size ?? 0))
            for list in [table?.minimum, table?.maximum, table?.entries] {
                for number in list ?? [] { add(number.bitPattern) }
            }
        }
        return hash
    }

    /// Hashes the tables by a number that was computed when the look was read.
    public func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }

    /// Whether gray pixels stay gray: all channels have equal curves, and the diagonal of the cube
    /// is gray.
    var keepsGray: Bool {
        let curvesKeepGray =
            curves.map { curves in
                curves.treatsChannelsAlike && (0..<curves.size).allSatisfy(curves.isGray)
            } ?? true
        let cubeKeepsGray =
            cube.map { cube in
                let step = 1 + cube.size + cube.size * cube.size
                return cube.treatsChannelsAlike
                    && (0..<cube.size).allSatisfy { cube.isGray($0 * step) }
            } ?? true
        return curvesKeepGray && cubeKeepsGray
    }

    /// Calls a closure with the look in the shim's form, which is valid during the call.
    func withShimLook<Result>(
        intensity: Double, _ body: (UnsafePointer<cvips_look>) -> Result
    ) -> Result {
        (curves?.entries ?? []).withUnsafeBufferPointer { curveEntries in
            (cube?.entries ?? []).withUnsafeBufferPointer { cubeEntries in
                var look = cvips_look(
                    curves: curves?.shimTable(curveEntries) ?? cvips_table(),
                    cube: cube?.shimTable(cubeEntries) ?? cvips_table(),
                    intensity: Float(intensity))
                return body(&look)
            }
        }
    }
}

extension Look.Table {
    fileprivate var treatsChannelsAlike: Bool {
        Set(minimum).count == 1 && Set(maximum).count == 1
    }

    fileprivate func isGray(_ entry: Int) -> Bool {
        entries[4 * entry] == entries[4 * entry + 1] && entries[4 * entry] == entries[4 * entry + 2]
    }

    fileprivate func shimTable(_ entries: UnsafeBufferPointer<Float>) -> cvips_table {
        cvips_table(
            entries: entries.baseAddress, size: Int32(size),
            minimum: (minimum[0], minimum[1], minimum[2]),
            maximum: (maximum[0], maximum[1], maximum[2]))
    }
}

extension Look {
    /// The look as a `.cube` file, from which ``init(cube:)`` makes an equal look.
    public var cubeText: String {
        func list(_ numbers: some Sequence<Float>) -> String {
            numbers.map(\.description).joined(separator: " ")
        }
        var lines = title.map { ["TITLE \"\($0)\""] } ?? []
        if let curves { lines.append("LUT_1D_SIZE \(curves.size)") }
        if let cube { lines.append("LUT_3D_SIZE \(cube.size)") }
        if let first = curves ?? cube {
            lines.append("DOMAIN_MIN \(list(first.minimum))")
            lines.append("DOMAIN_MAX \(list(first.maximum))")
        }
        if curves != nil, let cube {
            lines.append("LUT_3D_INPUT_RANGE \(cube.minimum[0]) \(cube.maximum[0])")
        }
        for entries in [curves?.entries, cube?.entries] {
            for start in stride(from: 0, to: entries?.count ?? 0, by: 4) {
                lines.append(list(entries?[start..<start + 3] ?? []))
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
#endif
