import DemoOrigin
import Operations
import OperationsInsight
import OperationsTestSupport
import PhotoImaging
import PhotoTestSupport
import Synchronization
import Testing

@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct PhotoLoaderTests {
    @Test func equalRequestsDoNothingTwice() async throws {
        try await withDemoOrigin(.quick) { origin in
            try await withLoader { loader, timeline in
                let url = webURL(origin.url(for: .none))
                let photos = try await withThrowingTaskGroup(of: Photo.self) { group in
                    for _ in 0..<20 {
                        group.addTask {
                            try await loader.photo(
                                for: url, filters: [.sepia()], fitting: thumbnail)
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(Set(photos.map { ObjectIdentifier($0.bitmap) }).count == 1)
                #expect(photos[0].bitmap.size.longerSide == 32)
                #expect(origin.requestCount(for: DemoFault.none.path) == 1)
                let stages = try PixelTimeline(timeline)
                #expect(stages.count(of: ["Decode"]) == 1)
                #expect(stages.count(of: ["Filter"]) == 1)
                let again = try await loader.photo(
                    for: url, filters: [.sepia()], fitting: thumbnail)
                #expect(again.origin == .memory && again.bitmap === photos[0].bitmap)
            }
        }
    }

    @Test func damagedPhotoHasWhatIsLeftIfThatIsWanted() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "a.jpg")
            let whole = try jpeg(width: 200, height: 200)
            try Data(whole.prefix(whole.count - 40)).write(to: file)
            try await withLoader { loader, _ in
                let reason = await failure { _ = try await loader.photo(for: file) }
                #expect(reason?.contains("ends too early") == true)
                var options = loader.options
                options.acceptsDamage = true
                let lenient = PhotoLoader(downloader: loader.downloader, options: options)
                let photo = try await lenient.photo(for: file)
                #expect(photo.bitmap.size == PixelSize(width: 200, height: 200))
                #expect(photo.damage?.contains("ends too early") == true)
                try Data(whole).write(to: file)
                #expect(try await lenient.photo(for: file).damage == nil)
                // Nothing is left of this one.
                try Data(whole.prefix(12)).write(to: file)
                let nothing = await failure { _ = try await lenient.photo(for: file) }
                #expect(nothing?.contains("ends too early") == true)
            }
        }
    }

    @Test func otherFiltersShareTheDecodedPicture() async throws {
        try await withDemoOrigin(.quick) { origin in
            try await withLoader { loader, timeline in
                let url = webURL(origin.url(for: .none))
                let sepia = try await loader.photo(
                    for: url, filters: [.sepia()], fitting: thumbnail)
                let noir = try await loader.photo(for: url, filters: [.noir()], fitting: thumbnail)
                let plain = try await loader.photo(for: url, fitting: thumbnail)
                #expect(sepia.bitmap.pixels() != noir.bitmap.pixels())
                #expect(plain.bitmap.pixels() != noir.bitmap.pixels())
                #expect(origin.requestCount(for: DemoFault.none.path) == 1)
                #expect(try PixelTimeline(timeline).count(of: ["Decode"]) == 1)
                #expect(try PixelTimeline(timeline).count(of: ["Filter"]) == 2)
                // Encoded pictures are shared as well.
                let first = try await loader.encoded(noir)
                #expect(try await loader.encoded(noir) == first)
                #expect(try PixelTimeline(timeline).count(of: ["Encode"]) == 1)
            }
        }
    }

    /// Nothing is kept in memory here, so only a request under way can be shared.
    @Test func laterRequestJoinsAndRaisesPriority() async throws {
        let picture = try jpeg()
        let (asked, answer) = (Signal(), Signal())
        try await withScriptedOrigin { connection in
            _ = connection.readHead()
            asked.send()
            answer.wait()
            connection.send(picture, headers: ["Cache-Control: no-store"])
        } _: { origin in
            try await withLoader(memoryBytes: 0) { loader, _ in
                let url = webURL(origin.url + "/a.jpg")
                let first = Task { try await loader.photo(for: url, priority: .low) }
                #expect(await asked.arrives())
                let original = try #require(loader.originals.operations.first)
                #expect(original.queuePriority == .low)
                let second = Task { try await loader.photo(for: url, priority: .veryHigh) }
                #expect(await comesTrue { original.queuePriority == .veryHigh })
                answer.send()
                let bitmaps = [try await first.value.bitmap, try await second.value.bitmap]
                #expect(bitmaps[0] === bitmaps[1])
                #expect(origin.requests.count == 1)
                #expect(loader.memory.byteCount == 0)
            }
        }
    }

    /// A batch downloads through the downloader, too.
    @Test func loaderAndBatchShareDownload() async throws {
        let picture = try jpeg()
        let (asked, answer) = (Signal(), Signal())
        try await withScriptedOrigin { connection in
            _ = connection.readHead()
            asked.send()
            answer.wait()
            connection.send(picture)
        } _: { origin in
            try await withLoader { loader, _ in
                let url = webURL(origin.url + "/a.jpg")
                let photo = Task { try await loader.photo(for: url, priority: .low) }
                #expect(await asked.arrives())
                let downloader = loader.downloader
                let download = try #require(downloader.downloads.operations.first)
                let batch = PhotoLoader(downloader: downloader)
                let again = Task {
                    try await batch.download(PhotoLoader.Source(url: url), unless: nil)
                }
                #expect(await comesTrue { download.queuePriority == .normal })
                // The download goes on as long as somebody needs it.
                photo.cancel()
                await #expect(throws: PhotoStageStop.cancelled) { try await photo.value }
                answer.send()
                #expect(try await again.value?.bytes == picture)
                #expect(origin.requests.count == 1)
            }
        }
    }

    @Test func workEndsWithItsLastCaller() async throws {
        let (asked, closed) = (Signal(), Signal())
        try await withScriptedOrigin { connection in
            _ = connection.readHead()
            asked.send()
            connection.waitUntilClosed()
            closed.send()
        } _: { origin in
            try await withLoader { loader, _ in
                let url = webURL(origin.url + "/a.jpg")
                let first = Task { try await loader.photo(for: url, priority: .low) }
                #expect(await asked.arrives())
                let original = try #require(loader.originals.operations.first)
                // Another size shares only the download.
                let second = Task {
                    try await loader.photo(for: url, fitting: thumbnail, priority: .high)
                }
                #expect(await comesTrue { original.queuePriority == .high })
                second.cancel()
                await #expect(throws: PhotoStageStop.cancelled) { try await second.value }
                #expect(await comesTrue { original.queuePriority == .low })
                #expect(!original.isCancelled)
                first.cancel()
                await #expect(throws: PhotoStageStop.cancelled) { try await first.value }
                #expect(await closed.arrives())
                await original.finished()
                #expect(original.isCancelled)
            }
        }
    }

    @Test func failureIsReportedToAllAndNotKept() async throws {
        try await withDemoOrigin(.quick) { origin in
            try await withLoader { loader, _ async throws in
                let flaky = DemoFault.flaky(status: 404, failures: 1, retryAfter: 0, key: "once")
                let url = webURL(origin.url(for: flaky))
                let reason = await failure { _ = try await loader.photo(for: url) }
                #expect(reason == "The server answered 404 Not Found.")
                #expect(try await loader.photo(for: url).origin == .network)
                let page = webURL(origin.url(for: .htmlPage))
                let other = await failure { _ = try await loader.photo(for: page) }
                #expect(other?.contains("HTML page") == true)
            }
        }
    }

    // MARK: Freshness

    @Test func staleUnchangedPhotoIsNotSentAgain() async throws {
        let picture = try jpeg()
        try await withScriptedOrigin { connection in
            while let head = connection.readHead() {
                let isKnown = head.contains("If-None-Match: \"1\"")
                connection.send(
                    picture, status: isKnown ? "304 Not Modified" : "200 OK",
                    headers: ["ETag: \"1\"", "Cache-Control: max-age=0"])
            }
        } _: { origin in
            try await withLoader { loader, timeline in
                let url = webURL(origin.url + "/a.jpg")
                let first = try await loader.photo(for: url)
                let second = try await loader.photo(for: url)
                #expect(first.origin == .network && second.origin == .memory)
                #expect(first.bitmap === second.bitmap)
                #expect(origin.requests.count == 2)
                #expect(try PixelTimeline(timeline).count(of: ["Decode"]) == 1)
            }
        }
    }

    /// The bytes of the latest downloads are in memory, too.
    @Test func otherSizeOfStaleUnchangedPhotoIsNotSentAgain() async throws {
        let picture = try jpeg()
        try await withScriptedOrigin { connection in
            while let head = connection.readHead() {
                let isKnown = head.contains("If-None-Match: \"1\"")
                connection.send(
                    picture, status: isKnown ? "304 Not Modified" : "200 OK",
                    headers: ["ETag: \"1\"", "Cache-Control: max-age=0"])
            }
        } _: { origin in
            try await withLoader { loader, _ in
                let url = webURL(origin.url + "/a.jpg")
                let small = try await loader.photo(for: url, fitting: thumbnail)
                let large = try await loader.photo(for: url)
                #expect(small.origin == .network && large.origin == .memory)
                #expect(small.bitmap.size.width < large.bitmap.size.width)
                #expect(try await loader.bytes(of: url) == picture)
                let isConditional = origin.requests.map { $0.contains("If-None-Match") }
                #expect(isConditional == [false, true, true])
            }
        }
    }

    @Test func latestDownloadsShareTheMemoryForPictures() async throws {
        let picture = try jpeg()
        try await withScriptedOrigin { connection in
            while connection.readHead() != nil {
                connection.send(picture, headers: ["Cache-Control: max-age=600"])
            }
        } _: { origin in
            try await withLoader(memoryBytes: 2 * (picture.count + 400)) { loader, _ in
                for name in ["a", "b", "a", "b"] {
                    _ = try await loader.bytes(of: webURL("\(origin.url)/\(name).jpg"))
                }
                #expect(origin.requests.count == 2)
                _ = try await loader.bytes(of: webURL("\(origin.url)/c.jpg"))
                _ = try await loader.bytes(of: webURL("\(origin.url)/a.jpg"))
                #expect(origin.requests.count == 4)
            }
        }
    }

    @Test func changedPhotoIsLoadedAgain() async throws {
        let pictures = [try jpeg(gray: 50), try jpeg(gray: 200)]
        let answers = Mutex(0)
        try await withScriptedOrigin { connection in
            while connection.readHead() != nil {
                let number = answers.withLock { count in
                    count += 1
                    return count
                }
                connection.send(pictures[number - 1], headers: ["ETag: \"\(number)\"", "Age: 5"])
            }
        } _: { origin in
            try await withLoader { loader, _ in
                let url = webURL(origin.url + "/a.jpg")
                let dark = try await loader.photo(for: url).bitmap.pixels()
                let bright = try await loader.photo(for: url).bitmap.pixels()
                #expect(dark[0] < 60 && bright[0] > 190)
            }
        }
    }

    @Test func changedFileIsReadAgain() async throws {
        try await withTemporaryFolder { folder in
            try await withLoader { loader, _ in
                let file = folder.appending(path: "a.jpg")
                try Data(jpeg(gray: 50)).write(to: file)
                #expect(try await loader.photo(for: file).origin == .file)
                #expect(try await loader.photo(for: file).origin == .memory)
                try Data(jpeg(width: 80, gray: 200)).write(to: file)
                let photo = try await loader.photo(for: file)
                #expect(photo.origin == .file && photo.bitmap.size.width == 80)
            }
        }
    }

    // MARK: Processors

    @Test func ownProcessorRunsOnceAndItsErrorIsTheReason() async throws {
        struct NoFaces: Error {}
        try await withDemoOrigin(.quick) { origin in
            try await withLoader { loader, _ in
                let url = webURL(origin.url(for: .none))
                let runs = Mutex(0)
                func request() -> PhotoRequest {
                    let invert = PhotoProcessor.own("invert") { bitmap in
                        runs.withLock { $0 += 1 }
                        return try Bitmap(size: bitmap.size, pixels: bitmap.pixels().map { ~$0 })
                    }
                    return PhotoRequest(url: url, processors: [invert], fitting: thumbnail)
                }
                let inverted = try await loader.photo(for: request())
                let plain = try await loader.photo(for: url, fitting: thumbnail)
                #expect(inverted.bitmap.pixels() == plain.bitmap.pixels().map { ~$0 })
                #expect(try await loader.photo(for: request()).bitmap === inverted.bitmap)
                #expect(runs.withLock { $0 } == 1)
                let failing = PhotoProcessor.own("crop to faces") { _ in throw NoFaces() }
                let reason = await failure {
                    _ = try await loader.photo(
                        for: PhotoRequest(url: url, processors: [failing], fitting: thumbnail))
                }
                #expect(reason == "crop to faces failed: NoFaces().")
            }
        }
    }
}
