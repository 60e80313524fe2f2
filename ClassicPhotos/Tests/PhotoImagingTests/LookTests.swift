import Foundation
import OperationsTestSupport
import PhotoImaging
import Testing

@Suite(.ownThreads) struct LookTests {
    private func filter(_ file: CubeFile, intensity: Double = 1) throws -> ImageFilter {
        .look(try Look(cube: file.bytes), intensity: intensity)
    }

    /// Colors that are spread over all of the cube.
    private static let colors: [[UInt8]] = (0..<2000).map { (index: Int) -> [UInt8] in
        let levels: [Int] = [index * 37, index * 13, index * 53 / 3]
        return levels.map { UInt8($0 % 256) }
    }

    /// A cube without any regularity; some values are outside 0...1.
    private static func irregular(side: Int) -> CubeFile {
        var state: UInt64 = 7
        return CubeFile(side: side) { _, _, _ in
            (0..<3).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Double(state >> 40) / Double(1 << 24) * 1.2 - 0.1
            }
        }
    }

    private func check8(_ file: CubeFile, intensity: Double = 1) throws {
        let picture = try Pictures.row(Self.colors)
        let result = try ImageEngine.apply([filter(file, intensity: intensity)], to: picture)
        let expected = Self.colors.flatMap { (color: [UInt8]) -> [UInt8] in
            let values = color.map { Double($0) / 255 }
            return zip(values, file.apply(values)).map { (before, after) -> UInt8 in
                let mixed = before + intensity * (after - before)
                return UInt8((min(max(mixed, 0), 1) * 255).rounded())
            }
        }
        #expect(largestDifference(result.pixels(), expected) <= 1)
        let equal = zip(result.pixels(), expected).count { $0 == $1 }
        // Only values halfway between two levels may differ.
        #expect(equal > expected.count * 98 / 100)
    }

    private func check16(_ file: CubeFile) throws {
        let picture = try Pictures.deep(width: 80, height: 60)
        let result = try ImageEngine.apply([filter(file)], to: picture).samples()
        let samples = picture.samples()
        for start in stride(from: 0, to: samples.count, by: 3) {
            let expected = file.apply(samples[start..<start + 3].map { Double($0) / 65_535 })
            for channel in 0..<3 {
                let level = min(max(expected[channel], 0), 1) * 65_535
                try #require(abs(Double(result[start + channel]) - level) <= 1)
            }
        }
    }

    // MARK: Colors

    @Test(arguments: [2, 3, 17, 33])
    func cubeMatchesItsDefinition(side: Int) throws {
        try check8(Self.irregular(side: side))
        try check16(Self.irregular(side: side))
    }

    /// In the tetrahedra of a cube with two entries along an axis, the product of two channels at
    /// the corners becomes the smaller channel. Linear interpolation along the axes would give the
    /// product itself.
    @Test func productsOfCornersBecomeSmallestChannel() throws {
        let file = CubeFile(side: 2) { [$0 * $1, $1 * $2, $0 * $1 * $2] }
        let picture = try Pictures.row(Self.colors)
        let result = try ImageEngine.apply([filter(file)], to: picture).pixels()
        let expected = Self.colors.flatMap {
            [min($0[0], $0[1]), min($0[1], $0[2]), min($0[0], $0[1], $0[2])]
        }
        #expect(largestDifference(result, expected) == 0)
    }

    @Test(arguments: [2, 5, 33, 65])
    func identityLeavesEverySample(side: Int) throws {
        let file = CubeFile(side: side) { [$0, $1, $2] }
        let picture = try Pictures.row(Self.colors)
        let result = try ImageEngine.apply([filter(file)], to: picture)
        #expect(result.pixels() == picture.pixels())
        try check16(file)
    }

    @Test(arguments: [2, 256, 4096])
    func curvesMatchTheirDefinition(size: Int) throws {
        let file = CubeFile(size: size) { [pow($0, 0.5), 1 - $0, 1.1 * $0 - 0.05] }
        try check8(file)
        try check16(file)
    }

    @Test func curvesComeBeforeCube() throws {
        var file = Self.irregular(side: 9)
        file.curves = CubeFile(size: 50) { [$0 * $0, pow($0, 0.7), 1 - $0] }.curves
        try check8(file)
        try check16(file)
        file.curveRange = 0.2...0.9
        try check8(file)
    }

    @Test func valuesOutsideDomainAreClamped() throws {
        var file = Self.irregular(side: 5)
        file.minimum = [0.1, -0.5, 0.25]
        file.maximum = [0.9, 2, 0.5]
        try check8(file)
        try check16(file)
    }

    @Test(arguments: [0, 0.3, 1])
    func intensityMixesWithOriginal(intensity: Double) throws {
        try check8(Self.irregular(side: 4), intensity: intensity)
        try check8(CubeFile(size: 7) { [1 - $0, $0 * $0, 0.5] }, intensity: intensity)
    }

    @Test func alphaIsKept() throws {
        let look = try filter(CubeFile(side: 3) { [1 - $0, 1 - $1, 1 - $2] })
        let pixels: [UInt8] = [10, 20, 30, 0, 200, 100, 50, 128, 9, 8, 7, 255]
        let picture = try Bitmap(
            size: PixelSize(width: 3, height: 1), pixels: pixels, hasAlpha: true)
        #expect(
            try ImageEngine.apply([look], to: picture).pixels()
                == [245, 235, 225, 0, 55, 155, 205, 128, 246, 247, 248, 255])
        let deep = try Pictures.deep(width: 30, height: 20, hasAlpha: true)
        let samples = try ImageEngine.apply([look], to: deep).samples()
        for at in stride(from: 3, to: samples.count, by: 4) {
            #expect(samples[at] == deep.samples()[at])
        }
    }

    // MARK: Values

    @Test func lookIsStoredWithItsTable() throws {
        var file = Self.irregular(side: 3)
        file.curves = CubeFile(size: 4) { [$0 / 3, $0, 1 - $0] }.curves
        let filters = [
            try filter(file, intensity: 0.4), .sepia(),
            try filter(CubeFile(size: 2) { [$0, $0, 0] }),
        ]
        let data = try JSONEncoder().encode(filters)
        #expect(try JSONDecoder().decode([ImageFilter].self, from: data) == filters)
        #expect(filters[0].look?.title == "Test")
        #expect(filters[0][parameter: "intensity"] == 0.4 && filters[0].kind == nil)
    }

    @Test func textDistinguishesLooks() throws {
        let a = try filter(CubeFile(side: 2) { [$0, $1, $2] })
        let b = try filter(CubeFile(side: 2) { [$0, $1, $2 * 0.9] })
        let half = try filter(CubeFile(side: 2) { [$0, $1, $2] }, intensity: 0.5)
        #expect(Set([a, b, half].map(\.description)).count == 3)
        #expect(Set([a, b, half, a]).count == 3)
        #expect(throws: ImagingError.self) { try ImageFilter(a.description) }
        #expect(throws: ImagingError.self) { try ImageFilter("look=/etc/passwd") }
    }
}
