import DemoOrigin
import Foundation
import Operations
import OperationsTestSupport
import PhotoImaging
import PhotoTestSupport
import RawFiles
import Synchronization
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

/// The second run of a batch, which leaves out what is up to date.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct BatchRecordTests {
    /// The names of the written and of the unchanged photos.
    private struct Names: Equatable {
        var written: Set<String>
        var unchanged: Set<String>

        init(_ written: Set<String>, _ unchanged: Set<String>) {
            self.written = written
            self.unchanged = unchanged
        }
    }

    private func run(
        _ records: [PhotoRecord], into folder: URL,
        recipe: PhotoRecipe = PhotoRecipe(filters: [.sepia()]), redoesAll: Bool = false
    ) async throws -> Names {
        let output = try OutputFolder(folder.systemPath)
        var options = PhotoBatch.Options(recipe: recipe, folder: output)
        options.redoesAll = redoesAll
        let downloader = PhotoDownloader(allowing: [.thisMachine])
        let batch = PhotoBatch(options: options, downloader: downloader)
        let names = Mutex(Names([], []))
        let failure = await batch.run(records) { record, result in
            switch result {
            case .written: names.withLock { _ = $0.written.insert(record.name) }
            case .unchanged: names.withLock { _ = $0.unchanged.insert(record.name) }
            case .failed(let failure): Issue.record("\(record.name): \(failure.reason)")
            case .cancelled: Issue.record("\(record.name) was cancelled")
            }
        }
        #expect(failure == nil)
        await downloader.shutdown()
        return names.withLock { $0 }
    }

    /// Runs a batch over a folder and compares the names.
    private func expect(
        _ expected: Names, of source: URL, in results: URL,
        recipe: PhotoRecipe = PhotoRecipe(filters: [.sepia()]), redoesAll: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let names = try await run(
            records(source), into: results, recipe: recipe, redoesAll: redoesAll)
        #expect(names == expected, sourceLocation: sourceLocation)
    }

    private func withPhotos(
        _ body: (_ source: URL, _ results: URL) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let source = folder.appending(path: "in")
            try FileManager.default.createDirectory(at: source, withIntermediateDirectories: true)
            try Data(jpeg()).write(to: source.appending(path: "a.jpg"))
            try Data(encoded(as: .png)).write(to: source.appending(path: "b.png"))
            // The name of the result follows the bytes.
            try Data(encoded(as: .png)).write(to: source.appending(path: "c.jpg"))
            try await body(source, folder.appending(path: "out"))
        }
    }

    private func records(_ folder: URL) throws -> [PhotoRecord] {
        try PhotoList.read(folder: folder).records
    }

    private let all: Set = ["a.jpg", "b.png", "c.jpg"]

    @Test func secondRunWritesNothing() async throws {
        try await withPhotos { source, results in
            try await expect(Names(all, []), of: source, in: results)
            try await expect(Names([], all), of: source, in: results)
            try await expect(Names(all, []), of: source, in: results, redoesAll: true)
        }
    }

    @Test func changedPhotoIsProcessedAgain() async throws {
        try await withPhotos { source, results in
            _ = try await run(records(source), into: results)
            try Data(encoded(as: .png, gray: 9)).write(to: source.appending(path: "b.png"))
            try await expect(Names(["b.png"], ["a.jpg", "c.jpg"]), of: source, in: results)
            // The same size, but another time.
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)],
                ofItemAtPath: source.appending(path: "a.jpg").systemPath)
            try await expect(Names(["a.jpg"], ["b.png", "c.jpg"]), of: source, in: results)
        }
    }

    @Test func missingAndReplacedResultsAreMadeAgain() async throws {
        try await withPhotos { source, results in
            _ = try await run(records(source), into: results)
            try FileManager.default.removeItem(at: results.appending(path: "c.png"))
            try await expect(Names(["c.jpg"], ["a.jpg", "b.png"]), of: source, in: results)
        }
    }

    @Test func otherRecipeProcessesAllPhotos() async throws {
        try await withPhotos { source, results in
            let recipes = [
                PhotoRecipe(filters: [.sepia()]), PhotoRecipe(filters: [.sepia(intensity: 0.5)]),
                PhotoRecipe(filters: [.sepia()], size: PixelSize(width: 32, height: 32)),
                PhotoRecipe(filters: [.sepia()], quality: 50),
                PhotoRecipe(filters: [.sepia()], keepsMetadata: false),
                PhotoRecipe(filters: []),
            ]
            for recipe in recipes {
                try await expect(Names(all, []), of: source, in: results, recipe: recipe)
                try await expect(Names([], all), of: source, in: results, recipe: recipe)
            }
        }
    }

    @Test func planSaysWhatRunWouldDo() async throws {
        try await withPhotos { source, results in
            _ = try await run(records(source), into: results)
            try Data(jpeg(gray: 1)).write(to: source.appending(path: "d.jpg"))
            let downloader = PhotoDownloader()
            let path = Array(results.systemPath.utf8)
            let batch = try PhotoBatch(
                options: .init(
                    recipe: PhotoRecipe(filters: [.sepia()]),
                    folder: OutputFolder(readingOnly: path)), downloader: downloader)
            let plans = try batch.plan(records(source)).map { plan in
                switch plan {
                case .process(let path, _): "process \(path.url.lastPathComponent)"
                case .unchanged(let path): "unchanged \(path.url.lastPathComponent)"
                case .ask, .failed: "other"
                }
            }
            #expect(
                plans == [
                    "unchanged a.jpg", "unchanged b.png", "unchanged c.png", "process d.jpg",
                ])
            await downloader.shutdown()
        }
    }

    @Test func unchangedDownloadIsNotSentAgain() async throws {
        try await withTemporaryFolder { folder in
            try await withDemoOrigin(.quick) { origin in
                let list = try PhotoList.parse(
                    bytes: Array("\(origin.url(for: .none))\n".utf8), named: "list.txt",
                    relativeTo: nil)
                let results = folder.appending(path: "out")
                #expect(try await run(list.records, into: results) == Names(["none.jpg"], []))
                #expect(try await run(list.records, into: results) == Names([], ["none.jpg"]))
                #expect(origin.requestCount(for: "/faults/none.jpg") == 2)
            }
        }
    }

    @Test func validatorDecidesAboutDownloads() async throws {
        // A server without pictures: the conditions of the requests are the subject.
        try await withScriptedOrigin({ connection in
            while let head = connection.readHead() {
                let isKnown = head.lowercased().contains("if-none-match: \"v1\"")
                connection.send(
                    isKnown
                        ? "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 3\r\n\r\nabc")
            }
        }) { origin in
            let downloader = PhotoDownloader(allowing: [.thisMachine])
            let url = try #require(URL(string: "\(origin.url)/a.jpg"))
            let first = try await downloader.content(of: url)
            #expect(first.version.text == "tag \"v1\"")
            let second = try await downloader.content(
                of: PhotoLoader.Source(url: url), unless: first.version.text)
            #expect(second == nil)
            let third = try await downloader.content(
                of: PhotoLoader.Source(url: url), unless: "tag \"v0\"")
            #expect(third?.bytes == Array("abc".utf8))
            #expect(origin.requests.count == 3)
            await downloader.shutdown()
        }
    }

    @Test func resultHasTimeOfPhoto() async throws {
        try await withPhotos { source, results in
            let time = Date(timeIntervalSince1970: 1_234_567_890.5)
            try FileManager.default.setAttributes(
                [.modificationDate: time],
                ofItemAtPath: source.appending(path: "a.jpg").systemPath)
            _ = try await run(records(source), into: results)
            let attributes = try FileManager.default.attributesOfItem(
                atPath: results.appending(path: "a.jpg").systemPath)
            #expect(attributes[.modificationDate] as? Date == time)
        }
    }
}

/// What a batch keeps of photos, and what it says about losses.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct PhotoRemarkTests {
    private func remarks(
        on info: ImageInfo, frames: Int = 1, as format: ImageFormat? = nil,
        keepsMetadata: Bool = true
    ) -> [PhotoRemark] {
        PhotoRemark.remarks(
            on: info, frames: frames,
            recipe: PhotoRecipe(format: format, keepsMetadata: keepsMetadata))
    }

    private let size = PixelSize(width: 8, height: 8)

    @Test(arguments: [
        ("a.heic", "a.heic", "--allow-format heif to allow HEIC and AVIF"),
        ("a.nef", "a.jpg", "--allow-format raw to allow raw files"),
    ])
    func downloadNeedsPermission(name: String, resultName: String, advice: String) async throws {
        let file =
            name == "a.heic"
            ? try encoded(as: .heif) : RawFileForm.nef.bytes(around: try jpeg())
        try await withTemporaryFolder { folder in
            try await withScriptedOrigin({ connection in
                while connection.readHead() != nil {
                    connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(file.count)\r\n\r\n")
                    connection.send(bytes: file)
                }
            }) { origin in
                let list = try PhotoList.parse(
                    bytes: Array("\(origin.url)/\(name)\n".utf8), named: "list.txt",
                    relativeTo: nil)
                var results: [String] = []
                for formats in [ImageLimits.standard, .ownFiles] {
                    var options = PhotoBatch.Options(
                        recipe: PhotoRecipe(), folder: try OutputFolder(folder.systemPath))
                    options.limits.downloads = formats
                    let downloader = PhotoDownloader(allowing: [.thisMachine])
                    let batch = PhotoBatch(options: options, downloader: downloader)
                    let texts = Mutex<[String]>([])
                    await batch.run(list.records) { _, result in
                        switch result {
                        case .written(let file):
                            texts.withLock { $0.append(file.path.url.lastPathComponent) }
                        case .failed(let failure):
                            texts.withLock { $0.append(failure.reasonWithFlag) }
                        case .unchanged, .cancelled: texts.withLock { $0.append("other") }
                        }
                    }
                    results += texts.withLock { $0 }
                    await downloader.shutdown()
                }
                #expect(results.count == 2 && results.last == resultName)
                #expect(results[0].hasSuffix(" Use \(advice) in downloads."))
            }
        }
    }

    @Test func lossesAreNamed() {
        let plain = ImageInfo(format: .jpeg, size: size, metadataKinds: [.exif, .xmp, .iptc])
        #expect(remarks(on: plain) == [])
        #expect(remarks(on: plain, as: .png) == [.metadataDropped(.iptc, as: .png)])
        #expect(remarks(on: plain, as: .gif, keepsMetadata: false) == [])
        let animation = ImageInfo(format: .gif, size: size, frames: 9)
        #expect(remarks(on: animation, frames: 9) == [])
        #expect(remarks(on: animation, as: .jpeg) == [.firstFrameOnly])
        let deep = ImageInfo(format: .png, size: size, bitsPerChannel: 16)
        #expect(remarks(on: deep) == [])
        #expect(remarks(on: deep, as: .jpeg) == [.depthReduced(as: .jpeg)])
        let scan = ImageInfo(format: .tiff, size: size, metadataKinds: [.exif])
        #expect(remarks(on: scan) == [.metadataDropped(.exif, as: .tiff)])
        #expect(remarks(on: scan, as: .jpeg) == [])
    }

    @Test func partsOfRawFilesAreNamed() {
        func remarks(_ side: Int, of rawSide: Int?, fitting box: Int? = nil) -> [PhotoRemark] {
            var info = ImageInfo(
                format: .raw, size: PixelSize(width: side, height: 10), metadataKinds: [.exif])
            info.rawSize = rawSide.map { PixelSize(width: $0, height: 10) }
            let size = box.map { PixelSize(width: $0, height: $0) }
            return PhotoRemark.remarks(on: info, frames: 1, recipe: PhotoRecipe(size: size))
        }
        #expect(remarks(6_000, of: 6_000) == [.embeddedPicture])
        #expect(remarks(3_000, of: 6_000) == [.embeddedPicture])
        #expect(remarks(2_999, of: 6_000) == [.smallEmbeddedPicture])
        #expect(remarks(999, of: nil) == [.smallEmbeddedPicture])
        #expect(remarks(1_000, of: nil) == [.embeddedPicture])
        // It is large enough for what is made of it.
        #expect(remarks(640, of: 6_000, fitting: 320) == [.embeddedPicture])
        #expect(remarks(640, of: 6_000, fitting: 641) == [.smallEmbeddedPicture])
        var info = ImageInfo(format: .raw, size: size, metadataKinds: [.exif, .xmp])
        info.rawSize = size
        #expect(
            self.remarks(on: info)
                == [.smallEmbeddedPicture, .metadataDropped(.xmp, as: .jpeg)])
        #expect(
            PhotoRemark.embeddedPicture.sentence(for: 2)
                == "2 raw files: the JPEG in the file was processed, not the raw data.")
        #expect(
            PhotoRemark.smallEmbeddedPicture.sentence(for: 1)
                == "1 raw file: the JPEG in the file is small, and the raw data is not developed.")
    }

    @Test func lostPartsAreNamed() {
        var info = ImageInfo(format: .jpeg, size: size)
        info.extraParts = [.video, .gainMap]
        let lost = [PhotoRemark.partDropped(.gainMap), .partDropped(.video)]
        #expect(remarks(on: info) == lost)
        #expect(remarks(on: info, keepsMetadata: false) == lost)
        info = ImageInfo(format: .tiff, size: size)
        info.hasFloats = true
        #expect(remarks(on: info) == [.floatsReduced])
        #expect(lost[0].sentence(for: 1) == "1 picture lost its gain map (HDR).")
        #expect(lost[1].sentence(for: 2) == "2 pictures lost their video (motion photo).")
        #expect(
            PhotoRemark.partDropped(.highlights).sentence(for: 1)
                == "1 picture lost its light brighter than white (HDR).")
        #expect(
            PhotoRemark.floatsReduced.sentence(for: 1)
                == "1 picture: floating-point numbers became 8 bits.")
    }

    @Test func sentencesCountPhotos() {
        #expect(
            PhotoRemark.firstFrameOnly.sentence(for: 4) == "4 animated pictures: first frame only.")
        #expect(
            PhotoRemark.firstFrameOnly.sentence(for: 1) == "1 animated picture: first frame only.")
        #expect(
            PhotoRemark.noEncoder(for: .heif).sentence(for: 2)
                == "2 pictures: written as JPEG, because there is no encoder for HEIF.")
        #expect(
            PhotoRemark.metadataDropped(.iptc, as: .webp).sentence(for: 1)
                == "1 picture: IPTC was not kept in WebP.")
    }
}
