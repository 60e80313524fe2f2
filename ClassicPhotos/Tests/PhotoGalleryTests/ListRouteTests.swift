import DemoOrigin
import Foundation
import NIOHTTP1
import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

@testable import PhotoGallery

/// Orders of the list, viewports in another order, and retries of all failed photos.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct ListRouteTests {
    private static let page = String(repeating: "0c", count: 16)

    private struct Rows: Decodable { let rows: [Int] }

    private func rows(_ gallery: Gallery, _ query: String) async throws -> [Int] {
        let (status, _, text) = try await gallery.get("/api/order?\(query)")
        #expect(status == 200)
        return try JSONDecoder().decode(Rows.self, from: Data(text.utf8)).rows
    }

    @Test func orderFindsAndSortsRows() async throws {
        try await withGallery { gallery in
            let names = gallery.origin.catalog.entries.map(\.name)
            #expect(try await rows(gallery, "") == Array(names.indices))
            let query = String(names[7].prefix(4)).uppercased()
            let encoded = try #require(
                query.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            let expected = names.indices.filter { names[$0].uppercased().contains(query) }
            #expect(try await rows(gallery, "query=\(encoded)") == expected)
            #expect(try await rows(gallery, "query=%3Cscript%3E") == [])
            let sorted = try await rows(gallery, "sort=name")
            #expect(Set(sorted) == Set(names.indices) && sorted != Array(names.indices))
            #expect(try await rows(gallery, "state=failed") == [])
            #expect(try await rows(gallery, "state=new&sort=date").count == names.count)
        }
    }

    @Test(arguments: [
        "sort=color", "state=flying", "page=me", "query=" + String(repeating: "x", count: 201),
    ])
    func invalidOrderIsRejected(query: String) async throws {
        try await withGallery { gallery in
            let (status, _, text) = try await gallery.get("/api/order?\(query)")
            #expect(status == 400)
            #expect(text.contains("\"message\":\""))
        }
    }

    @Test func rowsInOtherOrderAreProcessedAndFound() async throws {
        try await withGallery { gallery in
            _ = try await gallery.events(page: Self.page) { event in
                if event.hasPrefix("event: hello") {
                    let report =
                        #"{"page":"\#(Self.page)","rows":[200,0,100],"phase":"settled","sequence":1}"#
                    let status = try await gallery.post("/api/viewport", report).status
                    #expect(status == 204)
                }
                return event.contains("\"filtered\":3")
            }
            let filtered = try await rows(gallery, "state=filtered&page=\(Self.page)")
            #expect(filtered == [0, 100, 200])
            // A new page knows the colors and the sizes of these photos at once.
            let other = String(repeating: "1c", count: 16)
            let events = try await gallery.events(page: other) { $0.hasPrefix("event: counts") }
            let facts = events.filter { $0.hasPrefix("event: row") }
            #expect(facts.count == 3)
            for event in facts {
                #expect(event.contains(/"color":"#[0-9a-f]{6}"/))
                #expect(event.contains(/"width":\d+/) && event.contains(/"height":\d+/))
                #expect(event.contains(#""state":"new""#))
            }
        }
    }

    @Test func returningPageGetsOnlyWhatItHasMissed() async throws {
        try await withGallery { gallery in
            var seen: [String] = []
            var sequence = 0
            func show(_ row: Int) async throws {
                sequence += 1
                let report =
                    #"{"page":"\#(Self.page)","rows":[\#(row)],"phase":"settled","#
                    + #""sequence":\#(sequence)}"#
                #expect(try await gallery.post("/api/viewport", report).status == 204)
            }
            func read(after id: String?, row: Int, count: Int) async throws -> [String] {
                sequence = 0
                // A photo may be reported as filtered while its work is about to end, and again
                // when it has ended.
                var (isCounted, isOver) = (false, false)
                return try await gallery.events(page: Self.page, after: id) { event in
                    if event.hasPrefix("event: hello") { try await show(row) }
                    isCounted = isCounted || event.contains("\"filtered\":\(count)")
                    if event.firstMatch(of: /"row":(\d+)/)?.1 == "\(row)" {
                        isOver =
                            event.contains(#""state":"filtered""#)
                            && event.contains(#""active":false"#)
                    }
                    // The identifier confirms the rows before it.
                    return isCounted && isOver && event.hasPrefix("id: ")
                }
            }
            seen = try await read(after: nil, row: 0, count: 1)
            #expect(seen.first?.contains(#""resumed":false"#) == true)
            let id = try #require(seen.last).dropFirst("id: ".count)
            // The page returns and gets nothing of the first row again.
            seen = try await read(after: String(id), row: 100, count: 2)
            #expect(seen.first?.contains(#""resumed":true"#) == true)
            let rows = seen.filter { $0.hasPrefix("event: row") }
            #expect(!rows.isEmpty && rows.allSatisfy { $0.contains(/"row":100\b/) })
            // It returns as if it had not received the last rows.
            seen = try await read(after: String(id), row: 100, count: 2)
            #expect(seen.contains { $0.contains(/"row":100\b/) })
            // Identifiers of another session, and texts that are none.
            for other in ["1.1", "\(id)000", "x", String(id.prefix { $0 != "." }) + ".-1"] {
                seen = try await read(after: other, row: 100, count: 2)
                #expect(seen.first?.contains(#""resumed":false"#) == true, "\(other)")
                #expect(seen.contains { $0.contains(/"row":0\b/) })
            }
        }
    }

    @Test func retryOfAllStartsFailedRows() async throws {
        try await withGallery { gallery in
            let entries = gallery.origin.catalog.entries
            let broken = try #require(entries.first { $0.kind == .htmlPage })
            // The version of the row when it failed for the first time.
            var first: Int?
            _ = try await gallery.events(page: Self.page) { event in
                if event.hasPrefix("event: hello") {
                    let report =
                        #"{"page":"\#(Self.page)","rows":[\#(broken.id)],"phase":"settled","#
                        + #""sequence":1}"#
                    let status = try await gallery.post("/api/viewport", report).status
                    #expect(status == 204)
                }
                guard event.contains(#""state":"failed""#),
                    let version = event.firstMatch(of: /"version":(\d+)/).flatMap({ Int($0.1) })
                else { return false }
                #expect(event.contains(#""retryable":true"#))
                #expect(event.contains(#""hasOriginal":false"#))
                #expect(event.contains(#""code":"notAPicture""#))
                if let first { return version > first }
                first = version
                let body = #"{"page":"\#(Self.page)","all":true}"#
                let status = try await gallery.post("/api/retry", body).status
                #expect(status == 204)
                return false
            }
            #expect(gallery.origin.requestCount(for: broken.path) == 2)
        }
    }

    @Test(arguments: ["", #","row":1,"all":true"#, #","all":false"#, #","row":"x""#])
    func invalidRetryIsRejected(rest: String) async throws {
        try await withGallery { gallery in
            // The page has to be open: its events have begun.
            _ = try await gallery.events(page: Self.page) { _ in true }
            let status = try await gallery.post(
                "/api/retry", #"{"page":"\#(Self.page)"\#(rest)}"#
            ).status
            #expect(status == 400)
        }
    }

    @Test func namesHaveNoCharactersThatReverseText() async throws {
        let record = PhotoRecord(
            id: PhotoID(rawValue: 7), name: "photo\u{202E}gpj.exe",
            url: try #require(URL(string: "http://a/b")))
        let failure = PhotoFailure(
            stage: .source, reason: "No photo\u{202E}gpj.exe.", isRetryable: false,
            cause: .init(.noFile, ["name": "photo\u{202E}gpj.exe"]))
        let failed = PhotoRecord(id: PhotoID(rawValue: 8), name: "failed", failure: failure)
        try await withGallery(photos: [record, failed], title: "list\u{202E}gpj") { gallery in
            let text = try await gallery.get("/api/photos").text
            #expect(text.contains("photo·gpj.exe") && text.contains("list·gpj"))
            let events = try await gallery.events(page: Self.page) { $0.contains("event: row") }
            #expect(events.last?.split(separator: "photo·gpj.exe").count == 3)
            let refusal = try await gallery.get("/api/photos/1/details").text
            #expect(refusal.split(separator: "photo·gpj.exe").count == 3)
            for text in events + [text, refusal] { #expect(!text.contains("\u{202E}")) }
        }
    }

    // MARK: Pictures and progress

    /// The events of a new page that shows one row, up to the filtered picture.
    private func events(
        _ gallery: Gallery, page: String, row: Int
    ) async throws -> [String] {
        try await gallery.events(page: page) { event in
            if event.hasPrefix("event: hello") {
                let report =
                    #"{"page":"\#(page)","rows":[\#(row)],"phase":"settled","sequence":1}"#
                let status = try await gallery.post("/api/viewport", report).status
                #expect(status == 204)
            }
            return event.contains(#""state":"filtered""#)
        }
    }

    private func pictures(_ events: [String]) -> [String] {
        events.compactMap { $0.firstMatch(of: /"picture":"([0-9a-f]{16})"/).map { String($0.1) } }
    }

    /// A page that is loaded again finds its pictures in the browser's cache.
    @Test func pictureHasSameAddressOnAllPages() async throws {
        try await withGallery { gallery in
            let first = try await events(gallery, page: Self.page, row: 3)
            let name = try #require(pictures(first).last)
            let (status, headers, bytes) = try await gallery.getBytes("/api/thumbnails/3/\(name)")
            #expect(status == 200)
            #expect(headers.first(name: "content-type") == "image/jpeg")
            #expect(headers.first(name: "cache-control")?.contains("immutable") == true)
            #expect(bytes.starts(with: [0xFF, 0xD8]))
            let second = try await events(
                gallery, page: String(repeating: "1d", count: 16), row: 3)
            #expect(pictures(second).last == name)
            for path in ["3/0123456789abcdef", "5/\(name)", "x/\(name)", "-1/\(name)"] {
                #expect(try await gallery.get("/api/thumbnails/\(path)").status == 404)
            }
        }
    }

    private struct Progress: Decodable {
        let row: Int
        let received: Int
        let total: Int
    }

    /// The page shows a photo that its list does not show.
    @Test func eventsTellProgressOfSinglePhoto() async throws {
        try await withGallery { gallery in
            let entries = gallery.origin.catalog.entries
            let slow = try #require(entries.first { $0.kind == .verySlow })
            var details: Task<Int, any Error>?
            let events = try await gallery.events(page: Self.page) { event in
                if event.hasPrefix("event: hello") {
                    details = Task {
                        try await gallery.get(
                            "/api/photos/\(slow.id)/details?page=\(Self.page)"
                        ).status
                    }
                }
                return event.hasPrefix("event: row")
            }
            #expect(try await details?.value == 200)
            let reports = events.filter { $0.hasPrefix("event: progress") }
            let row = try Regex("\"row\":\(slow.id)\\b")
            #expect(reports.count > 1 && reports.allSatisfy { $0.contains(row) })
            // The row ends the progress; the list itself has not loaded the photo.
            let last = try #require(events.last)
            #expect(last.contains(row) && last.contains(#""state":"new""#))
        }
    }

    @Test func eventsTellProgressByBytes() async throws {
        try await withGallery { gallery in
            let entries = gallery.origin.catalog.entries
            let slow = try #require(entries.first { $0.kind == .verySlow })
            let events = try await events(gallery, page: Self.page, row: slow.id)
            let reports = events.filter { $0.hasPrefix("event: progress") }
            #expect(!reports.isEmpty)
            var last = 0
            for report in reports {
                let text = try #require(report.split(separator: "data: ").last)
                let progress = try JSONDecoder().decode(Progress.self, from: Data(text.utf8))
                #expect(progress.row == slow.id)
                #expect(progress.received > last && progress.received <= progress.total)
                last = progress.received
            }
        }
    }
}
