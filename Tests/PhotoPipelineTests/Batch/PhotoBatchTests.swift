import FoundationEssentials
import Imaging
import Synchronization
import TestSupport
import Testing

@testable import PhotoPipeline

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct PhotoBatchTests {
    private func run(
        _ records: [PhotoRecord], into folder: URL, format: ImageFormat? = nil,
        cancellingAfter limit: Int = .max
    ) async -> [(name: String, result: PhotoBatch.Result)] {
        let downloader = PhotoDownloader()
        let options = PhotoBatch.Options(
            filters: [.sepia(intensity: 0.8)], size: PixelSize(width: 32, height: 32),
            format: format, quality: 80, folder: folder.systemPath)
        let batch = PhotoBatch(options: options, downloader: downloader)
        let results = Mutex<[(name: String, result: PhotoBatch.Result)]>([])
        let (stops, stop) = AsyncStream<Void>.makeStream()
        let task = Task {
            await batch.run(records) { record, result in
                let count = results.withLock {
                    $0.append((record.name, result))
                    return $0.count
                }
                if count == limit { stop.yield() }
            }
            stop.finish()
        }
        for await _ in stops { task.cancel() }
        await downloader.shutdown()
        return results.withLock { $0 }
    }

    private func records(in folder: URL) throws -> [PhotoRecord] {
        try PhotoList.read(folder: folder).records
    }

    private func reasons(_ results: [(name: String, result: PhotoBatch.Result)]) -> [String: String]
    {
        var reasons: [String: String] = [:]
        for case (let name, .failed(let failure)) in results { reasons[name] = failure.reason }
        return reasons
    }

    @Test func everyPhotoOfAFolderIsWrittenUnderItsNameInItsFormat() async throws {
        try await withTemporaryFolder { folder in
            let (source, results) = (folder.appending(path: "in"), folder.appending(path: "out"))
            let below = source.appending(path: "below")
            try FileManager.default.createDirectory(at: below, withIntermediateDirectories: true)
            try Data(jpeg()).write(to: source.appending(path: "a.jpg"))
            try Data(encoded(as: .png)).write(to: source.appending(path: "b.png"))
            try Data(encoded(as: .webp)).write(to: below.appending(path: "c.webp"))
            // What the bytes are decides, not the name.
            try Data(encoded(as: .png)).write(to: source.appending(path: "d.jpg"))
            let outcome = await run(try records(in: source), into: results)
            #expect(reasons(outcome) == [:])
            #expect(try files(below: results) == ["a.jpg", "b.png", "below/c.webp", "d.png"])
            let bytes = Array(try Data(contentsOf: results.appending(path: "a.jpg")))
            #expect(try ImageEngine.inspect(bytes).size == PixelSize(width: 32, height: 24))
        }
    }

    @Test func brokenPhotosFailWithTheirReasonsAndTheOthersAreWritten() async throws {
        try await withTemporaryFolder { folder in
            let (source, results) = (folder.appending(path: "in"), folder.appending(path: "out"))
            try FileManager.default.createDirectory(at: source, withIntermediateDirectories: true)
            try Data(jpeg()).write(to: source.appending(path: "good.jpg"))
            try Data().write(to: source.appending(path: "empty.jpg"))
            try Data("<html>".utf8).write(to: source.appending(path: "page.jpg"))
            try Data(jpeg().prefix(300)).write(to: source.appending(path: "half.jpg"))
            let outcome = await run(try records(in: source), into: results)
            #expect(Set(reasons(outcome).keys) == ["empty.jpg", "page.jpg", "half.jpg"])
            #expect(try files(below: results) == ["good.jpg"])
        }
    }

    @Test func photosThatWouldShareANameGetNumbers() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "a.jpg")
            try Data(jpeg()).write(to: file)
            let records = ["Sea", "sea", "Sea.jpg", "../../Sea"].enumerated().map { index, name in
                PhotoRecord(id: PhotoID(rawValue: UInt64(index)), name: name, url: file)
            }
            let results = folder.appending(path: "out")
            let outcome = await run(records, into: results)
            #expect(outcome.count == 4)
            let names = try files(below: results)
            #expect(names.count == 4)
            #expect(
                Set(names.map { $0.lowercased() }) == [
                    "sea.jpg", "sea-2.jpg", "sea-3.jpg", "sea-4.jpg",
                ])
        }
    }

    @Test func aCancelledBatchStopsAndLeavesNoHalfFile() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "a.jpg")
            try Data(jpeg(width: 400, height: 300)).write(to: file)
            let records = (0..<500).map { index in
                PhotoRecord(id: PhotoID(rawValue: UInt64(index)), name: "photo \(index)", url: file)
            }
            let results = folder.appending(path: "out")
            let outcome = await run(records, into: results, cancellingAfter: 5)
            let written = outcome.count { if case .written = $0.result { true } else { false } }
            #expect(written >= 5 && outcome.count < 100)
            let names = try files(below: results)
            #expect(names.count == written)
            for name in names {
                let bytes = Array(try Data(contentsOf: results.appending(path: name)))
                _ = try ImageEngine.decode(bytes)
            }
        }
    }

    @Test func aFolderThatCannotBeMadeIsAFailureOfEachPhoto() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "a.jpg")
            try Data(jpeg()).write(to: file)
            let record = PhotoRecord(id: PhotoID(rawValue: 1), name: "a", url: file)
            let outcome = await run([record], into: file.appending(path: "out"))
            #expect(reasons(outcome)["a"]?.contains("cannot be written: Not a directory") == true)
        }
    }
}
