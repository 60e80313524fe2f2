import OperationsTestSupport
import PhotoImaging
import PhotoTestSupport
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads, .timeLimit(.minutes(15))) struct PhotoIndexTests {
    /// A folder of photos, and the folder of a cache.
    private struct Library {
        let photos: URL
        let cache: URL

        init(in folder: URL) throws {
            photos = folder.appending(path: "photos")
            cache = folder.appending(path: "cache")
            try FileManager.default.createDirectory(at: photos, withIntermediateDirectories: true)
        }

        func write(_ name: String, title: String? = nil, seconds: Int = 1_000_000_000) throws {
            let segment = xmpSegment(xmpPacket(title: title, keywords: ["of \(name)"]))
            try photos.appending(path: name)
                .write(jpeg(jpeg(), with: [segment]), seconds: seconds)
        }

        func records() throws -> [PhotoRecord] {
            try PhotoList.read(changingFolder: photos, named: nil, followingLinks: false).records
        }

        func catalog() throws -> PhotoCatalog { PhotoCatalog(try records()) }

        func index() -> PhotoIndex {
            let file = PhotoIndexFile(folder: cache) { sentence in
                Issue.record("the cache says: \(sentence)")
            }
            return PhotoIndex(limits: SourceLimits(), file: file)
        }

        /// The titles that an index has after it has read a list.
        func titles(
            _ catalog: PhotoCatalog, _ index: PhotoIndex
        ) async -> [String: String] {
            index.prepare(catalog.contents)
            await index.ready(for: catalog.contents)
            let records = catalog.contents.rows.map { catalog.contents.records[$0] }
            return Dictionary(
                uniqueKeysWithValues: records.compactMap { record in
                    index[record.id]?.title.map { (record.name, $0) }
                })
        }
    }

    private func withLibrary(_ body: (Library) async throws -> Void) async throws {
        try await withTemporaryFolder { try await body(Library(in: $0)) }
    }

    @Test func filesAreReadBeforeTheyAreDecoded() async throws {
        try await withLibrary { library in
            for number in 0..<40 { try library.write("\(number).jpg", title: "t\(number)") }
            let (catalog, index) = (try library.catalog(), PhotoIndex())
            #expect(!index.isReady(for: catalog.contents))
            let changes = index.subscribe()
            let titles = await library.titles(catalog, index)
            #expect(titles.count == 40 && titles["7.jpg"] == "t7")
            #expect(index.isReady(for: catalog.contents))
            let first = try #require(index[catalog.contents.records[0].id])
            #expect(first.size == PixelSize(width: 64, height: 48) && first.decodedColor == nil)
            #expect(index.decoded.isEmpty)
            // The index announces what has changed.
            for await _ in changes { break }
            #expect(index.takeChanges() == Set(catalog.contents.records.map(\.id)))
            #expect(index.takeChanges().isEmpty)
            let rows = index.rows(
                of: catalog.contents, matching: "OF 39", sortedBy: .list, in: nil, states: [])
            #expect(rows.map { catalog.contents.records[$0].name } == ["39.jpg"])
            index.close()
        }
    }

    /// The second run finds everything in the file, even if the photos could not be read.
    @Test func secondRunReadsNoHeaders() async throws {
        try await withLibrary { library in
            for number in 0..<20 { try library.write("\(number).jpg", title: "t\(number)") }
            let former = library.index()
            let titles = await library.titles(try library.catalog(), former)
            former.close()
            // Files with other contents, but the same inode, size and time.
            for number in 0..<20 {
                let url = library.photos.appending(path: "\(number).jpg")
                let count = try Data(contentsOf: url).count
                try url.write([UInt8](repeating: 0, count: count))
            }
            // A renamed file is known, too.
            try FileManager.default.moveItem(
                at: library.photos.appending(path: "3.jpg"),
                to: library.photos.appending(path: "renamed.jpg"))
            let latter = library.index()
            let catalog = try library.catalog()
            let again = await library.titles(catalog, latter)
            #expect(again.count == 20 && again["renamed.jpg"] == titles["3.jpg"])
            #expect(again["4.jpg"] == "t4")
            let size = latter[catalog.contents.records[0].id]?.size
            #expect(size == PixelSize(width: 64, height: 48))
            latter.close()
        }
    }

    @Test func changedFileIsReadAgain() async throws {
        try await withLibrary { library in
            try library.write("a.jpg", title: "former")
            let (catalog, index) = (try library.catalog(), library.index())
            _ = catalog.update(to: try library.records())
            #expect(await library.titles(catalog, index) == ["a.jpg": "former"])
            try library.write("a.jpg", title: "latter", seconds: 1_000_000_100)
            #expect(catalog.update(to: try library.records()).change != nil)
            #expect(await library.titles(catalog, index) == ["a.jpg": "latter"])
            index.close()
            let next = library.index()
            #expect(await library.titles(try library.catalog(), next) == ["a.jpg": "latter"])
            next.close()
        }
    }

    /// A file that has just been changed may change again within the same tick of its clock.
    @Test func factsOfFreshFileAreNotKept() async throws {
        try await withLibrary { library in
            try library.write("a.jpg", title: "t", seconds: Int(Date.now.timeIntervalSince1970) + 1)
            try library.write("b.jpg", title: "t")
            let index = library.index()
            let catalog = try library.catalog()
            #expect(await library.titles(catalog, index).count == 2)
            index.close()
            let opened = PhotoIndexFile(folder: library.cache) { _ in }
            let file = try #require(opened)
            let keys = catalog.contents.records.compactMap(\.file?.status).map(PhotoFileKey.init)
            #expect(keys.count == 2)
            // The time of the first file is not in the past.
            #expect(Set(file.records(of: Set(keys)).keys).isSubset(of: keys))
            #expect(file.records(of: Set(keys)).keys.contains(keys[1]))
        }
    }

    @Test func sidecarsReplaceWhatTheFileSays() async throws {
        try await withLibrary { library in
            for name in ["a.jpg", "b.jpg", "c.JPG"] { try library.write(name, title: "own") }
            func put(_ name: String, _ title: String) throws {
                let packet = Array(xmpPacket(title: title).utf8)
                try library.photos.appending(path: name).write(packet)
            }
            try put("a.xmp", "beside a")
            try put("b.XMP", "beside b")
            try put("b.jpg.xmp", "of b alone")
            try put("c.JPG.xmp", "of c")
            let (catalog, index) = (try library.catalog(), library.index())
            #expect(
                await library.titles(catalog, index)
                    == ["a.jpg": "beside a", "b.jpg": "of b alone", "c.JPG": "of c"])
            // The rest is the photo's own.
            let facts = index.facts(of: catalog.contents.records.map(\.id)).compactMap(\.self)
            #expect(facts.map(\.keywords) == [["of a.jpg"], ["of b.jpg"], ["of c.JPG"]])
            // The photos stay the same, and the sidecars change.
            try put("a.xmp", "another one beside a")
            try FileManager.default.removeItem(at: library.photos.appending(path: "b.jpg.xmp"))
            let titles = await library.titles(catalog, index)
            #expect(titles["a.jpg"] == "another one beside a" && titles["b.jpg"] == "beside b")
            index.close()
            let next = library.index()
            #expect(await library.titles(try library.catalog(), next) == titles)
            next.close()
        }
    }

    /// A sidecar is no way out of the folder.
    @Test func linkedSidecarOutsideIsNotRead() async throws {
        try await withLibrary { library in
            try library.write("a.jpg", title: "own")
            let secret = library.photos.deletingLastPathComponent().appending(path: "secret.xmp")
            try secret.write(Array(xmpPacket(title: "secret").utf8))
            try FileManager.default.createSymbolicLink(
                at: library.photos.appending(path: "a.xmp"), withDestinationURL: secret)
            let index = library.index()
            #expect(await library.titles(try library.catalog(), index) == ["a.jpg": "own"])
            index.close()
        }
    }

    @Test func decodedPhotosKeepTheTextsOfTheirFiles() async throws {
        try await withLibrary { library in
            try library.write("a.jpg", title: "own")
            let (catalog, index) = (try library.catalog(), PhotoIndex())
            let id = catalog.contents.records[0].id
            var decoded = PhotoFacts()
            (decoded.decodedColor, decoded.size) = (0x123456, PixelSize(width: 9, height: 9))
            index.decoded(id, decoded)
            #expect(index.decoded == [id] && index[id]?.title == nil)
            #expect(await library.titles(catalog, index) == ["a.jpg": "own"])
            #expect(index[id]?.color == 0x123456 && index.decoded == [id])
            index.decoded(id, decoded)
            #expect(index[id]?.title == "own" && index[id]?.size == decoded.size)
            index.close()
        }
    }

    /// Nobody waits for photos that a closed index does not read.
    @Test func closedIndexReadsNothingMore() async throws {
        try await withLibrary { library in
            for number in 0..<100 { try library.write("\(number).jpg", title: "t") }
            let catalog = try library.catalog()
            let closed = PhotoIndex()
            closed.close()
            #expect(await library.titles(catalog, closed).isEmpty)
            // Closed while it reads.
            let index = PhotoIndex()
            index.prepare(catalog.contents)
            index.close()
            await index.ready(for: catalog.contents)
        }
    }

    /// A photo without a small picture has colors in the next run, after it was decoded once.
    @Test func colorsOfDecodedPhotoAreKept() async throws {
        try await withLibrary { library in
            try library.write("a.jpg", title: "own")
            let (catalog, former) = (try library.catalog(), library.index())
            let id = catalog.contents.records[0].id
            #expect(await library.titles(catalog, former) == ["a.jpg": "own"])
            #expect(former[id]?.color == nil)
            var decoded = PhotoFacts()
            (decoded.decodedColor, decoded.size) = (0x102030, former[id]?.size)
            decoded.placeholder = PhotoPlaceholder(cells: Array(repeating: 0xF800, count: 12))
            former.decoded(id, decoded)
            former.close()
            let latter = library.index()
            #expect(await library.titles(catalog, latter) == ["a.jpg": "own"])
            #expect(latter[id]?.color == 0xFF0000 && latter.decoded.isEmpty)
            latter.close()
        }
    }

    @Test func fileThatCannotBeReadIsNotReadAgain() async throws {
        try await withLibrary { library in
            try library.write("a.jpg", title: "own")
            let (catalog, index) = (try library.catalog(), library.index())
            let url = library.photos.appending(path: "a.jpg")
            try FileManager.default.removeItem(at: url)
            #expect(await library.titles(catalog, index) == [:])
            // A folder with the name of a photo.
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
            #expect(await library.titles(catalog, index) == [:])
            #expect(index[catalog.contents.records[0].id] == PhotoFacts())
            #expect(index.isReady(for: catalog.contents))
            index.close()
        }
    }
}
