import OperationsTestSupport
import PhotoTestSupport
import Synchronization
import Testing

@testable import PhotoPipeline

/// Downloads that are interrupted in the middle of the body.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct ResumedDownloadTests {
    /// Downloads a text whose first response ends after "One, ". Returns the text or the reason of
    /// the failure, and the heads of the requests.
    ///
    /// - Parameter next: sends the responses after the first, given the head of the request.
    private func download(
        tag: String, next: @escaping @Sendable (ScriptedOrigin.Connection, String) -> Void
    ) async -> (result: String, requests: [String]) {
        var limits = DownloadLimits.patient
        limits.attempts = 3
        let connections = Mutex(0)
        return await withScriptedOrigin { connection in
            let isFirst = connections.withLock { count in
                count += 1
                return count == 1
            }
            guard let head = connection.readHead() else { return }
            guard isFirst else { return next(connection, head) }
            connection.send(
                "HTTP/1.1 200 OK\r\n\(tag)Content-Length: 15\r\nAccept-Ranges: bytes\r\n\r\n")
            connection.send("One, ")
        } _: { [limits] origin in
            (await downloaded(origin.url + "/", limits: limits), origin.requests)
        }
    }

    private static func whole(_ connection: ScriptedOrigin.Connection) {
        connection.send(
            "HTTP/1.1 200 OK\r\nContent-Length: 15\r\nConnection: close\r\n\r\nAll, two, three")
    }

    @Test func onlyTheRestIsRequested() async {
        let (result, requests) = await download(tag: "ETag: \"1\"\r\n") { connection, _ in
            connection.send(
                "HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\nContent-Range: bytes 5-14/15\r\n"
                    + "Content-Length: 10\r\nConnection: close\r\n\r\ntwo, three")
        }
        #expect(result == "One, two, three")
        #expect(requests.count == 2)
        #expect(requests.last?.contains("Range: bytes=5-\r\n") == true)
        #expect(requests.last?.contains("If-Range: \"1\"\r\n") == true)
    }

    @Test func changedFileIsSentAsAWhole() async {
        let (result, requests) = await download(tag: "ETag: \"1\"\r\n") { connection, _ in
            Self.whole(connection)
        }
        #expect(result == "All, two, three")
        #expect(requests.count == 2)
    }

    /// A weak tag, or none, does not tell whether the bytes are equal.
    @Test(arguments: ["", "ETag: W/\"1\"\r\n"])
    func withoutStrongTagTheWholeFileIsRequested(tag: String) async {
        let (result, requests) = await download(tag: tag) { connection, _ in
            Self.whole(connection)
        }
        #expect(result == "All, two, three")
        #expect(requests.last?.contains("Range:") == false)
    }

    /// The whole file is requested after a part that does not fit.
    @Test(arguments: [
        "206 Partial Content\r\nContent-Range: bytes 4-13/15",
        "206 Partial Content\r\nETag: \"2\"\r\nContent-Range: bytes 5-14/15",
        "206 Partial Content", "416 Range Not Satisfiable",
    ])
    func wrongPartIsRejected(answer: String) async {
        let (result, requests) = await download(tag: "ETag: \"1\"\r\n") { connection, head in
            guard head.contains("Range:") else { return Self.whole(connection) }
            connection.send(
                "HTTP/1.1 \(answer)\r\nContent-Length: 10\r\nConnection: close\r\n\r\nwrong part")
        }
        #expect(result == "All, two, three")
        #expect(requests.count == 3)
    }

    @Test func partCountsTowardsTheLimit() async {
        var limits = DownloadLimits.patient
        limits.attempts = 2
        limits.maximumBytes = 1 << 20
        let half = [UInt8](repeating: 1, count: 600_000)
        let result = await withScriptedOrigin { connection in
            guard let head = connection.readHead() else { return }
            // The end of the connection may overtake the last bytes of the first response.
            let start = head.firstMatch(of: /Range: bytes=(\d+)-/).flatMap { Int($0.1) }
            // Only together with its beginning is the rest too long, by one byte.
            let body = start.map { [UInt8](repeating: 1, count: (1 << 20) - $0 + 1) } ?? half
            let status = start.map {
                "206 Partial Content\r\nContent-Range: bytes \($0)-9999999/10000000"
            }
            connection.send(
                "HTTP/1.1 \(status ?? "200 OK")\r\nETag: \"1\"\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n")
            connection.send(String(body.count, radix: 16) + "\r\n")
            connection.send(bytes: body)
            connection.send("\r\n" + (start == nil ? "" : "0\r\n\r\n"))
        } _: { [limits] origin in
            await downloaded(origin.url + "/", limits: limits)
        }
        #expect(
            result == "The file is larger than 1 MiB. Use a smaller file, or raise the limit.")
    }
}
