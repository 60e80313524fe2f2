import Foundation
import OperationsTestSupport
import PhotoImaging
import PhotoTestSupport
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

/// Photos of a batch that another process carries out.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct PhotoTaskTests {
    private let recipe = PhotoRecipe(filters: [.sepia()], quality: 80)

    private func withSource(
        _ body: (_ folder: URL, _ records: [PhotoRecord], PhotoDownloader) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let source = folder.appending(path: "in")
            try FileManager.default.createDirectory(at: source, withIntermediateDirectories: true)
            try Data(jpeg()).write(to: source.appending(path: "a.jpg"))
            let downloader = PhotoDownloader()
            try await body(folder, try PhotoList.read(folder: source).records, downloader)
            await downloader.shutdown()
        }
    }

    private func batch(
        _ folder: OutputFolder, _ downloader: PhotoDownloader
    ) -> PhotoBatch {
        PhotoBatch(
            options: PhotoBatch.Options(recipe: recipe, folder: folder), downloader: downloader)
    }

    private func task(_ step: PhotoBatch.Step?) throws -> PhotoTask {
        guard case .task(let task, after: nil)? = step else {
            throw PhotoStageStop.cancelled
        }
        return task
    }

    /// The folder outside of which the file of a photo must not lead is a part of the task.
    @Test(arguments: [true, false])
    func linkOutOfFolderIsNotFollowed(isStored: Bool) async throws {
        try await withSource { folder, records, downloader in
            let output = try OutputFolder(folder.appending(path: "out").systemPath)
            let first = try task(batch(output, downloader).steps(records).first)
            let source = folder.appending(path: "in/a.jpg")
            let outside = folder.appending(path: "b.jpg")
            try FileManager.default.moveItem(at: source, to: outside)
            try FileManager.default.createSymbolicLink(at: source, withDestinationURL: outside)
            var results: [PhotoBatch.Result] = []
            if isStored {
                let stored = try JSONDecoder().decode(
                    PhotoTask.self, from: JSONEncoder().encode(first))
                results.append(
                    await ResultMaker(downloader: downloader).process(stored, in: output) { _ in
                        folder.appending(path: "staged").systemPath
                    })
            } else {
                let (ended, end) = AsyncStream<PhotoBatch.Result>.makeStream()
                await batch(output, downloader).run(records) { end.yield($1) }
                end.finish()
                for await result in ended { results.append(result) }
            }
            guard case .failed(let failure)? = results.first else {
                Issue.record("\(results)")
                return
            }
            #expect(failure.reason.contains("it has become a link out of its folder"))
            #expect(try files(below: folder) == ["b.jpg", "in/a.jpg"])
        }
    }

    /// A task that was stored makes the same bytes as a batch. Once its file has its name, the
    /// result is up to date, also for a folder that is opened later.
    @Test func storedTaskMakesTheResultOfABatch() async throws {
        try await withSource { folder, records, downloader in
            let plain = try OutputFolder(folder.appending(path: "plain").systemPath)
            await batch(plain, downloader).run(records) { _, _ in }
            let path = folder.appending(path: "out").systemPath
            let output = try OutputFolder(path)
            let first = try task(batch(output, downloader).steps(records).first)
            let stored = try JSONDecoder().decode(
                PhotoTask.self, from: JSONEncoder().encode(first))
            #expect(stored == first)
            let staged = folder.appending(path: "out/.stage/1")
            let maker = ResultMaker(downloader: downloader)
            let result = await maker.process(stored, in: output) { final in
                #expect(final == "\(path)/a.jpg")
                return staged.systemPath
            }
            guard case .written(let file) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(file.path == stored.path(in: output, writtenAs: .jpeg))
            let bytes = try Data(contentsOf: staged)
            let expected = try Data(contentsOf: folder.appending(path: "plain/a.jpg"))
            #expect(bytes == expected)
            try FileManager.default.moveItem(at: staged, to: folder.appending(path: "out/a.jpg"))
            let later = try OutputFolder(path)
            guard case .ended(.unchanged)? = batch(later, downloader).steps(records).first else {
                Issue.record("The result is not up to date.")
                return
            }
        }
    }

    /// A worker that opened the folder before another process wrote a result may replace it.
    @Test func resultsOfOtherProcessesAreReplaced() async throws {
        try await withSource { folder, records, downloader in
            let path = folder.appending(path: "out").systemPath
            let early = try OutputFolder(path)
            let other = try OutputFolder(path)
            var options = PhotoBatch.Options(recipe: PhotoRecipe(quality: 20), folder: other)
            options.redoesAll = true
            await PhotoBatch(options: options, downloader: downloader).run(records) { _, _ in }
            let staged = folder.appending(path: "staged").systemPath
            let task = try task(batch(early, downloader).steps(records).first)
            let result = await ResultMaker(downloader: downloader).process(task, in: early) { _ in
                staged
            }
            guard case .written = result else {
                Issue.record("\(result)")
                return
            }
        }
    }

    @Test(arguments: ["../x", "/x", "a/../../x", "", ".hidden", "a//b", "a/.stage/b", "x\u{0}y"])
    func hostileNamesAreRefused(name: String) async throws {
        try await withSource { folder, records, downloader in
            let output = try OutputFolder(folder.appending(path: "out").systemPath)
            let task = try task(batch(output, downloader).steps(records).first)
            let data = try JSONEncoder().encode(task)
            var object = try #require(
                try JSONSerialization.jsonObject(with: data) as? [String: Any])
            object["result"] = ["base": name]
            let hostile = try JSONDecoder().decode(
                PhotoTask.self, from: JSONSerialization.data(withJSONObject: object))
            let result = await ResultMaker(downloader: downloader).process(hostile, in: output) {
                Issue.record("A file was made for \($0).")
                return $0
            }
            guard case .failed(let failure) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(failure.reason.contains("leads out of the folder"))
        }
    }

    @Test func folderKeepsItsIdentity() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "out").systemPath
            #expect(OutputFolder.identity(of: path) == nil)
            let identity = try OutputFolder(path).makeIdentity()
            #expect(identity.count == 32)
            #expect(try OutputFolder(path).makeIdentity() == identity)
            #expect(OutputFolder.identity(of: path) == identity)
            let other = try OutputFolder(folder.appending(path: "other").systemPath)
            #expect(try other.makeIdentity() != identity)
        }
    }
}
