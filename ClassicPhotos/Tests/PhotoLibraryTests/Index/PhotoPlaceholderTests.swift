import OperationsTestSupport
import PhotoImaging
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

@Suite(.ownThreads) struct PhotoPlaceholderTests {
    /// A stored picture of 8 × 6 pixels whose upper left cell is red, on black.
    private func picture(width: Int = 8, height: Int = 6, bar: Int = 0) throws -> Bitmap {
        var pixels = [UInt8](repeating: 0, count: width * height * 3)
        for y in 0..<height {
            for x in 0..<width where x < width / 4 && (bar..<(bar + (height - 2 * bar) / 3)) ~= y {
                pixels[(y * width + x) * 3] = 255
            }
        }
        return try Bitmap(size: PixelSize(width: width, height: height), pixels: pixels)
    }

    /// The cells that are red.
    private func red(_ placeholder: PhotoPlaceholder?) throws -> [Int] {
        let colors = try #require(placeholder).colors
        #expect(colors.count == 12)
        return colors.indices.filter { colors[$0] == 0xFF0000 }
    }

    @Test(arguments: [(1, 0), (2, 3), (3, 11), (4, 8)])
    func orientationTurnsTheCells(orientation: Int, cell: Int) throws {
        let shape = PixelSize(width: 4_000, height: 3_000)
        #expect(
            try red(PhotoPlaceholder(try picture(), orientation: orientation, shape: shape))
                == [cell])
    }

    /// The red corner of 2 × 2 pixels is a third of the upright width and a quarter of its height,
    /// which the cells divide otherwise.
    @Test(arguments: [(5, 0), (6, 3), (7, 11), (8, 8)])
    func quarterTurnsAreTurned(orientation: Int, cell: Int) throws {
        let shape = PixelSize(width: 3_000, height: 4_000)
        let placeholder = try #require(
            PhotoPlaceholder(try picture(), orientation: orientation, shape: shape))
        let reds = placeholder.colors.map { $0 >> 16 }
        #expect(reds.firstIndex(of: reds.max() ?? 0) == cell)
    }

    @Test func barsAroundThePhotoAreLeftOut() throws {
        // A photo of 16:9 in a small picture of 4:3 has bars of an eighth of the height.
        let bitmap = try picture(width: 16, height: 12, bar: 1)
        let shape = PixelSize(width: 1_600, height: 1_000)
        #expect(try red(PhotoPlaceholder(bitmap, shape: shape)).first == 0)
    }

    @Test func colorsAreCloseToThePicture() throws {
        let pixels =
            [UInt8](repeating: 0, count: 0) + (0..<64 * 48).flatMap { _ in [200, 100, 50] }
        let bitmap = try Bitmap(size: PixelSize(width: 64, height: 48), pixels: pixels)
        let placeholder = try #require(
            PhotoPlaceholder(bitmap, shape: PixelSize(width: 64, height: 48)))
        for shift in [16, 8, 0] as [UInt32] {
            let (wanted, color) = (
                Int(0xC86432 >> shift & 255), Int(placeholder.color >> shift & 255)
            )
            #expect(abs(color - wanted) <= 5)
        }
        // One pixel has all cells.
        let point = try Bitmap(size: PixelSize(width: 1, height: 1), pixels: [255, 255, 255])
        let white = PhotoPlaceholder(point, shape: PixelSize(width: 9, height: 1))
        #expect(white?.colors == Array(repeating: 0xFFFFFF, count: 12))
    }
}
