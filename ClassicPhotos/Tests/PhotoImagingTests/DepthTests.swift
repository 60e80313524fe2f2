import Foundation
import OperationsTestSupport
import PhotoImaging
import Testing

/// Pictures with 16 bits per channel.
@Suite(.ownThreads) struct DepthTests {
    @Test(arguments: [ImageFormat.png, .tiff], [false, true])
    func losslessFormatsKeepEverySample(format: ImageFormat, hasAlpha: Bool) throws {
        let picture = try Pictures.deep(width: 300, height: 20, hasAlpha: hasAlpha)
        let file = try ImageEngine.encode(picture, as: format)
        #expect(try ImageEngine.inspect(file.bytes).bitsPerChannel == 16)
        let decoded = try ImageEngine.decode(file.bytes, keeping: .depth)
        #expect(decoded.bitsPerChannel == 16 && decoded.hasAlpha == hasAlpha)
        #expect(decoded.samples() == picture.samples())
    }

    @Test func depthIsKeptOnlyOnRequest() throws {
        let file = try ImageEngine.encode(Pictures.deep(width: 30, height: 20), as: .png)
        #expect(try ImageEngine.decode(file.bytes).bitsPerChannel == 8)
    }

    @Test(arguments: [ImageFormat.jpeg, .webp, .gif])
    func otherFormatsGetNearestLevels(format: ImageFormat) throws {
        let gray = [UInt16](repeating: 0x8123, count: 64 * 64 * 3)
        let picture = try Bitmap(size: PixelSize(width: 64, height: 64), samples: gray)
        let file = try ImageEngine.encode(picture, as: format, quality: 100)
        let decoded = try ImageEngine.decode(file.bytes)
        #expect(largestDifference(decoded.pixel(9, 9), [0x81, 0x81, 0x81]) <= 2)
    }

    @Test(arguments: [false, true])
    func shrunkPictureKeepsDepth(hasAlpha: Bool) throws {
        let picture = try Pictures.deep(width: 400, height: 300, hasAlpha: hasAlpha)
        let file = try ImageEngine.encode(picture, as: .png)
        let box = PixelSize(width: 100, height: 100)
        let deep = try ImageEngine.decode(file.bytes, fitting: box, keeping: .depth)
        let shallow = try ImageEngine.decode(file.bytes, fitting: box)
        #expect(deep.bitsPerChannel == 16 && deep.size == PixelSize(width: 100, height: 75))
        #expect(deep.size == shallow.size && deep.hasAlpha == hasAlpha)
        // Nearly transparent colors are imprecise in 8 bits.
        let rows = shallow.size.width * (hasAlpha ? 4 : 3) * (hasAlpha ? 30 : 0)
        let difference = largestDifference(
            Array(deep.reduced()[rows...]), Array(shallow.pixels()[rows...]))
        #expect(difference <= 3)
    }

    @Test func colorProfileIsAppliedIn16Bits() throws {
        // Display P3's primaries, adapted to D50.
        let profile = Profiles.display(
            red: [0.5151, 0.2412, -0.0011], green: [0.2920, 0.6922, 0.0419],
            blue: [0.1571, 0.0666, 0.7841])
        let color: [UInt16] = [50_000, 30_000, 20_000]
        let samples = Array(repeating: color, count: 64).flatMap(\.self)
        let plain = try Bitmap(size: PixelSize(width: 8, height: 8), samples: samples)
        let file = PNGChunks.inserting(
            profile: profile, into: try ImageEngine.encode(plain, as: .png).bytes)
        let deep = try ImageEngine.decode(file, keeping: .depth)
        let shallow = try ImageEngine.decode(file)
        #expect(deep.bitsPerChannel == 16)
        #expect(abs(Int(deep.samples()[0]) - 50_000) > 1000, "The profile changes the color.")
        #expect(largestDifference(deep.reduced(), shallow.pixels()) <= 2)
    }

    @Test(arguments: ImageFilter.Kind.allCases, [false, true])
    func everyFilterMatchesItsResultIn8Bits(kind: ImageFilter.Kind, hasAlpha: Bool) throws {
        let deep = try Pictures.deep(width: 120, height: 90, hasAlpha: hasAlpha)
        let shallow = try Bitmap(size: deep.size, pixels: deep.reduced(), hasAlpha: hasAlpha)
        let deepResult = try ImageEngine.apply([ImageFilter(kind)], to: deep)
        let shallowResult = try ImageEngine.apply([ImageFilter(kind)], to: shallow)
        #expect(deepResult.bitsPerChannel == 16)
        #expect(Set(deepResult.samples()).count > 300, "More levels than 8 bits have.")
        // In 8 bits, nearly transparent colors are imprecise, sharpening amplifies rounding, and
        // sepia spreads the darkest levels.
        let rows = hasAlpha ? 120 * 4 * 60 : 0
        let difference = largestDifference(
            Array(deepResult.reduced()[rows...]), Array(shallowResult.pixels()[rows...]))
        #expect(difference <= 6)
    }

    @Test(arguments: [1, 0.8, 0.3])
    func sepiaIsExactTo16Bits(intensity: Double) throws {
        let picture = try Pictures.deep(width: 200, height: 60)
        let result = try ImageEngine.apply([.sepia(intensity: intensity)], to: picture).samples()
        let samples = picture.samples()
        var largest = 0.0
        for start in stride(from: 0, to: samples.count, by: 3) {
            let color = samples[start..<start + 3].map { Double($0) / 65_535 }
            let expected = SepiaReference.apply(color, intensity: intensity)
            for channel in 0..<3 {
                largest = max(
                    largest, abs(Double(result[start + channel]) - expected[channel] * 65_535))
            }
        }
        // A level of 8 bits has 257 of these.
        #expect(largest < 4, "\(largest)")
    }

    @Test func strengthZeroIsIdentity() throws {
        let picture = try Pictures.deep(width: 90, height: 60)
        for filter in [ImageFilter.chrome(intensity: 0), .vignette(amount: 0), .blur(radius: 0)] {
            let result = try ImageEngine.apply([filter], to: picture).samples()
            let difference = zip(result, picture.samples()).map { abs(Int($0) - Int($1)) }.max()
            #expect(difference ?? 0 <= 1, "\(filter)")
        }
    }
}
