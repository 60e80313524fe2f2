import OperationsTestSupport
import PhotoImaging
import Testing

@Suite(.ownThreads) struct SepiaTests {
    private func color(_ number: UInt32) -> [UInt8] {
        [16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    private func sepia(_ colors: [[UInt8]], intensity: Double) throws -> [UInt8] {
        try ImageEngine.apply([.sepia(intensity: intensity)], to: Pictures.row(colors)).pixels()
    }

    @Test func fullSepiaMatchesCoreImage() throws {
        let before = coreImageSepiaPairs.map { color($0.before) }
        let after = coreImageSepiaPairs.flatMap { color($0.after) }
        #expect(coreImageSepiaPairs.count == 200)
        #expect(try largestDifference(sepia(before, intensity: 1), after) <= 2)
    }

    @Test(
        arguments: [
            ([128, 0, 45], [86, 54, 9], [96, 48, 21]),
            ([140, 54, 113], [111, 78, 26], [117, 74, 57]),
            ([102, 126, 178], [148, 118, 61], [140, 120, 100]),
            ([53, 170, 228], [177, 153, 99], [162, 156, 138]),
            ([255, 186, 63], [210, 193, 151], [220, 192, 139]),
            ([247, 238, 243], [243, 238, 219], [244, 238, 224]),
            ([255, 255, 255], [255, 254, 245], [255, 254, 247]),
            ([128, 128, 128], [149, 120, 63], [145, 122, 81]),
            ([0, 0, 0], [0, 0, 0], [0, 0, 0]),
        ] as [([UInt8], [UInt8], [UInt8])])
    func sepiaMatchesReferenceValues(before: [UInt8], full: [UInt8], strong: [UInt8]) throws {
        #expect(try largestDifference(sepia([before], intensity: 1), full) <= 1)
        #expect(try largestDifference(sepia([before], intensity: 0.8), strong) <= 1)
    }

    @Test(arguments: [0.1, 0.37, 0.5, 0.8, 1])
    func tablesMatchFormula(intensity: Double) throws {
        let levels = stride(from: 0, through: 255, by: 15).map(UInt8.init)
        let colors = levels.flatMap { red in
            levels.flatMap { green in levels.map { [red, green, $0] } }
        }
        let expected = colors.flatMap { SepiaReference.apply($0, intensity: intensity) }
        #expect(try largestDifference(sepia(colors, intensity: intensity), expected) <= 1)
    }

    @Test func intensityZeroChangesNothing() throws {
        let picture = try Pictures.colorful(width: 256, height: 64)
        let result = try ImageEngine.apply([.sepia(intensity: 0)], to: picture)
        #expect(result.pixels() == picture.pixels())
    }

    @Test(arguments: [0.2, 0.8, 1])
    func brighterGraysStayBrighter(intensity: Double) throws {
        let grays = (0...255).map { [UInt8](repeating: UInt8($0), count: 3) }
        let result = try sepia(grays, intensity: intensity)
        for channel in 0..<3 {
            let levels = stride(from: channel, to: result.count, by: 3).map { result[$0] }
            #expect(levels == levels.sorted())
            #expect(levels.first == 0)
        }
    }

    @Test func sepiaOfGrayIsBrown() throws {
        let result = try sepia([[128, 128, 128]], intensity: 0.8)
        #expect(result[0] > result[1] && result[1] > result[2])
    }

    @Test func cssSepiaMatchesW3CMatrix() throws {
        // The rows of the matrix at amount 0.8, multiplied by (200, 100, 50).
        let expected: [UInt8] = [172, 137, 101]
        let picture = try Pictures.row([[200, 100, 50]])
        let result = try ImageEngine.apply([.sepiaCSS(amount: 0.8)], to: picture).pixels()
        #expect(largestDifference(result, expected) <= 1)
    }
}
