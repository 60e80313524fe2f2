import OperationsTestSupport
import PhotoImaging
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

@Suite(.ownThreads, .timeLimit(.minutes(15))) struct PhotoFailureFlagTests {
    /// Other programs have other options, so the library's own sentences name none.
    @Test(arguments: [
        (ImagingError.decodeFailed(detail: "it ends too early"), "--accept-damaged"),
        (.tooLarge(size: PixelSize(width: 9, height: 9), limit: "80 pixels"), "--max-pixels"),
        (.formatNotAllowed(.heif, allowed: [.jpeg]), "--allow-format heif"),
        (.formatNotAllowed(.raw, allowed: [.jpeg]), "--allow-format raw"),
        (.formatNotAllowed(.tiff, allowed: [.jpeg]), ""),
        (.emptyInput, ""),
    ])
    func flagIsNamedForProgramOnly(error: ImagingError, flag: String) throws {
        let stop = #expect(throws: PhotoStageStop.self) {
            try pixelStage(.decode) { () throws(ImagingError) in throw error }
        }
        guard case .failed(let failure) = stop else {
            Issue.record("not a failure: \(String(describing: stop))")
            return
        }
        #expect(!failure.reason.contains("--"))
        #expect(failure.reasonWithFlag.hasPrefix(failure.reason))
        #expect(failure.reasonWithFlag.contains(flag) || flag.isEmpty)
        #expect(flag.isEmpty == (failure.reasonWithFlag == failure.reason))
    }
}
