import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Compresses texts for clients that accept it.
///
/// Pictures are compressed already. Streams of events have no known length and must arrive at once,
/// so they stay as they are. The page's own files bring their compressed form.
struct CompressionMiddleware: RouterMiddleware {
    typealias Context = GalleryRequestContext

    /// Smaller responses fit into one packet anyway.
    private static let minimumLength = 1_000
    private static let maximumLength = 32 << 20
    private static let mediaTypes: Set<Substring> = [
        "application/json", "text/plain", "text/html", "text/css", "text/javascript",
        "image/svg+xml",
    ]
    /// Lists of numbers are long, and higher levels take several times as long for a tenth less.
    private static let level: Int32 = 4

    func handle(
        _ request: Request, context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        let mediaType = response.headers[.contentType]?.prefix { $0 != ";" } ?? ""
        guard Self.mediaTypes.contains(mediaType), response.headers[.contentEncoding] == nil,
            response.headers[.acceptRanges] == nil, let length = response.body.contentLength,
            (Self.minimumLength...Self.maximumLength).contains(length)
        else { return response }
        response.headers[.vary] = "Accept-Encoding"
        guard Gzip.isAccepted(by: request.headers[.acceptEncoding]) else { return response }
        let collected = CollectedBody()
        try await response.body.write(collected)
        let plain = collected.buffer
        let bytes = plain.withUnsafeReadableBytes { Gzip.compressed($0, level: Self.level) }
        if let bytes {
            response.headers[.contentEncoding] = "gzip"
            response.body = ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        } else {
            response.body = ResponseBody(byteBuffer: plain)
        }
        return response
    }
}

/// Collects the parts of a response.
private final class CollectedBody: ResponseBodyWriter {
    private let parts = Mutex(ByteBuffer())

    var buffer: ByteBuffer { parts.withLock { $0 } }

    func write(_ buffer: ByteBuffer) {
        parts.withLock { parts in
            var buffer = buffer
            parts.writeBuffer(&buffer)
        }
    }

    func finish(_ trailingHeaders: HTTPFields?) {}
}
