import Operations
import OperationsInsight
import OperationsTestSupport
import PhotoImaging
import PhotoTestSupport
import Synchronization
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct PhotoBatchTests {
    private func run(
        _ records: [PhotoRecord], into folder: URL, format: ImageFormat? = nil,
        cancellingAfter limit: Int = .max, capacity: PixelCapacity = .shared,
        redoesAll: Bool = false, timeline: OperationTimeline? = nil
    ) async throws -> [(name: String, result: PhotoBatch.Result)] {
        let folder = try OutputFolder(folder.systemPath)
        return await run(
            records, into: folder, format: format, cancellingAfter: limit, capacity: capacity,
            redoesAll: redoesAll, timeline: timeline
        ).results
    }

    private func run(
        _ records: [PhotoRecord], into folder: OutputFolder, format: ImageFormat? = nil,
        cancellingAfter limit: Int = .max, capacity: PixelCapacity = .shared,
        redoesAll: Bool = false, timeline: OperationTimeline? = nil
    ) async -> (results: [(name: String, result: PhotoBatch.Result)], stop: PhotoFailure?) {
        let downloader = PhotoDownloader()
        var options = PhotoBatch.Options(
            recipe: PhotoRecipe(
                filters: [.sepia(intensity: 0.8)], size: PixelSize(width: 32, height: 32),
                format: format, quality: 80), folder: folder)
        options.redoesAll = redoesAll
        options.capacity = capacity
        let batch = PhotoBatch(options: options, downloader: downloader, timeline: timeline)
        let results = Mutex<[(name: String, result: PhotoBatch.Result)]>([])
        let (stops, stop) = AsyncStream<Void>.makeStream()
        let task = Task {
            defer { stop.finish() }
            return await batch.run(records) { record, result in
                let count = results.withLock {
                    $0.append((record.name, result))
                    return $0.count
                }
                if count == limit { stop.yield() }
            }
        }
        for await _ in stops { task.cancel() }
        let failure = await task.value
        await downloader.shutdown()
        return (results.withLock { $0 }, failure)
    }

    /// A TIFF with 16 bits per channel that is larger than 50 MiB, the limit of downloads. It is
    /// black, and takes no space on the disk.
    @Test func ownFileMayBeLargerThanDownloads() async throws {
        try await withTemporaryFolder { folder in
            let (width, height) = (4_000, 2_400)
            let tags: [(tag: UInt16, type: UInt16, count: UInt32, value: Int)] = [
                (256, 4, 1, width), (257, 4, 1, height), (258, 3, 3, 300), (259, 3, 1, 1),
                (262, 3, 1, 2), (273, 4, 1, 400), (277, 3, 1, 3), (278, 4, 1, height),
                (279, 4, 1, width * height * 6),
            ]
            func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
                withUnsafeBytes(of: value.littleEndian) { Array($0) }
            }
            var head = Array("II*\0".utf8) + bytes(UInt32(8)) + bytes(UInt16(tags.count))
            for (tag, type, count, value) in tags {
                head += bytes(tag) + bytes(type) + bytes(count) + bytes(UInt32(value))
            }
            head += [UInt8](repeating: 0, count: 300 - head.count)
            head += bytes(UInt16(16)) + bytes(UInt16(16)) + bytes(UInt16(16))
            let source = folder.appending(path: "in")
            try FileManager.default.createDirectory(at: source, withIntermediateDirectories: true)
            let file = source.appending(path: "scan.tiff")
            try Data(head).write(to: file)
            let size = 400 + width * height * 6
            #expect(size > DownloadLimits().maximumBytes)
            #expect(truncate(file.systemPath, off_t(size)) == 0)
            let results = try await run(
                records(in: source), into: folder.appending(path: "out"), format: .jpeg)
            guard case .written(let result)? = results.first?.result else {
                Issue.record("\(results)")
                return
            }
            #expect(result.size == PixelSize(width: 32, height: 19))
        }
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

    @Test func everyPhotoKeepsItsNameAndFormat() async throws {
        try await withTemporaryFolder { folder in
            let (source, results) = (folder.appending(path: "in"), folder.appending(path: "out"))
            let below = source.appending(path: "below")
            try FileManager.default.createDirectory(at: below, withIntermediateDirectories: true)
            try Data(jpeg()).write(to: source.appending(path: "a.jpg"))
            try Data(encoded(as: .png)).write(to: source.appending(path: "b.png"))
            try Data(encoded(as: .webp)).write(to: below.appending(path: "c.webp"))
            // The bytes decide the format, not the name.
            try Data(encoded(as: .png)).write(to: source.appending(path: "d.jpg"))
            let outcome = try await run(try records(in: source), into: results)
            #expect(reasons(outcome) == [:])
            #expect(try files(below: results) == ["a.jpg", "b.png", "below/c.webp", "d.png"])
            let bytes = Array(try Data(contentsOf: results.appending(path: "a.jpg")))
            #expect(try ImageEngine.inspect(bytes).size == PixelSize(width: 32, height: 24))
        }
    }

    @Test func brokenPhotosFailAndOthersAreWritten() async throws {
        try await withTemporaryFolder { folder in
            let (source, results) = (folder.appending(path: "in"), folder.appending(path: "out"))
            try FileManager.default.createDirectory(at: source, withIntermediateDirectories: true)
            try Data(jpeg()).write(to: source.appending(path: "good.jpg"))
            try Data().write(to: source.appending(path: "empty.jpg"))
            try Data("<html>".utf8).write(to: source.appending(path: "page.jpg"))
            try Data(jpeg().prefix(300)).write(to: source.appending(path: "half.jpg"))
            let outcome = try await run(try records(in: source), into: results)
            #expect(Set(reasons(outcome).keys) == ["empty.jpg", "page.jpg", "half.jpg"])
            #expect(try files(below: results) == ["good.jpg"])
        }
    }

    @Test func equalNamesAreNumbered() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "a.jpg")
            try Data(jpeg()).write(to: file)
            let records = ["Sea", "sea", "Sea.jpg", "../../Sea"].enumerated().map { index, name in
                PhotoRecord(id: PhotoID(rawValue: UInt64(index)), name: name, url: file)
            }
            let results = folder.appending(path: "out")
            let outcome = try await run(records, into: results)
            #expect(outcome.count == 4)
            let names = try files(below: results)
            #expect(names.count == 4)
            #expect(
                Set(names.map { $0.lowercased() }) == [
                    "sea.jpg", "sea-2.jpg", "sea-3.jpg", "sea-4.jpg",
                ])
        }
    }

    @Test func resultHasExtensionOfItsFormat() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "a.jpg")
            try Data(jpeg()).write(to: file)
            let extensions = ImageFormat.allCases.flatMap(\.fileExtensions)
            let records = extensions.enumerated().map { index, fileExtension in
                PhotoRecord(
                    id: PhotoID(rawValue: UInt64(index)), name: "\(index).\(fileExtension)",
                    url: file)
            }
            let results = folder.appending(path: "out")
            _ = try await run(records, into: results)
            #expect(try files(below: results) == Set(extensions.indices.map { "\($0).jpg" }))
        }
    }

    @Test func cancelledBatchLeavesNoPartialFiles() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "a.jpg")
            try Data(jpeg(width: 400, height: 300)).write(to: file)
            let records = (0..<500).map { index in
                PhotoRecord(id: PhotoID(rawValue: UInt64(index)), name: "photo \(index)", url: file)
            }
            let results = folder.appending(path: "out")
            let outcome = try await run(records, into: results, cancellingAfter: 5)
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

    @Test func oversizedPhotosAreProcessedOneAtATime() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "a.jpg")
            try Data(jpeg(width: 1200, height: 900)).write(to: file)
            let records = (0..<20).map { index in
                PhotoRecord(id: PhotoID(rawValue: UInt64(index)), name: "photo \(index)", url: file)
            }
            let timeline = OperationTimeline()
            let results = folder.appending(path: "out")
            let outcome = try await run(
                records, into: results, capacity: PixelCapacity(processors: 4, bytes: 1 << 20),
                timeline: timeline)
            #expect(reasons(outcome) == [:])
            #expect(try files(below: results).count == 20)
            let picture = try PixelTimeline(timeline)
            #expect(picture.count(of: ["Decode, filter, encode"]) == 20)
            #expect(picture.maximumConcurrency(of: ["Decode, filter, encode"]) == 1)
        }
    }

    @Test func pixelStagesNeverExceedProcessors() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "a.jpg")
            try Data(jpeg(width: 1600, height: 1200)).write(to: file)
            let records = (0..<40).map { index in
                PhotoRecord(id: PhotoID(rawValue: UInt64(index)), name: "photo \(index)", url: file)
            }
            let timeline = OperationTimeline()
            let results = folder.appending(path: "out")
            _ = try await run(
                records, into: results, capacity: PixelCapacity(processors: 2), timeline: timeline)
            let picture = try PixelTimeline(timeline)
            #expect(picture.count(of: ["Decode, filter, encode"]) == 40)
            #expect(picture.maximumConcurrency(of: ["Decode, filter, encode"]) <= 2)
        }
    }

    @Test func namesAreTheSameInEveryRun() async throws {
        try await withTemporaryFolder { folder in
            // 40 photos with four names and different grays; some are broken or in a different
            // format.
            let records = try (0..<40).map { index in
                let file = folder.appending(path: "\(index)")
                let bytes =
                    switch index % 5 {
                    case 3: [UInt8]()
                    case 4: try encoded(as: .png, gray: UInt8(index * 6))
                    default: try jpeg(gray: UInt8(index * 6))
                    }
                try Data(bytes).write(to: file)
                return PhotoRecord(
                    id: PhotoID(rawValue: UInt64(index)), name: "photo\(index % 4).jpg", url: file)
            }
            var contents: [[String: Data]] = []
            for name in ["first", "second"] {
                let results = folder.appending(path: name)
                let outcome = try await run(records, into: results)
                #expect(
                    reasons(outcome).count == 4,
                    "Failures of photos with equal names share an entry.")
                let names = try files(below: results)
                contents.append(
                    try Dictionary(
                        uniqueKeysWithValues: names.map { name in
                            (name, try Data(contentsOf: results.appending(path: name)))
                        }))
            }
            #expect(contents[0].count == 32)
            #expect(contents[0] == contents[1])
            // A later run replaces the results of an earlier run.
            let again = try await run(
                records, into: folder.appending(path: "first"), redoesAll: true)
            #expect(again.count { if case .written = $0.result { true } else { false } } == 32)
        }
    }

    @Test func photoWithNonUTF8NameIsProcessed() async throws {
        try await withTemporaryFolder { folder in
            let root = try #require(LocalPath(folder))
            let name =
                Array("caf".utf8) + [0xE9] + Array("/\u{FC}".utf8) + [0xFF] + Array(".jpg".utf8)
            let source = root.appending("in/".utf8 + name)
            _ = try StagedFile(jpeg(), at: source).publish(replacing: false)
            let results = folder.appending(path: "out")
            let outcome = try await run(
                try records(in: folder.appending(path: "in")), into: results)
            #expect(outcome.map(\.name) == [#"caf\xE9/ü\xFF.jpg"#])
            #expect(reasons(outcome) == [:])
            let result = root.appending("out/".utf8 + name)
            #expect(try LocalFiles.kind(of: result, named: "the result") != .folder)
        }
    }

    @Test(arguments: [ENOSPC, EROFS])
    func batchStopsAtFirstDiskProblem(code: Int32) async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "a.jpg")
            try Data(jpeg()).write(to: file)
            let records = (0..<500).map { index in
                PhotoRecord(id: PhotoID(rawValue: UInt64(index)), name: "photo \(index)", url: file)
            }
            let results = folder.appending(path: "out")
            let calls = FileCallRecorder()
            let output = try OutputFolder(
                path: Array(results.systemPath.utf8), overwrites: false, calls: calls.calls())
            calls.fail(with: code, after: 10)
            let (outcome, stop) = await run(records, into: output)
            let failures = reasons(outcome)
            #expect(failures.count == 1, "The problem must be reported only once.")
            #expect(failures.values.first == stop?.reason)
            #expect(stop?.reason.contains("cannot be written: ") == true)
            #expect(outcome.count < 100, "of 500")
            let written = outcome.count { if case .written = $0.result { true } else { false } }
            #expect(try files(below: results).count == written)
        }
    }
}
