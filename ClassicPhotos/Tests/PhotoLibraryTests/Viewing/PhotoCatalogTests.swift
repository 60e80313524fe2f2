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

@Suite(.ownThreads) struct PhotoCatalogTests {
    /// A folder whose photos change, and the catalog of its photos.
    private struct Changing {
        let folder: URL
        let catalog: PhotoCatalog

        /// - Parameter second: the time of the file, long ago.
        func write(_ name: String, second: Int = 0) throws {
            let file = folder.appending(path: name)
            try Data(jpeg()).write(to: file)
            let date = Date(timeIntervalSince1970: 1_000_000_000 + Double(second))
            try FileManager.default.setAttributes(
                [.modificationDate: date], ofItemAtPath: file.systemPath)
        }

        func remove(_ name: String) throws {
            try FileManager.default.removeItem(at: folder.appending(path: name))
        }

        func list() throws -> [PhotoRecord] {
            try PhotoList.read(changingFolder: folder, named: nil, followingLinks: false).records
        }

        func update() throws -> PhotoCatalog.Change? { try catalog.update(to: list()).change }

        /// The names of the photos in the order of the list.
        var names: [String] {
            let contents = catalog.contents
            return contents.rows.map { contents.records[$0].name }
        }

        /// The row of a photo.
        func row(_ name: String) -> Int? {
            let contents = catalog.contents
            return contents.rows.first { contents.records[$0].name == name }
        }
    }

    private func withChangingFolder(
        _ names: [String], _ body: (Changing) throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let empty = Changing(folder: folder, catalog: PhotoCatalog([]))
            for name in names { try empty.write(name) }
            let changing = Changing(folder: folder, catalog: PhotoCatalog(try empty.list()))
            #expect(try changing.update() == nil, "nothing has changed yet")
            try body(changing)
        }
    }

    @Test func newPhotosComeInTheirPlaceAndOthersKeepTheirRows() async throws {
        try await withChangingFolder(["b.jpg", "d.jpg"]) { changing in
            try changing.write("a.jpg")
            try changing.write("c.jpg")
            let change = try #require(try changing.update())
            #expect(changing.names == ["a.jpg", "b.jpg", "c.jpg", "d.jpg"])
            #expect(changing.row("b.jpg") == 0 && changing.row("d.jpg") == 1)
            #expect(change.changedRows == [] && change.contents.rows == [2, 0, 3, 1])
            #expect(!change.contents.isInRowOrder && change.contents.revision == 1)
        }
    }

    @Test func photosAtTheEndKeepTheOrderOfRows() async throws {
        try await withChangingFolder(["a.jpg"]) { changing in
            try changing.write("b.jpg")
            let change = try #require(try changing.update())
            #expect(change.contents.isInRowOrder && change.contents.rows == [0, 1])
        }
    }

    @Test func deletedPhotoLeavesItsRowAndReturnsToIt() async throws {
        try await withChangingFolder(["a.jpg", "b.jpg"]) { changing in
            let id = changing.catalog.contents.records[0].id
            try changing.remove("a.jpg")
            let change = try #require(try changing.update())
            #expect(changing.names == ["b.jpg"] && change.changedRows == [0])
            #expect(change.contents.emptyRows == [0])
            #expect(change.contents.record(at: 0) == nil && change.contents.record(at: 2) == nil)
            try changing.write("a.jpg", second: 1)
            #expect(try changing.update()?.changedRows == [0])
            #expect(changing.names == ["a.jpg", "b.jpg"] && changing.row("a.jpg") == 0)
            // It may have other contents than before.
            #expect(changing.catalog.contents.records[0].id != id)
        }
    }

    @Test func allPhotosMayGo() async throws {
        try await withChangingFolder(["a.jpg"]) { changing in
            try changing.remove("a.jpg")
            #expect(try changing.update()?.contents.rows == [])
        }
    }

    @Test func changedFileKeepsItsRowAndGetsAnotherIdentifier() async throws {
        try await withChangingFolder(["a.jpg", "b.jpg"]) { changing in
            let former = changing.catalog.contents.records
            try changing.write("b.jpg", second: 1)
            let change = try #require(try changing.update())
            #expect(change.changedRows == [1] && change.contents.isInRowOrder)
            let present = change.contents.records
            #expect(present[0].id == former[0].id)
            #expect(present[1].id != former[1].id && present[1].url == former[1].url)
            #expect(try changing.update() == nil)
        }
    }

    /// A file that is being copied is shown once it has been still for a second.
    @Test func freshFileWaits() async throws {
        try await withChangingFolder(["a.jpg", "b.jpg"]) { changing in
            let time = Date(timeIntervalSinceNow: 1_000)
            try changing.write("c.jpg")
            for name in ["b.jpg", "c.jpg"] {
                // In the future, so that the test may take its time.
                let file = changing.folder.appending(path: name)
                try FileManager.default.setAttributes(
                    [.modificationDate: time], ofItemAtPath: file.systemPath)
            }
            let now = time.addingTimeInterval(0.5)
            let early = changing.catalog.update(to: try changing.list(), at: now)
            #expect(early.change == nil && early.isWaiting)
            let late = changing.catalog.update(
                to: try changing.list(), at: time.addingTimeInterval(2))
            #expect(late.change?.changedRows == [1] && !late.isWaiting)
            #expect(changing.names == ["a.jpg", "b.jpg", "c.jpg"])
        }
    }
}
