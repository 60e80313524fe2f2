import DemoOrigin
import Foundation
import HTTPTestClient
import Logging
import NIOHTTP1
import OperationsInsight
import OperationsTestSupport
import PhotoImaging
import PhotoLibrary
import PhotoPipeline
import PhotoTestSupport
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

    /// Reads a page's events until one of them satisfies the condition. Reports the last events if
    /// the test's time ends before.
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
            defer {
                if Task.isCancelled {
                    Issue.record("No event was the expected one. The last: \(events.suffix(5))")
                }
            }
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
        var numbers = ""
        let isIdle = try await eventually {
            numbers = try await get("/metrics").text
            return !numbers.contains(#/classicphotos_operations_(running|waiting){[^}]*} [1-9]/#)
        }
        #expect(isIdle, "the server's numbers: \(numbers)")
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
    limits: GalleryLimits = .patient, host: String = "127.0.0.1", token: GalleryToken? = nil,
    origins: [GalleryOrigin] = [],
    accessLogger: Logger? = nil, timeline: OperationTimeline? = nil,
    reading: (@Sendable () -> PhotoList?)? = nil,
    _ body: (Gallery) async throws -> Void
) async throws {
    try await withDemoOrigin(configuration) { origin in
        let records = try photos ?? list(of: origin)
        let downloader = PhotoDownloader(
            limits: .patientWithRetries,
            allowing: [AllowedHost(host: "127.0.0.1", port: origin.port)])
        var options = PhotoListSession.Options()
        options.timeline = timeline
        var configuration = GalleryServer.Configuration(
            title: title, records: records, options: options, port: 0)
        configuration.limits = limits
        configuration.host = host
        configuration.token = token
        configuration.origins = origins
        configuration.accessLogger = accessLogger
        configuration.reading = reading
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

/// Runs a gallery of a folder whose changes are shown.
func withGalleryOfFolder(
    _ pictures: [String], _ body: (Gallery, ChangingFolder) async throws -> Void
) async throws {
    let manager = FileManager.default
    let url = manager.temporaryDirectory.appending(path: "photos-\(UUID().uuidString)")
    try manager.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? manager.removeItem(at: url) }
    let folder = ChangingFolder(url: url)
    for name in pictures { try folder.write(name) }
    let reading: @Sendable () -> PhotoList? = {
        try? PhotoList.read(changingFolder: url, named: nil, followingLinks: false)
    }
    try await withGallery(photos: reading()?.records, reading: reading) { gallery in
        try await body(gallery, folder)
    }
}

/// A folder of pictures that a test changes.
struct ChangingFolder: Sendable {
    let url: URL

    /// Writes a picture of one color, or whatever the bytes are. It appears complete, with a time
    /// long ago.
    func write(
        _ name: String, width: Int = 64, height: Int = 48, gray: UInt8 = 128,
        bytes: [UInt8]? = nil
    ) throws {
        let pixels = [UInt8](repeating: gray, count: width * height * 3)
        let bitmap = try Bitmap(size: PixelSize(width: width, height: height), pixels: pixels)
        let picture = try bytes ?? ImageEngine.encode(bitmap, as: .jpeg, quality: 90).bytes
        let part = url.appending(path: ".part")
        try Data(picture).write(to: part)
        let date = Date(timeIntervalSince1970: 1_000_000_000 + Double(gray))
        try FileManager.default.setAttributes(
            [.modificationDate: date], ofItemAtPath: part.path(percentEncoded: false))
        let file = url.appending(path: name)
        try? FileManager.default.removeItem(at: file)
        try FileManager.default.moveItem(at: part, to: file)
    }

    func bytes(of name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: url.appending(path: name)))
    }

    func remove(_ name: String) throws {
        try FileManager.default.removeItem(at: url.appending(path: name))
    }
}

private func list(of origin: DemoOriginServer) throws -> [PhotoRecord] {
    let text = origin.catalog.propertyList(origin: origin.url)
    return try PhotoList.parse(
        bytes: Array(text.utf8), named: "photos.plist", relativeTo: URL(string: origin.url)
    ).records
}

extension GalleryLimits {
    /// Time limits that even a busy machine does not reach; a test of a limit sets that limit. The
    /// work of a page that has left still ends soon.
    static var patient: GalleryLimits {
        var limits = GalleryLimits()
        limits.returnTime = .seconds(600)
        limits.firstRequestTime = .seconds(600)
        limits.idleTime = .seconds(600)
        limits.bodyTime = .seconds(600)
        limits.writeTime = .seconds(600)
        limits.closeTime = .seconds(100)
        return limits
    }
}
