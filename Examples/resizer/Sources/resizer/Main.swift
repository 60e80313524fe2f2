// A server that makes small copies of pictures.
//
// usage: resizer [port]

import Hummingbird
import Operations
import PhotoImaging

@main
struct Main {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count <= 1, let port = Int(arguments.first ?? "8080") else {
            print("usage: resizer [port]")
            return
        }
        // Without libvips this fails at the start, and not with the first upload.
        try ImageEngine.prepare()
        let application = Application(
            router: router(Resizer()), configuration: .init(address: .hostname(port: port)))
        try await application.runService()
    }
}

/// Makes the one route: `POST /resize?width=320&height=320` with a picture as the body.
func router(_ resizer: Resizer) -> Router<BasicRequestContext> {
    let router = Router()
    router.post("resize") { request, _ in
        let width = try request.uri.queryParameters.require("width", as: Int.self)
        let height = try request.uri.queryParameters.require("height", as: Int.self)
        guard (1...4096).contains(width), (1...4096).contains(height) else {
            throw HTTPError(.badRequest, message: "a side can be 1 to 4096")
        }
        // A longer body is refused with 413 before it is in memory.
        let body = try await request.body.collect(upTo: 20 << 20)
        do {
            let copy = try await resizer.resize(
                Array(buffer: body), toFit: PixelSize(width: width, height: height), as: .webp)
            return Response(
                status: .ok, headers: [.contentType: copy.format.mediaType],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: copy.bytes)))
        } catch let error as ImagingError {
            throw HTTPError(.unprocessableContent, message: error.description)
        } catch is OperationDeadlineExceeded, Resizer.Refusal.busy {
            throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "10"])
        }
    }
    return router
}
