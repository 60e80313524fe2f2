import Foundation
import HTTPTestClient
import Landscapes
import NIOHTTP1
import OperationsTestSupport
import Testing

@testable import DemoOrigin

@Suite(.ownThreads)
struct DemoOriginServerTests {
    private struct Line: Decodable {
        var name: String
        var url: String
    }

    @Test func listsContainURLsOfServer() async throws {
        try await withOrigin { server in
            let list = try await TestClient.send(server.propertyListURL)
            #expect(list.status == 200)
            let lines = try PropertyListDecoder().decode([Line].self, from: Data(list.body))
            #expect(lines.map(\.url) == server.catalog.entries.map { server.url + $0.path })
            let json = try await TestClient.send(server.jsonURL)
            #expect(json.headers.first(name: "content-type") == "application/json")
            let same = try JSONDecoder().decode([Line].self, from: Data(json.body))
            #expect(same.map(\.name) == lines.map(\.name))
        }
    }

    @Test func everyEntryBehavesAsItsKind() async throws {
        try await withOrigin { server in
            var seen: Set<DemoCatalog.Kind> = []
            for entry in server.catalog.entries where seen.insert(entry.kind).inserted {
                try await check(entry, server)
            }
            #expect(seen == Set(DemoCatalog.Kind.allCases))
        }
    }

    private func check(
        _ entry: DemoCatalog.Entry, _ server: DemoOriginServer
    ) async throws {
        let url = server.url + entry.path
        if entry.kind == .closedMidway {
            await #expect(throws: (any Error).self) { try await TestClient.send(url) }
            return
        }
        let reply = try await TestClient.send(url)
        #expect(reply.status == (entry.kind == .missing ? 404 : 200))
        let whole = entry.picture.rgb()
        switch entry.kind {
        case .good, .verySlow: #expect(reply.body == whole)
        case .truncated: #expect(reply.body == Array(whole.prefix(whole.count * 2 / 5)))
        case .htmlPage: #expect(reply.headers.first(name: "content-type") == "text/html")
        case .empty: #expect(reply.body.isEmpty)
        case .hugeHeader: #expect(reply.body == BrokenFiles.hugeHeader)
        case .randomBytes: #expect(reply.body.count == 40_000)
        case .missing, .closedMidway: break
        }
    }

    @Test func cachedPictureIsNotSentAgain() async throws {
        try await withOrigin { server in
            let entry = try #require(server.catalog.entries.first)
            let first = try await TestClient.send(server.url + entry.path)
            let tag = try #require(first.headers.first(name: "etag"))
            let date = try #require(first.headers.first(name: "last-modified"))
            #expect(first.headers.first(name: "cache-control") == "public, max-age=3600")
            let byTag = try await TestClient.send(
                server.url + entry.path, headers: ["If-None-Match": "\"other\", W/\(tag)"])
            #expect(byTag.status == 304)
            #expect(byTag.body.isEmpty)
            #expect(byTag.headers.first(name: "etag") == tag)
            let byDate = try await TestClient.send(
                server.url + entry.path, headers: ["If-Modified-Since": date])
            #expect(byDate.status == 304)
            let changed = try await TestClient.send(
                server.url + entry.path,
                headers: ["If-None-Match": "\"other\"", "If-Modified-Since": date])
            #expect(changed.status == 200)
        }
    }

    @Test func datesUseHTTPFormat() {
        #expect(Freshness.httpDate(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func unknownPathsAndMethodsAreRejected() async throws {
        try await withOrigin { server in
            let unknown = try await TestClient.send(server.url + "/photos/nothing.jpg")
            #expect(unknown.status == 404)
            let escape = try await TestClient.send(server.url + "/photos/..%2f..%2fetc/passwd")
            #expect(escape.status == 404)
            let post = try await TestClient.send(
                server.url + "/photos.plist", method: .POST)
            #expect(post.status == 405)
            let root = try await TestClient.send(server.url + "/")
            #expect(root.status == 200)
        }
    }

    @Test func delaysAreInRangeAndVary() {
        let configuration = DemoOriginServer.Configuration()
        let delays = (0..<240).map { configuration.delay($0) }
        #expect(delays.allSatisfy { configuration.latency.contains($0) })
        #expect(Set(delays).count > 200)
        #expect(delays == (0..<240).map { configuration.delay($0) })
    }

    @Test func errorNamesPortInUse() async throws {
        try await withOrigin { server in
            var configuration = DemoOriginServer.Configuration.quick
            configuration.port = server.port
            let error = await #expect(throws: DemoOriginError.self) {
                _ = try await DemoOriginServer.start(configuration, encoding: RawPhotos())
            }
            #expect(error?.description.contains("\(server.port)") == true)
        }
    }

    @Test func stopAbortsRequestsAndReleasesPort() async throws {
        let server = try await DemoOriginServer.start(.quick, encoding: RawPhotos())
        let slow = server.url(for: .drip(chunk: 1, milliseconds: 3_600_000))
        try await TestClient.withResponse(to: slow) { response in
            // The head has arrived, so the server is in the middle of its response.
            await server.stop()
            await server.stop()
            try await server.waitUntilStopped()
            await #expect(throws: (any Error).self) { for try await _ in response.body {} }
        }
        var again = DemoOriginServer.Configuration.quick
        again.port = server.port
        let second = try await DemoOriginServer.start(again, encoding: RawPhotos())
        #expect(second.port == server.port)
        await second.stop()
    }

    @Test func stopDropsRenderingsThatHaveNotBegun() async throws {
        var configuration = DemoOriginServer.Configuration.quick
        configuration.threads = 1
        let photos = HeldPhotos()
        let server = try await DemoOriginServer.start(configuration, encoding: photos)
        let paths = server.catalog.entries.filter { $0.kind == .good }.prefix(4).map(\.path)
        let requests = paths.map { path in
            Task { try await TestClient.send(server.url + path).status }
        }
        #expect(await photos.begun.arrives())
        #expect(await comesTrue { paths.allSatisfy { server.requestCount(for: $0) > 0 } })
        let stopping = Task { await server.stop() }
        // The thread is still occupied, but three requests end.
        await withTaskGroup { group in
            for request in requests { group.addTask { _ = await request.result } }
            for _ in 1..<requests.count { await group.next() }
            photos.released.send()
        }
        await stopping.value
        #expect(photos.count.value == 1)
    }

    @Test func disconnectedClientsLeaveNoRenderings() async throws {
        var configuration = DemoOriginServer.Configuration.quick
        configuration.threads = 1
        let photos = HeldPhotos()
        try await withOrigin(configuration, encoding: photos) { server in
            let paths = server.catalog.entries.filter { $0.kind == .good }.prefix(6).map(\.path)
            func request(_ path: String) -> Task<Int, any Error> {
                Task { try await TestClient.send(server.url + path).status }
            }
            let first = request(paths[0])
            #expect(await photos.begun.arrives())
            let passed = paths[1...4].map(request)
            #expect(await comesTrue { server.renderingRequestCount >= 5 })
            for request in passed { request.cancel() }
            #expect(await comesTrue { server.renderingRequestCount <= 1 })
            let visible = request(paths[5])
            photos.released.send()
            photos.released.send()
            let statuses = [try await first.value, try await visible.value]
            #expect(statuses == [200, 200])
            #expect(photos.count.value == 2)
        }
    }
}
