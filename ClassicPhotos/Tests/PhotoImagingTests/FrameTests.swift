import OperationsTestSupport
import PhotoImaging
import Testing

/// Animations and documents with several pages.
@Suite(.ownThreads) struct FrameTests {
    private static let grays: [UInt8] = [20, 120, 220]

    @Test func headerCountsFrames() throws {
        #expect(try ImageEngine.inspect(SmallGIF.file(Self.grays)).frames == 3)
        #expect(try ImageEngine.inspect(SmallTIFF.file(Self.grays)).frames == 3)
        let still = try Pictures.file(.png)
        #expect(try ImageEngine.inspect(still).frames == 1)
        let control = HostileFiles.bigEndian(7) + HostileFiles.bigEndian(0)
        let animated = PNGChunks.inserting("acTL", control, into: still)
        #expect(try ImageEngine.inspect(animated).frames == 7)
    }

    @Test func framesAreKeptOnlyOnRequest() throws {
        for file in [SmallGIF.file(Self.grays), SmallTIFF.file(Self.grays)] {
            #expect(try ImageEngine.decode(file).frames == 1)
            let all = try ImageEngine.decode(file, keeping: .frames)
            #expect(all.frames == 3 && all.size == PixelSize(width: 16, height: 8))
            #expect(all.byteCount == 3 * 16 * 8 * 3)
            let pixels = all.pixels()
            for (frame, gray) in Self.grays.enumerated() {
                #expect(Set(pixels[frame * 384..<(frame + 1) * 384]) == [gray])
            }
        }
    }

    @Test(arguments: [ImageFormat.gif, .webp, .tiff], ["gif", "tiff"])
    func allFramesAreWritten(format: ImageFormat, source: String) throws {
        let file = source == "gif" ? SmallGIF.file(Self.grays) : SmallTIFF.file(Self.grays)
        let bitmap = try ImageEngine.decode(file, keeping: .all)
        let written = try ImageEngine.encode(bitmap, as: format, quality: 95).bytes
        #expect(try ImageEngine.inspect(written).frames == 3)
        let again = try ImageEngine.decode(written, keeping: .frames)
        #expect(again.frames == 3 && again.size == bitmap.size)
        let pixels = again.pixels()
        for (frame, gray) in Self.grays.enumerated() {
            #expect(abs(Int(pixels[frame * 384 + 100]) - Int(gray)) <= 8)
        }
    }

    @Test(arguments: [ImageFormat.jpeg, .png])
    func otherFormatsGetFirstFrame(format: ImageFormat) throws {
        let bitmap = try ImageEngine.decode(SmallGIF.file(Self.grays), keeping: .all)
        let written = try ImageEngine.encode(bitmap, as: format, quality: 95).bytes
        let again = try ImageEngine.decode(written)
        #expect(again.size == bitmap.size)
        #expect(abs(Int(again.pixel(5, 5)[0]) - 20) <= 2)
    }

    @Test func durationsAreKept() throws {
        let durations = [10, 25, 300]
        let file = SmallGIF.file(Self.grays, hundredths: durations)
        let bitmap = try ImageEngine.decode(file, keeping: .all)
        let written = try ImageEngine.encode(bitmap, as: .gif).bytes
        #expect(SmallGIF.hundredths(in: written) == durations)
    }

    @Test(arguments: ImageFilter.Kind.allCases)
    func everyFrameIsFilteredByItself(kind: ImageFilter.Kind) throws {
        let all = try ImageEngine.decode(SmallGIF.file(Self.grays), keeping: .frames)
        let filtered = try ImageEngine.apply([ImageFilter(kind)], to: all)
        #expect(filtered.frames == 3)
        let pixels = filtered.pixels()
        for (frame, gray) in Self.grays.enumerated() {
            let single = try Pictures.plain(gray, gray, gray, size: all.size)
            let expected = try ImageEngine.apply([ImageFilter(kind)], to: single).pixels()
            #expect(Array(pixels[frame * 384..<(frame + 1) * 384]) == expected)
        }
    }

    @Test func framesAreShrunkTogether() throws {
        let box = PixelSize(width: 8, height: 8)
        for file in [SmallGIF.file(Self.grays), SmallTIFF.file(Self.grays)] {
            let small = try ImageEngine.decode(file, fitting: box, keeping: .frames)
            #expect(small.frames == 3 && small.size == PixelSize(width: 8, height: 4))
            // The filter that shrinks a frame reads a little of its neighbors.
            #expect(abs(Int(small.pixels()[8 * 4 * 3 + 50]) - 120) <= 4)
        }
    }

    @Test func pagesAreTurnedUpright() throws {
        let file = SmallTIFF.file(Self.grays, orientation: 6)
        let all = try ImageEngine.decode(file, keeping: .frames)
        #expect(all.frames == 3 && all.size == PixelSize(width: 8, height: 16))
        #expect(Set(all.pixels()[384..<768]) == [120])
    }

    @Test func pagesOfDifferentSizesAreReducedToFirst() throws {
        let file = SmallTIFF.file(Self.grays, lastWidth: 9)
        #expect(try ImageEngine.inspect(file).frames == 3)
        #expect(try ImageEngine.decode(file, keeping: .all).frames == 1)
    }

    @Test func tooManyFramesThrow() throws {
        var limits = ImageLimits.standard
        limits.maximumPixels = 2 * 16 * 8
        let file = SmallGIF.file(Self.grays)
        let size = PixelSize(width: 16, height: 8)
        let error = ImagingError.tooManyFrames(3, size: size, limit: "256 pixels")
        #expect(throws: error) {
            try ImageEngine.decode(file, keeping: .frames, limits: limits)
        }
        #expect(try ImageEngine.decode(file, limits: limits).frames == 1)
        // The limit is about the decoded size.
        let box = PixelSize(width: 8, height: 8)
        let small = try ImageEngine.decode(file, fitting: box, keeping: .frames, limits: limits)
        #expect(small.frames == 3)
    }
}
