import OperationsTestSupport
import Testing

@testable import PhotoImaging

@Suite(.ownThreads) struct HeaderTests {
    private func jpeg(width: Int = 16, height: Int = 16) throws -> [UInt8] {
        let pixels = (0..<width * height * 3).map {
            UInt8(truncatingIfNeeded: $0 &* 2_654_435 >> 7)
        }
        let bitmap = try Bitmap(size: PixelSize(width: width, height: height), pixels: pixels)
        return try ImageEngine.encode(bitmap, as: .jpeg, quality: 95).bytes
    }

    @Test func partsOfHeaderAreRead() throws {
        let plain = try jpeg()
        let packet = "<rdf:Description xmp:Rating='3'/>"
        let file = JPEGSegments.inserting(
            JPEGSegments.xmp(packet),
            into: JPEGSegments.inserting(
                JPEGSegments.exif(orientation: 6, make: "Camera", thumbnail: "small"), into: plain))
        let header = try ImageEngine.header(of: file)
        #expect(header.info == (try ImageEngine.inspect(file)))
        #expect(header.info.orientation == 6 && header.fields.camera == "Camera")
        #expect(header.xmp == Array(packet.utf8))
        #expect(header.thumbnail == Array("small".utf8))
        let bare = try ImageEngine.header(of: plain)
        #expect(bare.xmp == nil && bare.thumbnail == nil && bare.fields == ExifFields())
    }

    /// The beginning of a file is enough, and the limits hold.
    @Test func beginningOfFileIsEnough() throws {
        let file = JPEGSegments.inserting(
            JPEGSegments.xmp("<a/>"), into: try jpeg(width: 300, height: 200))
        let header = try ImageEngine.header(of: Array(file.prefix(4_096)))
        #expect(header.info.size == PixelSize(width: 300, height: 200))
        #expect(header.xmp == Array("<a/>".utf8))
        #expect(throws: ImagingError.self) {
            try ImageEngine.header(of: file, limits: ImageLimits(maximumPixels: 1_000))
        }
        #expect(throws: ImagingError.self) { try ImageEngine.header(of: Array("text".utf8)) }
    }
}
