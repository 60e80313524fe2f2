import Landscapes
import OperationsTestSupport
import PhotoImaging
import Testing

@testable import DemoOrigin

@Suite(.ownThreads)
struct JPEGPhotosTests {
    private let picture = Landscape(index: 2, longestSide: 64)

    @Test func encodedPictureIsJPEGOfItsSize() throws {
        let file = try JPEGPhotos().encoded(picture)
        let info = try ImageEngine.inspect(file)
        #expect(info.format == .jpeg)
        #expect(info.size == PixelSize(width: picture.width, height: picture.height))
    }

    @Test func hugeHeaderIsRejectedForItsSize() {
        let error = #expect(throws: ImagingError.self) {
            try ImageEngine.inspect(BrokenFiles.hugeHeader)
        }
        guard case .tooLarge(let size, _) = error else {
            Issue.record("unexpected error: \(String(describing: error))")
            return
        }
        #expect(size == PixelSize(width: 50_000, height: 50_000))
    }

    @Test func everyBrokenFileFailsToDecode() throws {
        let file = try JPEGPhotos().encoded(picture)
        let broken = [
            BrokenFiles.htmlPage, [], BrokenFiles.noise(seed: 4), BrokenFiles.truncated(file),
        ]
        for bytes in broken {
            #expect(throws: ImagingError.self) { try ImageEngine.decode(bytes) }
        }
    }
}
