import OperationsTestSupport
import PhotoTestSupport
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if os(Linux)
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct FolderWatchTests {
    /// Waits until a new watch of a list tells of a change.
    private func tells(_ list: PhotoList, _ change: () throws -> Void) async throws -> Bool {
        let changed = Signal()
        let watch = FolderWatch { changed.send() }
        #expect(watch.watch(list) == .begun)
        #expect(watch.watch(list) == .complete)
        try change()
        return await changed.arrives()
    }

    @Test func changesInAllFoldersOfListAreTold() async throws {
        try await withTemporaryFolder { folder in
            let below = folder.appending(path: "below")
            try FileManager.default.createDirectory(at: below, withIntermediateDirectories: true)
            try Data(jpeg()).write(to: folder.appending(path: "a.jpg"))
            let list = try PhotoList.read(folder: folder)
            for name in ["b.jpg", "a.jpg", "below/b.jpg"] {
                let file = folder.appending(path: name)
                #expect(try await tells(list) { try Data(jpeg()).write(to: file) })
            }
            #expect(
                try await tells(list) {
                    try FileManager.default.createDirectory(
                        at: folder.appending(path: "new"), withIntermediateDirectories: true)
                })
            let file = folder.appending(path: "b.jpg")
            let other = folder.appending(path: "below/c.jpg")
            #expect(try await tells(list) { try FileManager.default.removeItem(at: file) })
            #expect(
                try await tells(list) {
                    try FileManager.default.moveItem(
                        at: folder.appending(path: "below/b.jpg"), to: other)
                })
            // A new folder is watched from the next reading on.
            let later = try PhotoList.read(folder: folder)
            let watch = FolderWatch {}
            #expect(watch.watch(list) == .begun)
            #expect(watch.watch(later) == .begun)
            #expect(watch.watch(later) == .complete)
        }
    }

    @Test func foldersOfListInFileAreWatched() async throws {
        try await withTemporaryFolder { folder in
            let lists = folder.appending(path: "lists")
            let photos = folder.appending(path: "photos")
            for folder in [lists, photos] {
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true)
            }
            let file = lists.appending(path: "list.txt")
            try Data("../photos/a.jpg\n".utf8).write(to: file)
            let list = try PhotoList.read(file: file)
            let photo = photos.appending(path: "a.jpg")
            #expect(try await tells(list) { try Data(jpeg()).write(to: photo) })
            #expect(
                try await tells(list) { try Data("../photos/b.jpg\n".utf8).write(to: file) })
        }
    }

    @Test func missingFolderIsNotWatched() async throws {
        try await withTemporaryFolder { folder in
            try Data(jpeg()).write(to: folder.appending(path: "a.jpg"))
            let list = try PhotoList.read(folder: folder)
            try FileManager.default.removeItem(at: folder)
            #expect(FolderWatch {}.watch(list) == .incomplete)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
    }
}
#endif
