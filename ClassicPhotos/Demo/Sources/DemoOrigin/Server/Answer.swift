import Hummingbird
import NIOCore

/// The responses of the origin.
enum Answer {
    /// Aborts a response body, so that the server closes the connection.
    struct ConnectionAborted: Error {}

    static func file(_ bytes: ByteBuffer, type: String = "image/jpeg") -> Response {
        Response(
            status: .ok, headers: [.contentType: type], body: ResponseBody(byteBuffer: bytes))
    }

    static func text(_ status: HTTPResponse.Status, _ text: String) -> Response {
        Response(
            status: status, headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    static func redirect(to path: String) -> Response {
        Response(status: .found, headers: [.location: path])
    }

    /// A file that stops after the first bytes, followed by a closed connection.
    static func cut(_ file: ByteBuffer, after count: Int) -> Response {
        let body = ResponseBody(contentLength: file.readableBytes) { writer in
            let part = file.getSlice(
                at: file.readerIndex, length: min(max(count, 0), file.readableBytes))
            if let part, part.readableBytes > 0 { try await writer.write(part) }
            throw ConnectionAborted()
        }
        return Response(status: .ok, headers: [.contentType: "image/jpeg"], body: body)
    }

    /// A file in small pieces, with a pause before each piece.
    static func drip(_ file: ByteBuffer, chunk: Int, every pause: Duration) -> Response {
        let body = ResponseBody(contentLength: file.readableBytes) { writer in
            var rest = file
            while let part = rest.readSlice(length: min(chunk, rest.readableBytes)),
                part.readableBytes > 0
            {
                try await Task.sleep(for: pause)
                try await writer.write(part)
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "image/jpeg"], body: body)
    }

    /// The given number of zero bytes, streamed without holding them in memory.
    static func zeros(_ count: Int, declared: Bool) -> Response {
        let body = ResponseBody(contentLength: declared ? count : nil) { writer in
            let block = ByteBuffer(repeating: 0, count: 64 * 1024)
            var rest = count
            while rest > 0 {
                let size = min(rest, block.readableBytes)
                try await writer.write(block.getSlice(at: 0, length: size) ?? block)
                rest -= size
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "image/jpeg"], body: body)
    }
}
