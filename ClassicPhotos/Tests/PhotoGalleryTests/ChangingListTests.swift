import Foundation
import NIOHTTP1
import OperationsTestSupport
import RawFiles
import Testing

@testable import PhotoGallery

/// The list of a gallery whose folder changes, on a real server.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct ChangingListTests {
    private struct List: Decodable {
        struct Photo: Decodable {
            let id: String
            let name: String
        }
        let total: Int
        let inRowOrder: Bool
        let revision: Int
        let photos: [Photo]
    }

    private struct Order: Decodable { let rows: [Int] }

    private let page = String(repeating: "5a", count: 16)

    private func list(_ gallery: Gallery) async throws -> List {
        let text = try await gallery.get("/api/photos").text
        return try JSONDecoder().decode(List.self, from: Data(text.utf8))
    }

    /// The names in the order of the list.
    private func names(
        _ gallery: Gallery, sortedBy key: String = "list"
    ) async throws -> [String] {
        let text = try await gallery.get("/api/order?sort=\(key)").text
        let order = try JSONDecoder().decode(Order.self, from: Data(text.utf8))
        let photos = try await list(gallery).photos
        return order.rows.map { photos.indices.contains($0) ? photos[$0].name : "?" }
    }

    private func waitForNames(_ wanted: [String], _ gallery: Gallery) async throws {
        var latest: [String] = []
        let isThere = try await eventually {
            latest = try await names(gallery)
            return latest == wanted
        }
        #expect(isThere, "the names are \(latest)")
    }

    @Test func newPhotosAppearAndDeletedOnesGo() async throws {
        try await withGalleryOfFolder(["b.jpg"]) { gallery, folder in
            try folder.write("a.jpg")
            try await waitForNames(["a.jpg", "b.jpg"], gallery)
            try folder.remove("b.jpg")
            try await waitForNames(["a.jpg"], gallery)
            let list = try await list(gallery)
            #expect(list.total == 1 && !list.inRowOrder && list.revision == 2)
            #expect(list.photos.map(\.name) == ["", "a.jpg"] && list.photos[0].id == "")
            #expect(try await gallery.get("/api/photos/0/original").status == 404)
            #expect(try await gallery.get("/api/photos/1/original").status == 200)
            #expect(try await gallery.get("/metrics").text.contains("classicphotos_photos 1\n"))
        }
    }

    @Test func pageIsToldOfChanges() async throws {
        try await withGalleryOfFolder(["a.jpg"]) { gallery, folder in
            let events = try await gallery.events(page: page) { event in
                if event.hasPrefix("event: hello") { try folder.write("0.jpg") }
                return event.hasPrefix("event: list")
            }
            let hello = try #require(events.first)
            #expect(hello.contains(#""total":1"#) && hello.contains(#""inRowOrder":true"#))
            let change = try #require(events.last)
            #expect(change.contains(#""total":2"#) && change.contains(#""inRowOrder":false"#))
            // By this number the page knows names that were read before the change.
            #expect(change.contains(#""revision":1"#))
            #expect(try await list(gallery).revision == 1)
        }
    }

    @Test func changedFileIsShownAnew() async throws {
        try await withGalleryOfFolder(["a.jpg", "b.jpg"]) { gallery, folder in
            let former = try await list(gallery).photos
            let original = try await gallery.getBytes("/api/photos/1/original").bytes
            var shown: [String] = []
            // The page gets the picture, and then that of the changed file.
            _ = try await gallery.events(page: page) { event in
                if event.hasPrefix("event: hello") {
                    let report =
                        #"{"page":"\#(page)","first":0,"last":1,"phase":"settled","sequence":1}"#
                    #expect(try await gallery.post("/api/viewport", report).status == 204)
                }
                guard event.contains(#""row":1"#), event.contains(#""state":"filtered""#),
                    let match = event.firstMatch(of: #/"picture":"(\w+)"/#)
                else { return false }
                let picture = String(match.1)
                if shown.last != picture { shown.append(picture) }
                if shown.count == 1 { try folder.write("b.jpg", gray: 20) }
                return shown.count == 2
            }
            let present = try await list(gallery).photos
            #expect(present[0].id == former[0].id && present[1].id != former[1].id)
            #expect(try await gallery.getBytes("/api/photos/1/original").bytes != original)
        }
    }

    /// The order is that of the files, before any photo was decoded.
    @Test func dateTakenIsReadBeforePhotosAreShown() async throws {
        try await withGalleryOfFolder(["z.jpg"]) { gallery, folder in
            let plain = try folder.bytes(of: "z.jpg")
            for (name, year) in [("a.jpg", 2021), ("b.jpg", 2024), ("c.jpg", 2019)] {
                // The time of all files is in 2001.
                try folder.write(name, bytes: jpeg(plain, taken: "\(year):05:06 07:08:09"))
            }
            try await waitForNames(["a.jpg", "b.jpg", "c.jpg", "z.jpg"], gallery)
            #expect(
                try await names(gallery, sortedBy: "date") == ["b.jpg", "a.jpg", "c.jpg", "z.jpg"])
        }
    }

    /// A JPEG with an EXIF block that has the time of the exposure.
    private func jpeg(_ plain: [UInt8], taken: String) -> [UInt8] {
        func number(_ value: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        func directory(_ tag: Int, _ kind: Int, _ count: Int, _ value: Int) -> [UInt8] {
            number(1, 2) + number(tag, 2) + number(kind, 2) + number(count, 4) + number(value, 4)
                + number(0, 4)
        }
        let text = Array(taken.utf8) + [0]
        let block =
            Array("Exif\0\0II*\0".utf8) + number(8, 4) + directory(0x8769, 4, 1, 26)
            + directory(0x9003, 2, text.count, 44) + text
        let length = block.count + 2
        return plain.prefix(2) + [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 255)] + block
            + plain.dropFirst(2)
    }

    /// The size, the color and the title of a photo are known before it is decoded, and titles are
    /// searched.
    @Test func factsOfFilesReachThePage() async throws {
        try await withGalleryOfFolder(["a.jpg"]) { gallery, folder in
            func packet(_ title: String) -> [UInt8] {
                let item = "<rdf:li>\(title)</rdf:li>"
                return Array("<dc:title><rdf:Alt>\(item)</rdf:Alt></dc:title>".utf8)
            }
            try folder.write("b.jpg")
            try folder.write("b.xmp", bytes: packet("Fête"))
            try await waitForNames(["a.jpg", "b.jpg"], gallery)
            let found = try await gallery.get("/api/order?query=fete&complete=1").text
            #expect(found == #"{"rows":[1]}"#)
            let text = try await gallery.get("/api/photos").text
            #expect(text.contains(#""width":64"#) && text.contains(#""height":48"#))
            #expect(text.contains(#""title":"Fête""#))
            // The page shows the new title, although no photo has changed.
            _ = try await gallery.events(page: page) { event in
                if event.hasPrefix("event: hello") {
                    let report =
                        #"{"page":"\#(page)","first":0,"last":1,"phase":"settled","sequence":1}"#
                    #expect(try await gallery.post("/api/viewport", report).status == 204)
                }
                if event.contains(#""row":1"#), event.contains(#""title":"Fête""#) {
                    try folder.write("b.xmp", bytes: packet("Neu"))
                }
                return event.contains(#""row":1"#) && event.contains(#""title":"Neu""#)
            }
        }
    }

    /// A raw file is shown by its JPEG, and its original is a file to save.
    @Test func rawFileIsShownAndSaved() async throws {
        try await withGalleryOfFolder(["a.jpg"]) { gallery, folder in
            let raw = RawFileForm.nef.bytes(around: try folder.bytes(of: "a.jpg"), orientation: 6)
            try folder.write("b.NEF", bytes: raw)
            try await waitForNames(["a.jpg", "b.NEF"], gallery)
            let details = try await gallery.get("/api/photos/1/details").text
            #expect(details.contains(#""format":"raw""#) && details.contains("Maker Model 5"))
            #expect(details.contains(#""taken":"2021-03-04T05:06:07""#))
            #expect(try await gallery.get("/api/photos/1/picture?fit=640").status == 200)
            let (status, headers, _) = try await gallery.get("/api/photos/1/original")
            #expect(status == 200)
            #expect(headers.first(name: "content-type") == "application/octet-stream")
            #expect(
                headers.first(name: "content-disposition")?.hasPrefix(
                    "attachment; filename=\"b.NEF\"") == true)
            #expect(try await gallery.getBytes("/api/photos/1/original").bytes == raw)
            let result = try await gallery.get("/api/photos/1/result").headers
            #expect(
                result.first(name: "content-disposition")?.hasPrefix(
                    "attachment; filename=\"b.jpg\"") == true)
        }
    }

    @Test func emptyFolderWaitsForPhotos() async throws {
        try await withGalleryOfFolder([]) { gallery, folder in
            #expect(try await list(gallery).total == 0)
            try folder.write("a.jpg")
            try await waitForNames(["a.jpg"], gallery)
            try folder.remove("a.jpg")
            try await waitForNames([], gallery)
        }
    }
}
