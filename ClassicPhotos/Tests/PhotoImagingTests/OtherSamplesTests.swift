import OperationsTestSupport
import PhotoImaging
import RawFiles
import Testing

/// TIFF files whose samples are not 8 or 16 bits of red, green and blue.
@Suite(.ownThreads) struct OtherSamplesTests {
    /// A TIFF of one strip.
    private func tiff(
        width: Int, height: Int, bits: Int, samples: Int, photometric: Int, format: Int = 1,
        pixels: [UInt8], profile: [UInt8]? = nil
    ) -> [UInt8] {
        func each(_ number: Int) -> TIFFWriter.Value {
            .shorts((0..<samples).flatMap { _ in [UInt8(number), 0] as [UInt8] })
        }
        var directory: TIFFWriter.Directory = [
            (0x100, .long(width)), (0x101, .long(height)), (0x102, each(bits)),
            (0x103, .short(1)), (0x106, .short(photometric)), (0x111, .block(pixels)),
            (0x115, .short(samples)), (0x116, .long(height)), (0x117, .long(pixels.count)),
            (0x153, each(format)),
        ]
        if let profile { directory.append((0x8773, .bytes(profile))) }
        return TIFFWriter.file(
            head: [0x49, 0x49, 0x2A, 0, 0, 0, 0, 0], isLittle: true, [directory])
    }

    /// A profile of four inks, whose black is as light as that of newsprint (L* = 30), with one
    /// table for all intents.
    private static let inks: [UInt8] = {
        var nodes: [UInt8] = []
        // The last ink changes fastest.
        for node in 0..<16 {
            let (cyan, magenta) = (node >> 3 & 1, node >> 2 & 1)
            let (yellow, black) = (node >> 1 & 1, node & 1)
            let light = black == 1 ? 30 : max(30, 95 - 30 * cyan - 40 * magenta - 8 * yellow)
            let isGray = black == 1 || cyan == magenta && magenta == yellow
            let green = isGray ? 0 : 60 * magenta - 30 * cyan
            let blue = isGray ? 0 : 70 * yellow - 40 * cyan
            nodes += [UInt8(light * 255 / 100), UInt8(128 + green), UInt8(128 + blue)]
        }
        let identity = (0..<256).map { UInt8($0) }
        let one = HostileFiles.bigEndian(65_536), zero = HostileFiles.bigEndian(0)
        let table =
            Array("mft1".utf8) + zero + [4, 3, 2, 0]
            + (0..<9).flatMap { $0 % 4 == 0 ? one : zero }
            + (0..<4).flatMap { _ in identity } + nodes + (0..<3).flatMap { _ in identity }
        return Profiles.inks(table)
    }()

    @Test(arguments: [nil, PixelSize(width: 10, height: 10)])
    func inksBecomeBlackAndWhite(box: PixelSize?) throws {
        // From left to right: paper, half of the black, all of the black, all inks, cyan.
        let colors: [[UInt8]] = [
            [0, 0, 0, 0], [0, 0, 0, 128], [0, 0, 0, 255], [255, 255, 255, 255], [255, 0, 0, 0],
        ]
        let row = colors.flatMap { color in (0..<20).flatMap { _ in color } }
        let pixels = (0..<100).flatMap { _ in row }
        let file = tiff(
            width: 100, height: 100, bits: 8, samples: 4, photometric: 5, pixels: pixels,
            profile: Self.inks)
        let bitmap = try ImageEngine.decode(file, fitting: box, keeping: .metadata)
        let step = bitmap.size.width / 5
        let levels = (0..<5).map { bitmap.pixel($0 * step + step / 2, bitmap.size.height / 2) }
        // Black ink is black. Its light alone would be a gray of 71.
        #expect(largestDifference(levels[0], [255, 255, 255]) <= 20, "\(levels)")
        for level in levels[2...3] {
            #expect(largestDifference(level, [0, 0, 0]) <= 13, "\(levels)")
        }
        #expect(largestDifference(levels[1], [136, 136, 136]) <= 8, "\(levels)")
        #expect(levels[4][2] > levels[4][0] + 40, "\(levels)")
        // The copy is not converted again.
        let copy = try ImageEngine.encode(bitmap, as: .png).bytes
        #expect(try ImageEngine.decode(copy).pixel(step / 2, 2) == bitmap.pixel(step / 2, 2))
    }

    @Test func floatsSaySo() throws {
        let value: Float = 0.5
        let bytes = withUnsafeBytes(of: value.bitPattern.littleEndian) { Array($0) }
        let pixels = (0..<20 * 10 * 3).flatMap { _ in bytes }
        let file = tiff(
            width: 20, height: 10, bits: 32, samples: 3, photometric: 2, format: 3, pixels: pixels)
        let info = try ImageEngine.inspect(file)
        #expect(info.hasFloats && info.bitsPerChannel == 8)
        #expect(try ImageEngine.decode(file, keeping: .all).bitsPerChannel == 8)
        let usual = try ImageEngine.inspect(try Pictures.file(.tiff))
        #expect(!usual.hasFloats)
    }
}
