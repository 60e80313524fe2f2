import Foundation
import OperationsTestSupport
import PhotoImaging
import Testing

@Suite(.ownThreads) struct FilterTests {
    /// All kinds of filters; each kind, with its defaults, changes a colorful picture.
    private static let everyFilter = ImageFilter.Kind.allCases

    @Test(arguments: everyFilter)
    func everyFilterChangesPixelsButNotSize(kind: ImageFilter.Kind) throws {
        let picture = try Pictures.colorful(width: 300, height: 200)
        let result = try ImageEngine.apply([ImageFilter(kind)], to: picture)
        #expect(result.size == picture.size)
        #expect(result.pixels() != picture.pixels())
    }

    @Test(arguments: everyFilter.filter { $0.definition.parameters.first?.range.lowerBound == 0 })
    func strengthZeroIsIdentity(kind: ImageFilter.Kind) throws {
        guard kind != .tiltShift, let name = kind.definition.parameters.first?.name else { return }
        let picture = try Pictures.colorful(width: 90, height: 60)
        let result = try ImageEngine.apply([ImageFilter(kind, [name: 0])], to: picture)
        #expect(result.pixels() == picture.pixels())
    }

    @Test(arguments: everyFilter)
    func colorFiltersPreserveTransparency(kind: ImageFilter.Kind) throws {
        guard kind != .blur, kind != .tiltShift else { return }
        let pixels: [UInt8] = [200, 100, 50, 0, 200, 100, 50, 128, 200, 100, 50, 255]
        let picture = try Bitmap(
            size: PixelSize(width: 3, height: 1), pixels: pixels, hasAlpha: true)
        let result = try ImageEngine.apply([ImageFilter(kind)], to: picture)
        #expect(result.hasAlpha)
        #expect((0..<3).map { result.pixel($0, 0)[3] } == [0, 128, 255])
    }

    @Test func blurIgnoresColorOfTransparentPixels() throws {
        let green: [UInt8] = [0, 255, 0, 0]
        let red: [UInt8] = [255, 0, 0, 255]
        let row = Array(repeating: green, count: 50) + Array(repeating: red, count: 50)
        let pixels = Array(repeating: row.flatMap(\.self), count: 20).flatMap(\.self)
        let picture = try Bitmap(
            size: PixelSize(width: 100, height: 20), pixels: pixels, hasAlpha: true)
        let result = try ImageEngine.apply([.blur(radius: 20)], to: picture)
        let edge = result.pixel(50, 10)
        #expect(edge[3] > 100 && edge[3] < 200)
        #expect(edge[0] > 240 && edge[1] < 15)
    }

    /// The address of a bitmap's pixels.
    private func address(_ bitmap: Bitmap) -> UInt {
        bitmap.withPixels { UInt(bitPattern: $0.baseAddress) }
    }

    /// Makes a bitmap that the caller alone holds, and tells where its pixels are.
    private func unshared() throws -> (Bitmap, UInt) {
        let bitmap = try Pictures.colorful(width: 300, height: 200)
        return (bitmap, address(bitmap))
    }

    @Test(arguments: everyFilter)
    func bitmapThatNobodyElseHoldsIsFilteredInPlace(kind: ImageFilter.Kind) throws {
        let shared = try Pictures.colorful(width: 300, height: 200)
        let before = shared.pixels()
        let copied = try ImageEngine.apply([ImageFilter(kind), .sepia()], to: shared)
        #expect(shared.pixels() == before && address(copied) != address(shared))

        func filtered() throws -> (Bitmap, UInt) {
            let (bitmap, place) = try unshared()
            return (
                try ImageEngine.apply([ImageFilter(kind), .sepia()], to: consume bitmap), place
            )
        }
        let (result, place) = try filtered()
        #expect(result.pixels() == copied.pixels())
        // A blur makes a new picture; other steps stay where they are.
        if kind == .sepia || kind == .noir || kind == .vignette {
            #expect(address(result) == place)
        }
    }

    @Test func cancelledFilterReleasesBitmap() throws {
        let cancellation = ImagingCancellation()
        cancellation.cancel()
        #expect(throws: ImagingError.cancelled) {
            try ImageEngine.apply([.sepia()], to: unshared().0, cancellation: cancellation)
        }
    }

    @Test func noFiltersReturnSameBitmap() throws {
        let picture = try Pictures.colorful(width: 10, height: 10)
        #expect(try ImageEngine.apply([], to: picture) === picture)
    }

    @Test func filtersApplyInOrder() throws {
        let picture = try Pictures.colorful(width: 60, height: 40)
        let both = try ImageEngine.apply([.noir(), .sepia(intensity: 1)], to: picture)
        let first = try ImageEngine.apply([.noir()], to: picture)
        let second = try ImageEngine.apply([.sepia(intensity: 1)], to: first)
        #expect(both.pixels() == second.pixels())
    }

    @Test(arguments: [ImageFilter.monochrome(), .noir(), .tonal()])
    func grayFiltersProduceGray(filter: ImageFilter) throws {
        let picture = try Pictures.colorful(width: 64, height: 64)
        let pixels = try ImageEngine.apply([filter], to: picture).pixels()
        for at in stride(from: 0, to: pixels.count, by: 3) {
            #expect(pixels[at] == pixels[at + 1] && pixels[at] == pixels[at + 2])
        }
    }

    @Test func tiltShiftBlursOnlyOutsideBand() throws {
        let picture = try Pictures.halves(width: 300, height: 200)
        let result = try ImageEngine.apply(
            [.tiltShift(center: 0.25, band: 0.2, transition: 0.2, radius: 10)], to: picture)
        // At the edge, the band has no mixed colors; the rows outside the band have some.
        #expect(result.pixel(149, 50) == [255, 0, 0])
        #expect(result.pixel(150, 50) == [0, 0, 255])
        #expect((60...200).contains(result.pixel(149, 190)[0]))
        #expect((60...200).contains(result.pixel(149, 120)[0]))
    }

    @Test func vignetteDarkensOnlyCorners() throws {
        let white = try Pictures.plain(255, 255, 255, size: PixelSize(width: 200, height: 100))
        let result = try ImageEngine.apply([.vignette(amount: 0.5, start: 0.3)], to: white)
        #expect(result.pixel(100, 50) == [255, 255, 255])
        #expect(largestDifference(result.pixel(0, 0), [128, 128, 128]) <= 1)
        #expect(result.pixel(0, 0) == result.pixel(199, 99))
    }

    @Test func sharpenChangesOnlyEdges() throws {
        let size = PixelSize(width: 400, height: 40)
        let row = (0..<400).flatMap { [UInt8](repeating: $0 < 200 ? 100 : 150, count: 3) }
        let picture = try Bitmap(
            size: size, pixels: Array(repeating: row, count: 40).flatMap(\.self))
        let result = try ImageEngine.apply([.sharpen(amount: 2, radius: 5)], to: picture)
        #expect(result.pixel(199, 20)[0] < 100)
        #expect(result.pixel(200, 20)[0] > 150)
        #expect(result.pixel(20, 20) == [100, 100, 100])
    }

    @Test(arguments: [ImageFilter.blur(radius: 10), .tiltShift(), .vignette(), .blur(radius: 50)])
    func filteredThumbnailMatchesFullPicture(filter: ImageFilter) throws {
        let full = try Pictures.halves(width: 1600, height: 1200)
        let thumbnail = try Pictures.halves(width: 200, height: 150)
        let filteredFull = try ImageEngine.apply([filter], to: full)
        let file = try ImageEngine.encode(filteredFull, as: .png).bytes
        let shrunk = try ImageEngine.decode(file, fitting: thumbnail.size)
        let filtered = try ImageEngine.apply([filter], to: thumbnail)
        #expect(shrunk.size == filtered.size)
        #expect(largestDifference(shrunk.pixels(), filtered.pixels()) <= 24)
    }

    @Test(arguments: [1, 3, 7, 13, 20, 50] as [Double])
    func blurKeepsUniformColor(radius: Double) throws {
        let plain = try Pictures.plain(90, 140, 200, size: PixelSize(width: 301, height: 173))
        let result = try ImageEngine.apply([.blur(radius: radius)], to: plain)
        #expect(result.pixels() == plain.pixels())
    }

    /// A step blurred by a Gaussian is the integral of the Gaussian. Both implementations of the
    /// blur must give this result.
    @Test(arguments: [2, 6, 10, 30] as [Double])
    func blurOfEdgeIsGaussianIntegral(radius: Double) throws {
        let picture = try Pictures.halves(width: 1000, height: 60)
        let result = try ImageEngine.apply([.blur(radius: radius)], to: picture)
        for x in stride(from: 400, to: 600, by: 5) {
            let expected = 127.5 * erfc((Double(x) + 0.5 - 500) / (radius * 2.0.squareRoot()))
            #expect(abs(Double(result.pixel(x, 30)[0]) - expected) <= 3)
        }
    }

    @Test(arguments: [1, 2, 7])
    func everyFilterHandlesTinyPictures(side: Int) throws {
        let picture = try Pictures.colorful(width: side, height: 1)
        for kind in Self.everyFilter {
            #expect(try ImageEngine.apply([ImageFilter(kind)], to: picture).size == picture.size)
        }
    }
}
