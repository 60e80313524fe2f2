import Landscapes
import OperationsTestSupport

@testable import DemoOrigin

/// Returns the raw pixels: a file format without an encoder.
struct RawPhotos: PhotoEncoding {
    func encoded(_ picture: Landscape) throws -> [UInt8] { picture.rgb() }
}

/// Waits in each rendering until the test releases it.
struct HeldPhotos: PhotoEncoding {
    let begun = Signal()
    let released = Signal()
    let count = Tally()

    func encoded(_ picture: Landscape) throws -> [UInt8] {
        count.increment()
        begun.send()
        released.wait()
        return [UInt8(picture.index)]
    }
}

/// Runs an origin for the duration of a closure.
func withOrigin(
    _ configuration: DemoOriginServer.Configuration = .quick,
    encoding: any PhotoEncoding = RawPhotos(),
    _ body: (DemoOriginServer) async throws -> Void
) async throws {
    try await withDemoOrigin(configuration, encoding: encoding, body)
}
