import DemoOrigin
import Foundation
import NIOHTTP1
import Operations
import OperationsTestSupport
import PhotoImaging
import Testing

@testable import PhotoGallery
@testable import PhotoLibrary
@testable import PhotoPipeline

/// The routes of single photos, on a real server.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct PhotoRouteTests {
    private struct Details: Decodable {
        let row: Int
        let id: String
        let name: String
        let source: String
        let format: String
        let bytes: Int
        let width: Int
        let height: Int
        let taken: String?
    }

    private struct Filter: Decodable {
        struct Parameter: Decodable {
            let name: String
            let minimum: Double
            let maximum: Double
            let `default`: Double
        }
        let name: String
        let parameters: [Parameter]
    }

    private struct Photos: Decodable {
        struct Photo: Decodable { let id: String }
        let photos: [Photo]
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
        try JSONDecoder().decode(type, from: Data(text.utf8))
    }

    @Test func detailsDescribePhoto() async throws {
        try await withGallery { gallery in
            let list = try decode(Photos.self, try await gallery.get("/api/photos?limit=3").text)
            #expect(Set(list.photos.map(\.id)).count == 3)
            let (status, _, text) = try await gallery.get("/api/photos/2/details")
            #expect(status == 200)
            let details = try decode(Details.self, text)
            #expect(details.row == 2 && details.id == list.photos[2].id)
            #expect(details.name == gallery.origin.catalog.entries[2].name)
            #expect(details.source == "127.0.0.1" && details.format == "jpeg")
            #expect(max(details.width, details.height) == 48 && details.bytes > 100)
        }
    }

    @Test(arguments: ["-1", "240", "x", "1e3", "%2e%2e", "99999999999999999999"])
    func rowsOutsideOfListAreNotFound(row: String) async throws {
        try await withGallery { gallery in
            for route in ["details", "picture?fit=640", "original"] {
                let (status, _, text) = try await gallery.get("/api/photos/\(row)/\(route)")
                #expect(status == 404, "\(route)")
                #expect(!text.isEmpty)
            }
        }
    }

    @Test func brokenPhotoNamesReason() async throws {
        try await withGallery { gallery in
            let entries = gallery.origin.catalog.entries
            let page = try #require(entries.first { $0.kind == .htmlPage })
            for route in ["details", "picture?fit=640&filters=none"] {
                let (status, headers, text) = try await gallery.get(
                    "/api/photos/\(page.id)/\(route)")
                #expect(status == 422)
                #expect(text.contains("\"message\":\""))
                #expect(headers.first(name: "content-type")?.hasPrefix("application/json") == true)
            }
        }
    }

    private struct Answer: Decodable {
        struct Problem: Decodable {
            let retryable: Bool
            let hasOriginal: Bool
        }
        let error: Problem
    }

    /// The page offers to save the original of a failed photo only if there is one.
    @Test func failureSaysWhetherThereIsOriginal() async throws {
        try await withGallery { gallery in
            let entries = gallery.origin.catalog.entries
            for (kind, hasOriginal) in [
                (.missing, false), (.empty, false), (.htmlPage, false), (.hugeHeader, true),
            ] as [(DemoCatalog.Kind, Bool)] {
                let row = try #require(entries.first { $0.kind == kind }).id
                for route in ["picture?fit=640", "result", "details"] {
                    let (status, _, text) = try await gallery.get("/api/photos/\(row)/\(route)")
                    #expect(status == 422)
                    let problem = try decode(Answer.self, text).error
                    // No retry makes a picture smaller.
                    #expect(problem.hasOriginal == hasOriginal)
                    #expect(problem.retryable != hasOriginal || route == "details")
                }
                let original = try await gallery.get("/api/photos/\(row)/original").status
                #expect(original == (hasOriginal ? 200 : 422))
            }
        }
    }

    /// Browsers show what is left of a damaged photo, too.
    @Test func damagedPhotoIsShown() async throws {
        try await withGalleryOfFolder(["a.jpg"]) { gallery, folder in
            let row = 1
            let whole = try folder.bytes(of: "a.jpg")
            try folder.write("b.jpg", bytes: Array(whole.prefix(whole.count - 8)))
            let isThere = try await eventually {
                try await gallery.get("/api/photos").text.contains("b.jpg")
            }
            #expect(isThere)
            for route in ["picture?fit=640", "picture?fit=full", "result"] {
                let reply = try await gallery.getBytes("/api/photos/\(row)/\(route)")
                #expect(reply.status == 200 && ImageFormat(detecting: reply.bytes) == .jpeg)
            }
            let page = String(repeating: "d1", count: 16)
            _ = try await gallery.events(page: page) { event in
                if event.hasPrefix("event: hello") {
                    let report =
                        #"{"page":"\#(page)","rows":[\#(row)],"phase":"settled","sequence":1}"#
                    let status = try await gallery.post("/api/viewport", report).status
                    #expect(status == 204)
                }
                return event.contains(#""state":"filtered""#)
                    && event.contains(#""damage":"the jpeg file ends too early"#)
            }
        }
    }

    /// Others who may write in the folder can replace a photo, or a folder above it, by a link.
    @Test func linkOutOfFolderIsNotFollowed() async throws {
        let manager = FileManager.default
        let folder = manager.temporaryDirectory.appending(path: "photos-\(UUID().uuidString)")
        defer { try? manager.removeItem(at: folder) }
        let outside = folder.appending(path: "outside")
        let bitmap = try Bitmap(
            size: PixelSize(width: 8, height: 8), pixels: [UInt8](repeating: 90, count: 8 * 8 * 3))
        let picture = try ImageEngine.encode(bitmap, as: .png, quality: 90).bytes
        for name in ["in/a.png", "in/b.png", "in/c.png", "in/sub/d.png", "outside/d.png"] {
            let file = folder.appending(path: name)
            try manager.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(picture).write(to: file)
        }
        let source = folder.appending(path: "in")
        let list = try PhotoList.read(folder: source)
        #expect(list.records.map(\.name) == ["a.png", "b.png", "c.png", "sub/d.png"])
        func replace(_ name: String, by target: URL) throws {
            let file = source.appending(path: name)
            try manager.removeItem(at: file)
            try manager.createSymbolicLink(at: file, withDestinationURL: target)
        }
        try replace("a.png", by: outside.appending(path: "d.png"))
        // Links inside the folder are as good as files, even with an absolute path.
        try replace("b.png", by: source.appending(path: "c.png"))
        try replace("sub", by: outside)
        try await withGallery(photos: list.records) { gallery in
            for (row, status) in [(0, 422), (1, 200), (2, 200), (3, 422)] {
                for route in ["original", "details", "result", "picture?fit=640"] {
                    let reply = try await gallery.get("/api/photos/\(row)/\(route)")
                    #expect(reply.status == status, "\(row)/\(route): \(reply.text)")
                }
            }
        }
    }

    @Test func pictureHasEntityTagAndRanges() async throws {
        try await withGallery { gallery in
            let path = "/api/photos/0/picture?fit=640&filters=sepia=0.8,vignette"
            let (status, headers, _) = try await gallery.get(path)
            #expect(status == 200)
            #expect(headers.first(name: "content-type") == "image/jpeg")
            #expect(headers.first(name: "cache-control") == "private, no-cache")
            #expect(headers.first(name: "accept-ranges") == "bytes")
            #expect(
                headers.first(name: "content-security-policy") == "default-src 'none'; sandbox")
            let tag = try #require(headers.first(name: "etag"))
            let length = try #require(headers.first(name: "content-length").flatMap { Int($0) })

            let same = try await gallery.get(path, headers: [("If-None-Match", "\"x\", \(tag)")])
            #expect(same.status == 304 && same.text.isEmpty)
            #expect(same.headers.first(name: "etag") == tag)
            let part = try await gallery.get(path, headers: [("Range", "bytes=2-11")])
            #expect(part.status == 206)
            #expect(part.headers.first(name: "content-range") == "bytes 2-11/\(length)")
            #expect(part.headers.first(name: "content-length") == "10")
            let old = try await gallery.get(
                path, headers: [("Range", "bytes=2-11"), ("If-Range", "\"x\"")])
            #expect(old.status == 200)
            let beyond = try await gallery.get(path, headers: [("Range", "bytes=\(length)-")])
            #expect(beyond.status == 416)
            #expect(beyond.headers.first(name: "content-range") == "bytes */\(length)")

            let plain = try await gallery.get("/api/photos/0/picture?fit=640&filters=none")
            #expect(plain.headers.first(name: "etag") != tag)
        }
    }

    @Test func addressWithIdentifierIsImmutable() async throws {
        try await withGallery { gallery in
            let list = try decode(Photos.self, try await gallery.get("/api/photos?limit=2").text)
            for (id, isImmutable) in [(list.photos[0].id, true), (list.photos[1].id, false)] {
                let headers = try await gallery.get("/api/photos/0/picture?fit=640&id=\(id)")
                    .headers
                #expect(
                    headers.first(name: "cache-control")?.contains("immutable") == isImmutable)
            }
        }
    }

    @Test(arguments: [
        "", "?fit=0", "?fit=641", "?fit=-640", "?fit=100000", "?fit=640&filters=nosuch",
        "?fit=640&filters=sepia=9", "?fit=640&filters=sepia,,", "?fit=640&filters=../etc",
        "?fit=640&filters=" + Array(repeating: "noir", count: 9).joined(separator: ","),
        "?fit=640&filters=" + String(repeating: "x", count: 501),
    ])
    func invalidPictureRequestIsRejected(query: String) async throws {
        try await withGallery { gallery in
            let (status, _, text) = try await gallery.get("/api/photos/0/picture\(query)")
            #expect(status == 400)
            #expect(text.contains("\"message\":\""))
        }
    }

    @Test func originalIsDownload() async throws {
        try await withGallery { gallery in
            let (status, headers, _) = try await gallery.get("/api/photos/0/original")
            #expect(status == 200)
            let path = gallery.origin.catalog.entries[0].path
            let name = try #require(path.split(separator: "/").last)
            #expect(
                headers.first(name: "content-disposition")
                    == "attachment; filename=\"\(name)\"; filename*=UTF-8''\(name)")
            #expect(
                headers.first(name: "content-security-policy") == "default-src 'none'; sandbox")
        }
    }

    @Test func filtersHaveRanges() async throws {
        try await withGallery { gallery in
            let filters = try decode([Filter].self, try await gallery.get("/api/filters").text)
            let sepia = try #require(filters.first { $0.name == "sepia" })
            #expect(sepia.parameters.map(\.name) == ["intensity"])
            #expect(sepia.parameters[0].minimum == 0 && sepia.parameters[0].maximum == 1)
            #expect(sepia.parameters[0].default == 0.8)
            #expect(filters.count > 10)
        }
    }

    @Test func workEndsWhenClientLeaves() async throws {
        var configuration = DemoOriginServer.Configuration.quick
        configuration.slowTransfer = .seconds(600)
        try await withGallery(configuration) { gallery in
            let slow = try #require(
                gallery.origin.catalog.entries.first { $0.kind == .verySlow })
            let downloads = gallery.server.viewer.downloads
            var client: RawClient? = RawClient(port: gallery.port)
            client?.send(
                "GET /api/photos/\(slow.id)/picture?fit=640 HTTP/1.1\r\n"
                    + "Host: localhost:\(gallery.port)\r\n\r\n")
            #expect(await comesTrue { downloads.operations.contains { $0.isExecuting } })
            client = nil
            #expect(await comesTrue { downloads.operationCount == 0 })
        }
    }

    @Test(arguments: [
        ("bytes=0-0", 0..<1), ("bytes=5-", 5..<10), ("bytes=-3", 7..<10), ("bytes=-30", 0..<10),
        ("bytes=8-99", 8..<10), ("bytes=10-", 0..<0), ("bytes=-0", 10..<10),
    ])
    func rangesAreClamped(header: String, expected: Range<Int>) {
        let range = FileResponse.range(header, of: 10)
        #expect(range == expected || (range?.isEmpty == true && expected.isEmpty))
    }

    @Test(arguments: [
        "", "bytes", "bytes=", "bytes=-", "bytes=5-2", "bytes=a-b", "bytes=0-1,3-4", "lines=0-1",
        "bytes=+1-2", "bytes=99999999999999999999-",
    ])
    func invalidRangesDoNotCount(header: String) {
        #expect(FileResponse.range(header, of: 10) == nil)
    }
}
