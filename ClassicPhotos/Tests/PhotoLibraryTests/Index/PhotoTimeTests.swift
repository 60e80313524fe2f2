import OperationsTestSupport
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

@Suite(.ownThreads) struct PhotoTimeTests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00", 0, nil), ("2000-02-29T12:00:00", 951_825_600, nil),
            ("2026-11-23T01:02:03+01:00", 1_795_395_723, 60), ("1969-12-31T23:59:59Z", -1, 0),
            ("1970-01-01T00:00:01-09:30", 1, -570), ("1970-01-01T00:00:00+99:00", 0, nil),
            ("1970-01-01T00:00:00.25", 0, nil),
        ] as [(String, Int, Int?)])
    func timesAreSecondsOfTheCamera(text: String, seconds: Int, offset: Int?) {
        #expect(PhotoTime(text) == PhotoTime(seconds: seconds, offset: offset))
    }

    @Test(arguments: ["", "yesterday", "2015-04-14", "2015-04-14T18:21"])
    func otherTextsAreNoTimes(text: String) { #expect(PhotoTime(text) == nil) }
}
