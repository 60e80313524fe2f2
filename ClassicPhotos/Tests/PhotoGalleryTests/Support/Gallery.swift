import DemoOrigin
import Foundation
import HTTPTestClient
import Logging
import NIOHTTP1
import PhotoImaging
import PhotoPipeline
import Testing

@testable import PhotoGallery

/// A running gallery, and requests to it.
struct Gallery: Sendable {
    let port: Int
    let origin: DemoOriginServer
    let server: GalleryServer

    var url: String { "http://localhost:\(port)" }

    func get(
        _ path: String, headers: [(String, String)] = []
    ) async throws -> (status: Int, headers: HTTPHeaders, text: String) {
        try await send("GET", path, headers: headers, body: nil)
    }

    func post(
        _ path: String, _ json: String, headers: [(String, String)] = []
    ) async throws -> (status: Int, headers: HTTPHeaders, text: String) {
        try await send(
            "POST", path, headers: headers + [("Content-Type", "application/json")], body: json)
    }

    /// Reads a page's events until one of them satisfies the condition.
    ///
    /// - Parameter id: the identifier that a browser sends when it reconnects.
    func events(
        page: String, after id: String? = nil, until condition: (String) async throws -> Bool
    ) async throws -> [String] {
        let headers: HTTPHeaders = id.map { ["Last-Event-ID": $0] } ?? [:]
        return try await TestClient.withResponse(
            to: "\(url)/api/events?page=\(page)", headers: headers
        ) { response in
            #expect(response.headers.first(name: "content-type") == "text/event-stream")
            var rest = ""
            var events: [String] = []
            for try await chunk in response.body {
                rest += String(decoding: chunk, as: UTF8.self)
                while let end = rest.range(of: "\n\n") {
                    let event = String(rest[..<end.lowerBound])
                    rest.removeSubrange(..<end.upperBound)
                    events.append(event)
                    if try await condition(event) { return events }
                }
            }
            Issue.record("the stream ended after \(events.suffix(5))")
            return events
        }
    }

    /// The number of photos whose download has begun.
    var requestedPhotos: Int {
        origin.catalog.entries.count { origin.requestCount(for: $0.path) > 0 }
    }

    /// Returns once no operation runs or waits in any page's queues. The server has no event for
    /// that, so this asks for its numbers again and again.
    func idle() async throws {
        while try await get("/metrics").text.contains(
            #/classicphotos_operations_(running|waiting){[^}]*} [1-9]/#)
        {
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func send(
        _ method: String, _ path: String, headers: [(String, String)], body: String?
    ) async throws -> (status: Int, headers: HTTPHeaders, text: String) {
        let reply = try await TestClient.send(
            url + path, method: HTTPMethod(rawValue: method), headers: HTTPHeaders(headers),
            body: body.map { Array($0.utf8) })
        return (reply.status, reply.headers, reply.text)
    }

    func head(
        _ path: String, headers: [(String, String)] = []
    ) async throws -> (status: Int, headers: HTTPHeaders, text: String) {
        try await send("HEAD", path, headers: headers, body: nil)
    }

    func getBytes(
        _ path: String, headers: [(String, String)] = []
    ) async throws -> (status: Int, headers: HTTPHeaders, bytes: [UInt8]) {
        let reply = try await TestClient.send(url + path, headers: HTTPHeaders(headers))
        return (reply.status, reply.headers, reply.body)
    }
}

/// Runs a gallery of the demo's photos, or of the given photos, for the duration of a closure.
func withGallery(
    _ configuration: DemoOriginServer.Configuration = .quick, photos: [PhotoRecord]? = nil,
    title: String = "Classic Photos",
    limits: GalleryLimits = GalleryLimits(), token: GalleryToken? = nil,
    accessLogger: Logger? = nil,
    _ body: (Gallery) async throws -> Void
) async throws {
    try await withDemoOrigin(configuration) { origin in
        let records = try photos ?? list(of: origin)
        let downloader = PhotoDownloader(
            allowing: [AllowedHost(host: "127.0.0.1", port: origin.port)])
        var configuration = GalleryServer.Configuration(
            title: title, records: records, options: .init(), port: 0)
        configuration.limits = limits
        configuration.token = token
        configuration.accessLogger = accessLogger
        let server = GalleryServer(configuration: configuration, downloader: downloader)
        let (ports, announced) = AsyncStream<Int>.makeStream()
        let running = Task {
            defer { announced.finish() }
            try await server.run { announced.yield($0) }
        }
        let result: Result<Void, any Error>
        do {
            let port = try #require(await ports.first { _ in true }, "the gallery did not start")
            result = .success(try await body(Gallery(port: port, origin: origin, server: server)))
        } catch {
            result = .failure(error)
        }
        running.cancel()
        _ = await running.result
        await downloader.shutdown()
        try result.get()
    }
}

private func list(of origin: DemoOriginServer) throws -> [PhotoRecord] {
    let text = origin.catalog.propertyList(origin: origin.url)
    return try PhotoList.parse(
        bytes: Array(text.utf8), named: "photos.plist", relativeTo: URL(string: origin.url)
    ).records
}
