import OperationsTestSupport
import PhotoTestSupport
import Synchronization
import Testing

@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Blocked addresses, in all the forms that a list, a redirection or a name server can use.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct HostGuardTests {
    private static let response = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nphoto"

    private static let serve: @Sendable (ScriptedOrigin.Connection) -> Void = { connection in
        guard connection.readHead() != nil else { return }
        connection.send(response)
        connection.waitUntilClosed()
    }

    @Test func loopbackIsBlockedByDefault() async {
        await withScriptedOrigin(Self.serve) { origin in
            #expect(
                await downloaded(origin.url, allowing: [])
                    == "127.0.0.1 is a loopback address. Downloads from such addresses are blocked by "
                    + "default. Allow 127.0.0.1:\(origin.port).")
            #expect(origin.connectionCount == 0)
        }
    }

    @Test(arguments: [
        "127.1", "127.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "0.0.0.0", "localhost",
        "LOCALHOST.", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.0.0.1.",
    ])
    func otherSpellingsOfLoopbackAreBlocked(host: String) async {
        await withScriptedOrigin(Self.serve) { origin in
            let reason = await downloaded("http://\(host):\(origin.port)/a.jpg", allowing: [])
            #expect(reason.contains("blocked by default. Allow"), "\(reason)")
            #expect(origin.connectionCount == 0)
        }
    }

    @Test(arguments: [
        "10.0.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "[fe80::1]",
        "[fd00::1]", "[64:ff9b::a00:1]", "[2002:a00:1::]",
    ])
    func localNetworkIsBlocked(host: String) async {
        let reason = await downloaded("http://\(host)/latest/meta-data", allowing: [])
        #expect(reason.contains("Allow \(host)."), "\(reason)")
    }

    @Test func hostWithOnePrivateAddressIsBlocked() async {
        let reason = await downloaded("http://photos.example:8080/a.jpg", allowing: []) { _ in
            ["93.184.216.34", "10.1.2.3"].compactMap { NetworkAddress($0) }
        }
        #expect(
            reason
                == "photos.example is at 10.1.2.3, a private address. Downloads from such addresses "
                + "are blocked by default. Allow photos.example:8080."
        )
    }

    @Test func hostWithoutAddressesDoesNotExist() async {
        let reason = await downloaded("http://nowhere.example/a.jpg", allowing: []) { _ in [] }
        #expect(reason == "There is no host named nowhere.example.")
    }

    /// DNS rebinding: the name server returns a public address for the check, and a different
    /// address for the connection.
    @Test func connectedAddressIsChecked() async {
        await withScriptedOrigin(Self.serve) { origin in
            let reason = await downloaded(
                "http://localhost:\(origin.port)/a.jpg", allowing: []
            ) { _ in [.v4(0x5DB8_D822)] }
            #expect(reason.hasPrefix("localhost is at "))
            #expect(reason.contains(", a loopback address. Downloads from such addresses"))
            #expect(origin.connectionCount == 0, "The client must not even connect.")
        }
    }

    @Test func onlyAllowedHostIsReachable() async {
        await withScriptedOrigin(Self.serve) { origin in
            let allowed = AllowedHost(host: "127.0.0.1", port: origin.port)
            #expect(await downloaded(origin.url, allowing: [allowed]) == "photo")
            let other = AllowedHost(host: "127.0.0.1", port: origin.port - 1)
            #expect(await downloaded(origin.url, allowing: [other]).contains("Allow"))
            let named = await downloaded("http://localhost:\(origin.port)/", allowing: [allowed])
            #expect(named.contains("Allow localhost:\(origin.port)"))
        }
    }

    // MARK: Redirections

    private func redirected(to location: String) async -> String {
        await withScriptedOrigin { connection in
            guard connection.readHead() != nil else { return }
            connection.send(
                "HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
            connection.waitUntilClosed()
        } _: { origin in
            await downloaded(
                origin.url, allowing: [AllowedHost(host: "127.0.0.1", port: origin.port)])
        }
    }

    @Test func redirectToBlockedAddressFails() async {
        await withScriptedOrigin(Self.serve) { inner in
            for host in ["127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]"] {
                let reason = await redirected(to: "http://\(host):\(inner.port)/secret")
                #expect(reason.contains("blocked by default"), "\(reason)")
            }
            #expect(inner.connectionCount == 0)
        }
    }

    @Test(arguments: [
        ("file:///etc/passwd", "is a file URL"),
        ("ftp://example.org/a", "has the unsupported scheme \"ftp\""),
        ("http+unix://%2Frun%2Fa.sock/", "has the unsupported scheme \"http+unix\""),
        ("http://", "has no host"),
        ("http://user:secret@example.org/", "contains a user name or password"),
        ("http://127.0.0.%31/", "a host name with invalid characters"),
    ])
    func redirectToInvalidURLFails(location: String, words: String) async {
        let reason = await redirected(to: location)
        #expect(reason.hasPrefix("127.0.0.1 redirects, but "), "\(reason)")
        #expect(reason.contains(words), "\(reason)")
        #expect(!reason.contains("secret"))
    }

    @Test func redirectFromHTTPSToHTTPFails() throws {
        let secure = try WebURL(try #require(URL(string: "https://example.org/a")))
        #expect(try secure.redirected(to: "/b").url.absoluteString == "https://example.org/b")
        #expect(try secure.redirected(to: "//h/b").url.absoluteString == "https://h/b")
        let error = #expect(throws: PhotoURLProblem.self) {
            try secure.redirected(to: "http://example.org/b")
        }
        #expect(error?.message.hasPrefix("the target uses http instead of https") == true)
        let plain = try WebURL(try #require(URL(string: "http://example.org/a")))
        #expect(try plain.redirected(to: "https://example.org/b").port == 443)
    }

    @Test func urlWithCredentialsFailsWithoutRevealingThem() async {
        let reason = await downloaded("http://me:secret@example.org/a.jpg")
        #expect(
            reason
                == "The URL cannot be downloaded: the URL for \"example.org\" contains a user name or "
                + "password, which are not supported; remove them.")
    }

    @Test func contentHasFinalURLAfterRedirects() async throws {
        try await withScriptedOrigin { connection in
            while let head = connection.readHead() {
                connection.send(
                    head.hasPrefix("GET /lists/b/")
                        ? Self.response
                        : "HTTP/1.1 301 Moved\r\nLocation: /lists/b/\r\nContent-Length: 0\r\n\r\n")
            }
        } _: { origin in
            let downloader = PhotoDownloader(allowing: [.thisMachine])
            let url = try #require(URL(string: origin.url + "/a"))
            let content = try await downloader.content(of: url)
            #expect(content.bytes == Array("photo".utf8))
            #expect(content.url.absoluteString == origin.url + "/lists/b/")
            await downloader.shutdown()
        }
    }
}
