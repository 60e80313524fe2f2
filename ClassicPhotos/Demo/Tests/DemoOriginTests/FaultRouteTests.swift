import HTTPTestClient
import NIOHTTP1
import OperationsTestSupport
import Testing

@testable import DemoOrigin

@Suite(.ownThreads)
struct FaultRouteTests {
    @Test func redirectChainEndsAtPicture() async throws {
        try await withOrigin { server in
            var path = DemoFault.redirects(3).path
            var hops = 0
            while true {
                let reply = try await TestClient.send(server.url + path)
                guard let next = reply.headers.first(name: "location") else {
                    #expect(reply.status == 200)
                    #expect(!reply.body.isEmpty)
                    break
                }
                #expect(reply.status == 302)
                path = next
                hops += 1
                try #require(hops < 10)
            }
            #expect(hops == 3)
        }
    }

    @Test func redirectLoopPointsToItself() async throws {
        try await withOrigin { server in
            let reply = try await TestClient.send(server.url(for: .redirectLoop))
            #expect(reply.headers.first(name: "location") == DemoFault.redirectLoop.path)
        }
    }

    @Test func onlyHugeDeclaresItsLength() async throws {
        try await withOrigin { server in
            let size = 300_000
            let huge = try await TestClient.send(server.url(for: .huge(bytes: size)))
            #expect(huge.headers.first(name: "content-length") == "\(size)")
            #expect(huge.body.count == size)
            let endless = try await TestClient.send(server.url(for: .endless(bytes: size)))
            #expect(endless.headers.first(name: "content-length") == nil)
            #expect(endless.headers.first(name: "transfer-encoding") == "chunked")
            #expect(endless.body.count == size)
        }
    }

    @Test func clientMayAbandonHugeBody() async throws {
        try await withOrigin { server in
            try await TestClient.withResponse(to: server.url(for: .huge(bytes: 1 << 40))) { huge in
                var count = 0
                for try await part in huge.body {
                    count += part.count
                    if count > 1 << 20 { break }
                }
                #expect(count > 1 << 20)
            }
        }
    }

    @Test func dripDeliversWholePicture() async throws {
        try await withOrigin { server in
            let good = try await TestClient.send(server.url(for: .none))
            let slow = try await TestClient.send(
                server.url(for: .drip(chunk: 512, milliseconds: 1)))
            #expect(slow.body == good.body)
        }
    }

    @Test func closeEarlySendsOnlyRequestedBytes() async throws {
        try await withOrigin { server in
            let url = server.url(for: .closeEarly(after: 1000))
            try await TestClient.withResponse(to: url) { response in
                #expect(response.status == 200)
                var count = 0
                await #expect(throws: (any Error).self) {
                    for try await part in response.body { count += part.count }
                }
                #expect(count <= 1000)
            }
        }
    }

    @Test(arguments: [429, 503])
    func flakyFailsThenSucceeds(status: Int) async throws {
        try await withOrigin { server in
            let fault = DemoFault.flaky(status: status, failures: 2, retryAfter: 7, key: "one")
            for _ in 0..<2 {
                let refused = try await TestClient.send(server.url(for: fault))
                #expect(refused.status == status)
                #expect(refused.headers.first(name: "retry-after") == "7")
            }
            #expect(try await TestClient.send(server.url(for: fault)).status == 200)
            #expect(server.requestCount(for: fault.path) == 3)
            let other = DemoFault.flaky(status: status, failures: 2, retryAfter: 7, key: "two")
            #expect(try await TestClient.send(server.url(for: other)).status == status)
        }
    }

    @Test func neverAnswersUntilClientGivesUp() async throws {
        try await withOrigin { server in
            let request = Task { try await TestClient.send(server.url(for: .neverAnswers)) }
            #expect(
                await comesTrue { server.requestCount(for: DemoFault.neverAnswers.path) == 1 })
            request.cancel()
            await #expect(throws: (any Error).self) { try await request.value }
        }
    }

    @Test func brokenPicturesHaveTheirDeclaredFaults() async throws {
        try await withOrigin { server in
            let page = try await TestClient.send(server.url(for: .htmlPage))
            #expect(String(decoding: page.body, as: UTF8.self).hasPrefix("<!doctype html>"))
            #expect(try await TestClient.send(server.url(for: .empty)).body.isEmpty)
            let good = try await TestClient.send(server.url(for: .none)).body
            let cut = try await TestClient.send(server.url(for: .truncated)).body
            #expect(cut == Array(good.prefix(good.count * 2 / 5)))
            #expect(try await TestClient.send(server.url(for: .randomBytes)).body.first == 0)
            let header = try await TestClient.send(server.url(for: .hugeHeader)).body
            #expect(header == BrokenFiles.hugeHeader)
            #expect(try await TestClient.send(server.url(for: .status(418))).status == 418)
        }
    }
}
