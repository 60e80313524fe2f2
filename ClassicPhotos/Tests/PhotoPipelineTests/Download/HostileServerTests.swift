import OperationsTestSupport
import PhotoTestSupport
import Testing

@testable import PhotoPipeline

/// Responses that no honest server sends.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct HostileServerTests {
    private static let closedEarly =
        "127.0.0.1 closed the connection before the file was complete."

    private func download(
        _ script: @escaping @Sendable (ScriptedOrigin.Connection) -> Void
    ) async -> String {
        await withScriptedOrigin { connection in
            guard connection.readHead() != nil else { return }
            script(connection)
        } _: { origin in
            await downloaded(origin.url + "/")
        }
    }

    /// Such a head has an entity tag, under which an empty file would be kept.
    @Test(arguments: ["HTTP/1.1 200 OK\r\nETag: \"x\"\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 20"])
    func headWithoutAnEndIsNoFile(head: String) async {
        #expect(await download { $0.send(head) } == Self.closedEarly)
    }

    /// Decompressing it may never end.
    @Test(arguments: ["gzip", "gzip, chunked", "GZIP,gzip", "deflate", "br"])
    func compressedTransferIsRefused(coding: String) async {
        let result = await download { connection in
            connection.send("HTTP/1.1 200 OK\r\ntransfer-Encoding:  \(coding)\r\n\r\nabc")
            connection.waitUntilClosed()
        }
        #expect(result == Self.closedEarly)
    }

    @Test func bodyInPiecesIsAFile() async {
        let result = await download { connection in
            connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n")
            connection.send("2\r\nph\r\n3\r\noto\r\n0\r\nX-Rest: 1\r\n\r\n")
        }
        #expect(result == "photo")
    }

    @Test func bodyOfAnErrorNeedNotEnd() async {
        for status in ["404 Not Found", "404 Not Found\r\nContent-Length: 99999999999"] {
            let result = await download { connection in
                connection.send("HTTP/1.1 \(status)\r\n\r\n")
                connection.waitUntilClosed()
            }
            #expect(result == "The server answered 404 Not Found.")
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 103 Early Hints\r\nX: ",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: ",
    ])
    func headsHaveALimit(start: String) async {
        let line = String(repeating: "a", count: 1_000)
        let result = await download { connection in
            connection.send(start + "1\r\n")
            while connection.send("HTTP/x: \(line)\r\n") {}
        }
        #expect(result.hasPrefix("The download failed: ") || result == Self.closedEarly)
        #expect(!result.contains("longer than"))
    }

    /// The server may have signed the address.
    @Test func addressIsSentAsItIs() async {
        let head = await withScriptedOrigin { connection in
            guard connection.readHead() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        } _: { origin in
            _ = await downloaded(origin.url + "/a/../%2f%2F/b%20c?x=%c3%A9&y#z")
            return origin.requests.first ?? ""
        }
        #expect(head.hasPrefix("GET /a/../%2f%2F/b%20c?x=%c3%A9&y HTTP/1.1\r\n"))
    }

    @Test func connectionIsUsedAgainAfterAnError() async {
        await withScriptedOrigin { connection in
            while connection.readHead() != nil {
                connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc")
            }
        } _: { origin in
            let downloader = PhotoDownloader(
                limits: .patient, allowing: [.thisMachine], lookup: nil)
            for name in ["a", "b", "c"] {
                let result = await downloaded("\(origin.url)/\(name)", with: downloader)
                #expect(result == "The server answered 404 Not Found.")
            }
            #expect(origin.requests.count == 3 && origin.connectionCount == 1)
            await downloader.shutdown()
        }
    }
}
