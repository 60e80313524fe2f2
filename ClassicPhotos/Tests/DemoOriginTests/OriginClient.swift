import AsyncHTTPClient
import Landscapes
import NIOCore
import NIOHTTP1
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

/// A response of the server.
struct Reply {
    var status: Int
    var headers: HTTPHeaders
    var body: [UInt8]
}

/// Runs an origin, and a client that does not follow redirects, for the duration of a closure.
func withOrigin(
    _ configuration: DemoOriginServer.Configuration = .quick,
    encoding: any PhotoEncoding = RawPhotos(),
    _ body: (DemoOriginServer, HTTPClient) async throws -> Void
) async throws {
    try await withDemoOrigin(configuration, encoding: encoding) { server in
        var settings = HTTPClient.Configuration()
        settings.redirectConfiguration = .disallow
        settings.decompression = .disabled
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: settings)
        do {
            try await body(server, client)
            try await client.shutdown()
        } catch {
            try? await client.shutdown()
            throw error
        }
    }
}

extension HTTPClient {
    func get(
        _ url: String, method: HTTPMethod = .GET, headers: HTTPHeaders = [:]
    ) async throws -> Reply {
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers = headers
        let response = try await execute(request, timeout: .minutes(2))
        let body = try await response.body.collect(upTo: 64 << 20)
        return Reply(
            status: Int(response.status.code), headers: response.headers,
            body: Array(body.readableBytesView))
    }
}
