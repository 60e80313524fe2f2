import Operations
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

/// Requests for single photos, with a real downloader and an origin that waits for the test.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct PhotoViewerTests {
    private func withViewer(
        of origin: ScriptedOrigin, _ body: (PhotoViewer) async throws -> Void
    ) async throws {
        let url = try #require(URL(string: origin.url + "/photo.jpg"))
        let record = PhotoRecord(id: PhotoID(rawValue: 1), name: "Photo", url: url)
        let downloader = PhotoDownloader(limits: .patient, allowing: [.thisMachine])
        let loader = PhotoLoader(downloader: downloader)
        let viewer = PhotoViewer(records: [record], options: .init(), loader: loader)
        try await body(viewer)
        await viewer.close()
        await downloader.shutdown()
    }

    private static func response(_ body: [UInt8]) -> [UInt8] {
        Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
    }

    private func waitForCallers(_ count: Int, of viewer: PhotoViewer) async {
        #expect(await eventually { await viewer.callerCount >= count })
    }

    @Test func equalRequestsShareDownloadAndRender() async throws {
        let photo = try jpeg(width: 100, height: 50)
        let (arrived, release) = (Signal(), Signal())
        try await withScriptedOrigin { connection in
            guard connection.readHead() != nil else { return }
            arrived.send()
            release.wait()
            connection.send(bytes: Self.response(photo))
        } _: { origin in
            try await withViewer(of: origin) { viewer in
                async let first = viewer.picture(of: Row(0), fitting: 64, filters: [.noir()])
                #expect(await arrived.arrives())
                async let second = viewer.picture(of: Row(0), fitting: 64, filters: [.noir()])
                async let details = viewer.details(of: Row(0))
                // Two callers of the picture, one of the details, and both wait for the original.
                await waitForCallers(5, of: viewer)
                release.send()
                #expect(try await first.bytes == second.bytes)
                #expect(try await details.info.size == PixelSize(width: 100, height: 50))
                #expect(try await details.byteCount == photo.count)
                #expect(origin.requests.count == 1)
                // From memory now.
                let again = try await viewer.picture(
                    of: Row(0), fitting: 64, filters: [.noir()])
                let made = viewer.pictureInMemory(of: Row(0), fitting: 64, filters: [.noir()])
                #expect(made?.bytes == again.bytes)
                #expect(viewer.pictureInMemory(of: Row(0), fitting: 64, filters: []) == nil)
                #expect(viewer.cacheUse.hits == 2)
                #expect(try await viewer.original(of: Row(0)).bytes == photo)
                #expect(origin.requests.count == 1)
                #expect(await viewer.callerCount == 0)
            }
        }
    }

    @Test func filtersShareDecodedPictureAndResultsAreNotKeptTwice() async throws {
        let photo = try jpeg(width: 100, height: 50)
        try await withScriptedOrigin { connection in
            guard connection.readHead() != nil else { return }
            connection.send(bytes: Self.response(photo))
        } _: { origin in
            try await withLoader { loader, timeline in
                let record = PhotoRecord(
                    id: PhotoID(rawValue: 1), name: "Photo", url: webURL(origin.url + "/photo.jpg"))
                let viewer = PhotoViewer(records: [record], options: .init(), loader: loader)
                var pictures: Set<[UInt8]> = []
                let faint = ImageFilter.sepia(intensity: 0.2)
                for filters in [[], [.sepia()], [faint], [.sepia()]] {
                    let picture = try await viewer.picture(
                        of: Row(0), fitting: 64, filters: filters)
                    #expect(try ImageEngine.inspect(picture.bytes).size.width == 64)
                    pictures.insert(picture.bytes)
                }
                #expect(pictures.count == 3)
                let stages = try PixelTimeline(timeline)
                #expect(stages.count(of: ["Decode"]) == 1)
                #expect(stages.count(of: ["Filter"]) == 2)
                #expect(stages.count(of: ["Encode"]) == 3)
                // The download and the bitmap, and what an entry takes besides.
                #expect(loader.memory.byteCount == photo.count + 400 + 64 * 32 * 3 + 400)
                #expect(origin.requests.count == 1)
                await viewer.close()
            }
        }
    }

    @Test func downloadContinuesUntilLastCallerIsCancelled() async throws {
        let (arrived, closed) = (Signal(), Signal())
        try await withScriptedOrigin { connection in
            guard connection.readHead() != nil else { return }
            arrived.send()
            connection.waitUntilClosed()
            closed.send()
        } _: { origin in
            try await withViewer(of: origin) { viewer in
                let callers = (0..<2).map { _ in
                    Task { try await viewer.original(of: Row(0)) }
                }
                #expect(await arrived.arrives())
                await waitForCallers(2, of: viewer)
                callers[0].cancel()
                await #expect(throws: PhotoStageStop.cancelled) { try await callers[0].value }
                #expect(viewer.downloads.operations.allSatisfy { !$0.isCancelled })
                #expect(viewer.downloads.operationCount == 1)
                callers[1].cancel()
                await #expect(throws: PhotoStageStop.cancelled) { try await callers[1].value }
                #expect(await closed.arrives())
            }
        }
    }

    @Test func failureNamesItsReason() async throws {
        try await withScriptedOrigin { connection in
            guard connection.readHead() != nil else { return }
            connection.send(bytes: Self.response(Array("no picture".utf8)))
        } _: { origin in
            try await withViewer(of: origin) { viewer in
                for _ in 0..<2 {
                    do {
                        _ = try await viewer.picture(of: Row(0), fitting: 64, filters: [])
                        Issue.record("text is no picture")
                    } catch PhotoStageStop.failed(let failure) {
                        #expect(failure.stage == .decode)
                    }
                }
                await #expect(throws: PhotoStageStop.self) { try await viewer.details(of: Row(1)) }
                // The file itself can still be downloaded.
                #expect(try await viewer.original(of: Row(0)).format == nil)
                #expect(origin.requests.count == 1)
            }
        }
    }
}

@Suite(.ownThreads) struct PhotoFactsTests {
    @Test func averageColorIsMeanOfLight() throws {
        let red = try Bitmap(
            size: PixelSize(width: 2, height: 2),
            pixels: Array(repeating: [200, 10, 30], count: 4).flatMap { $0 })
        #expect(PhotoFacts.averageColor(of: red) == 0xC80A1E)
        let stripes = try Bitmap(
            size: PixelSize(width: 2, height: 1), pixels: [0, 0, 0, 255, 255, 255])
        #expect(PhotoFacts.averageColor(of: stripes) == 0xB4B4B4)
        let clear = try Bitmap(
            size: PixelSize(width: 2, height: 1), pixels: [255, 0, 0, 0, 0, 0, 255, 255],
            hasAlpha: true)
        #expect(PhotoFacts.averageColor(of: clear) == 0x0000FF)
    }
}
