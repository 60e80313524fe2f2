import DemoOrigin
import Foundation
import NIOHTTP1
import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

@testable import PhotoGallery

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct GalleryServerTests {
    private static let page = String(repeating: "0a", count: 16)

    // MARK: The page's files

    @Test func everyReferencedFileIsServed() async throws {
        try await withGallery { gallery in
            let (status, headers, html) = try await gallery.get("/")
            #expect(status == 200)
            #expect(headers.first(name: "content-type") == "text/html; charset=utf-8")
            #expect(html.contains("<script type=\"module\" src=\"/app.js\">"))
            var waiting = [
                "/app.js", "/app.css", "/favicon.svg", "/placeholder.svg", "/failed.svg",
                "/detail.js", "/detail.css", "/engine.js", "/engine.css", "/keys.js", "/keys.css",
            ]
            var seen: Set<String> = []
            while let path = waiting.popLast() {
                guard seen.insert(path).inserted else { continue }
                let (status, headers, text) = try await gallery.get(path)
                #expect(status == 200, "\(path)")
                #expect(headers.first(name: "x-content-type-options") == "nosniff")
                // The modules that a module imports must be served too.
                let imports = text.split(separator: "from \"./").dropFirst()
                waiting += imports.map { "/" + $0.prefix { $0 != "\"" } }
            }
            #expect(seen.count > 10)
        }
    }

    /// The browser loads them together, and not one import after the other.
    @Test func pageNamesAllModulesOfItsFirstView() async throws {
        try await withGallery { gallery in
            var waiting = ["app.js"]
            var imported: Set<Substring> = []
            while let file = waiting.popLast() {
                let (_, _, text) = try await gallery.get("/" + file)
                let names = text.split(separator: "from \"./").dropFirst().map {
                    $0.prefix { $0 != "\"" }
                }
                waiting += names.filter { imported.insert($0).inserted }.map(String.init)
            }
            let (_, _, html) = try await gallery.get("/")
            let named = html.split(separator: "rel=\"modulepreload\" href=\"/").dropFirst()
            #expect(Set(named.map { $0.prefix { $0 != "\"" } }) == imported)
        }
    }

    @Test func firstViewIsSmallAndHasNoComments() async throws {
        try await withGallery { gallery in
            var waiting = ["/", "/app.js", "/app.css", "/placeholder.svg", "/failed.svg"]
            var seen: Set<String> = []
            var size = 0
            while let path = waiting.popLast() {
                guard seen.insert(path).inserted else { continue }
                let (_, _, text) = try await gallery.get(path)
                size += text.utf8.count
                let lines = text.split(separator: "\n")
                #expect(!lines.contains { $0.hasPrefix("//") }, "\(path)")
                #expect(!path.hasSuffix(".css") || !text.contains("/*"), "\(path)")
                let imports = text.split(separator: "from \"./").dropFirst()
                waiting += imports.map { "/" + $0.prefix { $0 != "\"" } }
            }
            #expect(size < 88_000)
        }
    }

    @Test func contentPolicyBlocksExternalResources() async throws {
        try await withGallery { gallery in
            let (_, headers, _) = try await gallery.get("/")
            let policy = try #require(headers.first(name: "content-security-policy"))
            #expect(policy.hasPrefix("default-src 'none'; img-src 'self'; script-src 'self'"))
            #expect(!policy.contains("unsafe"))
        }
    }

    // MARK: Access

    @Test(arguments: [
        "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1",
    ])
    func otherHostNamesAreRejected(host: String) async throws {
        try await withGallery { gallery in
            let (status, headers, text) = try await gallery.get("/", headers: [("Host", host)])
            #expect(status == 403)
            #expect(
                text == "Open this gallery at its own address, http://localhost:\(gallery.port)/\n")
            #expect(headers.first(name: "content-security-policy") != nil)
        }
    }

    @Test func ownHostNamesAreAccepted() async throws {
        try await withGallery { gallery in
            for host in ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"] {
                let (status, _, _) = try await gallery.get(
                    "/", headers: [("Host", "\(host):\(gallery.port)")])
                #expect(status == 200, "\(host)")
            }
        }
    }

    @Test func crossSiteRequestsAreRejected() async throws {
        try await withGallery { gallery in
            let report = #"{"page":"\#(Self.page)","row":0}"#
            let foreign = try await gallery.post(
                "/api/retry", report, headers: [("Origin", "http://evil.example")])
            #expect(foreign.status == 403)
            let crossSite = try await gallery.get(
                "/api/photos", headers: [("Sec-Fetch-Site", "cross-site")])
            #expect(crossSite.status == 403)
            let own = try await gallery.post(
                "/api/retry", report, headers: [("Origin", gallery.url)])
            #expect(own.status == 410, "The request is accepted, but the page is unknown.")
            // A proxy with TLS passes the Host on, and the browser's origin has https.
            let encrypted = gallery.url.replacing("http:", with: "https:")
            for (origin, status) in [
                (encrypted, 410), ("https://evil.example", 403), ("null", 403),
                ("ftp://localhost:\(gallery.port)", 403), ("\(gallery.url)0", 403), ("", 403),
                ("http://user@localhost:\(gallery.port)", 403),
            ] {
                let reply = try await gallery.post(
                    "/api/retry", report, headers: [("Origin", origin)])
                #expect(reply.status == status, "\(origin)")
            }
            let link = try await gallery.get("/", headers: [("Sec-Fetch-Site", "cross-site")])
            #expect(link.status == 200)
        }
    }

    // MARK: API

    private struct Photos: Decodable {
        struct Photo: Decodable { let name: String }
        let title: String
        let filter: String
        let total: Int
        let offset: Int
        let photos: [Photo]
    }

    @Test func listIsServedInPages() async throws {
        try await withGallery { gallery in
            func photos(_ query: String) async throws -> Photos {
                let text = try await gallery.get("/api/photos\(query)").text
                return try JSONDecoder().decode(Photos.self, from: Data(text.utf8))
            }
            let first = try await photos("?offset=0&limit=3")
            #expect(
                first.title == "Classic Photos" && first.filter == "sepia=0.8" && first.total == 240
            )
            #expect(
                first.photos.map(\.name) == gallery.origin.catalog.entries.prefix(3).map(\.name))
            let last = try await photos("?offset=238&limit=500")
            #expect(last.photos.count == 2)
            #expect(try await photos("?offset=9999").photos.isEmpty)
            #expect(try await photos("?offset=-5&limit=-1").photos.isEmpty)
        }
    }

    @Test(arguments: [
        #"{"page":"short","first":0,"last":1,"phase":"settled","sequence":1}"#,
        #"{"page":"0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a","first":5,"last":1,"phase":"settled","sequence":1}"#,
        #"{"page":"0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a","first":-1,"last":1,"phase":"settled","sequence":1}"#,
        #"{"page":"0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a","first":0,"last":1,"phase":"flying","sequence":1}"#,
        "no json",
    ])
    func invalidReportsAreRejected(report: String) async throws {
        try await withGallery { gallery in
            let status = try await gallery.post("/api/viewport", report).status
            #expect(status == 400)
        }
    }

    @Test func unknownPagesAndPicturesAreNotFound() async throws {
        try await withGallery { gallery in
            let report =
                #"{"page":"\#(Self.page)","first":0,"last":1,"phase":"settled","sequence":1}"#
            let (status, _, text) = try await gallery.post("/api/viewport", report)
            #expect(status == 410)
            #expect(text.contains("The server no longer knows this page. Reload it."))
            #expect(try await gallery.get("/api/thumbnails/../../etc/passwd").status == 404)
            #expect(try await gallery.get("/api/thumbnails/0/..%2F..%2Fetc").status == 404)
            #expect(try await gallery.get("/api/events?page=me").status == 400)
        }
    }

    @Test func pageReceivesRowProgress() async throws {
        try await withGallery { gallery in
            let seen = try await gallery.events(page: Self.page) { event in
                if event.hasPrefix("event: hello") {
                    #expect(event.contains(#""total":240"#))
                    let report =
                        #"{"page":"\#(Self.page)","first":0,"last":2,"phase":"settled","sequence":1}"#
                    let status = try await gallery.post("/api/viewport", report).status
                    #expect(status == 204)
                }
                return event.contains("\"filtered\":3")
            }
            #expect(
                seen.contains { $0.hasPrefix("event: queues") && $0.contains("Download queue") })
        }
    }

    @Test func returningPageReceivesFullState() async throws {
        try await withGallery { gallery in
            _ = try await gallery.events(page: Self.page) { event in
                if event.hasPrefix("event: hello") {
                    let report =
                        #"{"page":"\#(Self.page)","first":0,"last":0,"phase":"settled","sequence":9}"#
                    _ = try await gallery.post("/api/viewport", report)
                }
                return event.contains("\"filtered\":1")
            }
            let again = try await gallery.events(page: Self.page) { $0.hasPrefix("event: counts") }
            #expect(
                again.contains { $0.contains(#""state":"filtered""#) && $0.contains(#""row":0"#) })
        }
    }

    @Test func outdatedReportIsIgnored() async throws {
        try await withGallery { gallery in
            let seen = try await gallery.events(page: Self.page) { event in
                if event.hasPrefix("event: hello") {
                    for (sequence, row) in [(5, 2), (4, 100)] {
                        let report =
                            #"{"page":"\#(Self.page)","first":\#(row),"last":\#(row),"#
                            + #""phase":"settled","sequence":\#(sequence)}"#
                        let status = try await gallery.post("/api/viewport", report).status
                        #expect(status == 204)
                    }
                }
                return event.contains("\"filtered\":1")
            }
            #expect(!seen.contains { $0.contains("\"row\":100") })
        }
    }

    @Test func portInUseErrorNamesFlag() async throws {
        try await withGallery { gallery in
            let downloader = PhotoDownloader()
            let second = GalleryServer(
                configuration: .init(title: "", records: [], options: .init(), port: gallery.port),
                downloader: downloader)
            await #expect(throws: GalleryServer.Failure.portTaken(gallery.port)) {
                try await second.run { _ in }
            }
            await downloader.shutdown()
            #expect("\(GalleryServer.Failure.portTaken(80))".contains("--port"))
        }
    }
}
