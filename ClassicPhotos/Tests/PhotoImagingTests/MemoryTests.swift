import OperationsTestSupport
import PhotoImaging
import Testing

@Suite(.ownThreads) struct MemoryTests {
    @Test func lineByLineFormatsBufferNothing() throws {
        for format in [ImageFormat.jpeg, .png] {
            #expect(try ImageEngine.inspect(Pictures.file(format)).bufferedBytes == 0)
        }
    }

    /// 96 × 64 pixels with chroma at half the resolution: 12 × 8 blocks and twice 6 × 4 blocks, 128
    /// bytes per block.
    @Test func progressiveJPEGBuffersCoefficients() throws {
        let info = try ImageEngine.inspect(SmallJPEGs.progressive)
        let coefficients = (12 * 8 + 2 * 6 * 4) * 128
        #expect(info.isProgressive && info.bufferedBytes >= coefficients)
    }

    @Test func largeProgressiveJPEGIsEstimatedClosely() throws {
        let limits = ImageLimits(maximumProgressivePixels: .max)
        let header = HostileFiles.jpeg(width: 6000, height: 4000, progressive: true)
        let bytes = try ImageEngine.inspect(header, limits: limits).bufferedBytes
        // All three components at full resolution, 2 bytes per sample.
        #expect((144_000_000...147_000_000).contains(bytes))
    }

    @Test func interlacedPNGBuffersPixels() throws {
        let header = HostileFiles.png(
            width: 3000, height: 2000, bitDepth: 16, colorType: 6, interlaced: true)
        #expect(try ImageEngine.inspect(header).bufferedBytes == 3000 * 2000 * 8)
    }

    @Test func shrinkingReducesBitmapButNotBuffer() {
        let size = PixelSize(width: 8000, height: 6000)
        let info = ImageInfo(format: .jpeg, size: size, bufferedBytes: 150_000_000)
        let full = ImageEngine.memoryToDecode(info, fitting: nil)
        let small = ImageEngine.memoryToDecode(info, fitting: PixelSize(width: 320, height: 320))
        #expect(full - small > 140_000_000 && small > 150_000_000 && small < 180_000_000)
    }

    @Test func filterEstimateIncludesExtraBuffers() {
        let size = PixelSize(width: 4000, height: 3000)
        func memory(_ filters: [ImageFilter]) -> Int {
            ImageEngine.memoryToApply(filters, to: BitmapShape(size))
        }
        #expect(memory([]) == 0)
        #expect(memory([.sepia()]) >= 36_000_000)
        #expect(memory([.sepia(), .blur()]) >= 3 * 36_000_000)
        #expect(memory([.tiltShift()]) > memory([.blur()]))
        let shape = BitmapShape(size)
        #expect(ImageEngine.memoryToApply([.sepia()], to: shape, inPlace: true) < 5_000_000)
    }

    @Test(arguments: ImageFormat.allCases)
    func estimatesOfHugeHeadersDoNotOverflow(format: ImageFormat) {
        let size = PixelSize(width: .max, height: .max)
        let info = ImageInfo(format: format, size: size, hasAlpha: true, bufferedBytes: .max)
        #expect(ImageEngine.memoryToDecode(info, fitting: nil) > 1 << 50)
        #expect(ImageEngine.memoryToEncode(BitmapShape(size, hasAlpha: true), as: format) > 1 << 50)
        #expect(
            ImageEngine.memoryToApply([.blur()], to: BitmapShape(size, hasAlpha: true)) > 1 << 50)
    }

    @Test func shrunkSizeIsAtLeastDecodedSize() throws {
        for (width, height) in [(600, 300), (333, 217), (2000, 2), (40, 30)] {
            let file = try Pictures.file(.png, width: width, height: height)
            let box = PixelSize(width: 100, height: 90)
            let decoded = try ImageEngine.decode(file, fitting: box).size
            let estimate = PixelSize(width: width, height: height).shrunk(toFit: box)
            #expect(estimate.width >= decoded.width && estimate.width <= decoded.width + 1)
            #expect(estimate.height >= decoded.height && estimate.height <= decoded.height + 1)
        }
    }
}
