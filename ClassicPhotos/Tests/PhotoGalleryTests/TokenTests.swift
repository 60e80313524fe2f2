import DemoOrigin
import NIOHTTP1
import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

@testable import PhotoGallery

/// A gallery with a token, as other machines see it.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct TokenTests {
    /// Sends a request on a connection of its own and returns the head and the body.
    private func answer(
        _ gallery: Gallery, _ path: String, host: String? = nil, _ fields: String...
    ) async -> String {
        let client = RawClient(port: gallery.port)
        let host = host ?? "localhost:\(gallery.port)"
        let head = ["GET \(path) HTTP/1.1", "Host: \(host)", "Connection: close"] + fields
        client.send(head.joined(separator: "\r\n") + "\r\n\r\n")
        return await client.read()
    }

    @Test func everyRequestNeedsToken() async throws {
        let token = GalleryToken()
        try await withGallery(token: token) { gallery in
            for path in [
                "/", "/app.js", "/api/photos", "/api/photos/0/original", "/metrics", "/nothing",
                "/?token=", "/?token=\(token.text)0", "/?token=\(GalleryToken().text)",
                "/app.js?token=\(token.text)", "/health/../api/photos", "//health",
            ] {
                let answer = await answer(gallery, path)
                #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(path)")
                #expect(answer.contains("Open the address that the program printed"))
                #expect(!answer.contains(token.text))
            }
            #expect(await answer(gallery, "/health").hasPrefix("HTTP/1.1 200 "))
            let (status, _, _) = try await gallery.post("/api/retry", "{}")
            #expect(status == 401)
        }
    }

    @Test func addressWithTokenSetsCookie() async throws {
        let token = GalleryToken()
        try await withGallery(token: token) { gallery in
            let first = await answer(gallery, "/?token=\(token.text)")
            #expect(first.hasPrefix("HTTP/1.1 303 "))
            let fields = first.lowercased()
            #expect(fields.contains("\r\nlocation: /\r\n"))
            let cookie = "classicphotos-\(gallery.port)=\(token.text)"
            #expect(
                fields.contains("\r\nset-cookie: \(cookie); path=/; httponly; samesite=lax\r\n"))
            for field in [
                "Cookie: \(cookie)", "Cookie: a=b; \(cookie); c=d",
                "Authorization: Bearer \(token.text)",
            ] {
                #expect(await answer(gallery, "/api/photos", field).hasPrefix("HTTP/1.1 200 "))
            }
            for field in [
                "Cookie: \(cookie)0", "Cookie: x\(cookie)", "Cookie: classicphotos-1=\(token.text)",
                "Authorization: \(token.text)", "Authorization: Basic \(token.text)",
                "Authorization: Bearer ", "Cookie: \(cookie.dropLast())",
            ] {
                #expect(await answer(gallery, "/api/photos", field).hasPrefix("HTTP/1.1 401 "))
            }
        }
    }

    /// Another site's page can have its own name for this machine (DNS rebinding), but not the
    /// token.
    @Test func nameOfMachineNeedsToken() async throws {
        let token = GalleryToken()
        try await withGallery(token: token) { gallery in
            let bearer = "Authorization: Bearer \(token.text)"
            for host in [
                "192.168.1.5:\(gallery.port)", "192.168.1.5", "[fd00::1]:9", "localhost:9",
                "name.local:\(gallery.port)", "my_nas", "xn--fotos-9za.example",
            ] {
                let opened = await answer(gallery, "/?token=\(token.text)", host: host)
                #expect(opened.hasPrefix("HTTP/1.1 303 "), "\(host)")
                for path in ["/", "/app.js", "/api/photos", "/?token=\(GalleryToken().text)"] {
                    let stranger = await answer(gallery, path, host: host)
                    #expect(stranger.hasPrefix("HTTP/1.1 401 "), "\(host)\(path)")
                }
                #expect(
                    await answer(gallery, "/", host: host, bearer).hasPrefix("HTTP/1.1 200 "),
                    "\(host)")
            }
            for host in [
                "192.168.1.5:", "192.168.1.5:x", "user@192.168.1.5", "1:2:3", "[fd00::1",
                "[name.local]", "", "name.local/", "name local", ":80",
            ] {
                #expect(
                    await answer(gallery, "/", host: host, bearer).hasPrefix("HTTP/1.1 4"),
                    "\(host)")
            }
            let foreign = await answer(gallery, "/", bearer, "Origin: http://evil.example")
            #expect(foreign.hasPrefix("HTTP/1.1 403 "))
            // A link in another site's page opens the page, and nothing else.
            for (path, status) in [("/", 200), ("/api/photos", 403), ("/api/photos/0/result", 403)]
            {
                let linked = await answer(
                    gallery, path, bearer, "Sec-Fetch-Site: cross-site",
                    "Sec-Fetch-Mode: navigate")
                #expect(linked.hasPrefix("HTTP/1.1 \(status) "), "\(path)")
            }
        }
    }

    /// A proxy before the gallery has a name of its own, and an encrypted connection.
    @Test func proxyChangesNothingButOrigin() async throws {
        let token = GalleryToken()
        let named = try #require(GalleryOrigin("https://Photos.example.org/"))
        try await withGallery(token: token, origins: [named]) { gallery in
            let own = "localhost:\(gallery.port)"
            let fields = ["Content-Type: application/json", "Content-Length: 0"]
            for (host, origin, status) in [
                ("photos.example.org", "https://photos.example.org", 400),
                ("photos.example.org:443", "https://photos.example.org", 400),
                ("other.example.org", "https://other.example.org", 400),
                ("other.example.org:8443", "https://other.example.org:8443", 400),
                (own, "https://photos.example.org", 400),
                (own, "http://photos.example.org", 403),
                (own, "https://other.example.org", 403),
                ("other.example.org", "https://photos.example.org.evil.example", 403),
                ("other.example.org:8443", "https://other.example.org", 403),
            ] {
                let client = RawClient(port: gallery.port)
                let head =
                    [
                        "POST /api/retry HTTP/1.1", "Host: \(host)", "Connection: close",
                        "Authorization: Bearer \(token.text)", "Origin: \(origin)",
                    ] + fields
                client.send(head.joined(separator: "\r\n") + "\r\n\r\n")
                let answer = await client.read()
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(host), \(origin)")
            }
        }
    }

    @Test(arguments: [
        "", "photos.example.org", "https://", "https:///", "https://a/b", "https://a?b", "ftp://a",
        "https://a@b", "https://a:x", "https://*", "null",
    ])
    func textsThatAreNoOriginsAreRefused(text: String) { #expect(GalleryOrigin(text) == nil) }

    @Test(arguments: ["0.0.0.0", "::", "192.168.1.5", "example.com", "", "localhost.", "127.0.0.2"])
    func serverForOtherMachinesNeedsToken(host: String) async throws {
        let downloader = PhotoDownloader()
        var configuration = GalleryServer.Configuration(
            title: "", records: [], options: .init(), port: 0)
        configuration.host = host
        let server = GalleryServer(configuration: configuration, downloader: downloader)
        await #expect(throws: GalleryServer.Failure.tokenMissing(host)) {
            try await server.run { _ in Issue.record("the server listens without a token") }
        }
        await downloader.shutdown()
    }

    @Test func unknownAddressIsNamed() async throws {
        let downloader = PhotoDownloader()
        var configuration = GalleryServer.Configuration(
            title: "", records: [], options: .init(), port: 0)
        // An address that is reserved for documentation.
        configuration.host = "192.0.2.1"
        configuration.token = GalleryToken()
        let server = GalleryServer(configuration: configuration, downloader: downloader)
        await #expect(throws: GalleryServer.Failure.hostUnknown("192.0.2.1")) {
            try await server.run { _ in }
        }
        await downloader.shutdown()
    }

    @Test func tokensDiffer() {
        let tokens = (0..<100).map { _ in GalleryToken().text }
        #expect(Set(tokens).count == 100)
        #expect(tokens.allSatisfy { $0.utf8.count == 32 && $0.allSatisfy(\.isHexDigit) })
    }
}
