import OperationsTestSupport
import PhotoImaging
import Testing

@testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct PreviewTests {
    @Test func scansAreCountedAsTheyArrive() {
        var (byteByByte, counts) = (JPEGScans(), [0])
        for count in 0...progressiveJPEG.count {
            let part = Array(progressiveJPEG[..<count])
            byteByByte.read(part)
            var atOnce = JPEGScans()
            atOnce.read(part)
            #expect(atOnce.count == byteByByte.count && atOnce.end == byteByByte.end)
            if counts.last != atOnce.count {
                counts.append(atOnce.count)
                // A scan is complete when the next marker has arrived.
                #expect(atOnce.end == count - 2)
            }
        }
        #expect(counts == Array(0...10))
    }

    @Test func otherFilesHaveNoScans() throws {
        let baseline = try jpeg()
        for file in [baseline, try encoded(as: .png), Array("GIF89a".utf8), [0xFF], []] {
            var scans = JPEGScans()
            scans.read(file)
            #expect(scans.count == 0)
        }
        // Any damage ends the count or changes it; it does not stop the program.
        for position in progressiveJPEG.indices {
            for change: UInt8 in [0x01, 0x80, 0xFF] {
                var file = progressiveJPEG
                file[position] ^= change
                var scans = JPEGScans()
                scans.read(file)
                #expect(scans.end <= file.count)
            }
        }
    }

    @Test func previewsComeBeforeThePicture() async throws {
        var scans = JPEGScans()
        // The part that ends with the first byte after five scans.
        let part = try #require(
            progressiveJPEG.indices.first { count in
                scans.read(Array(progressiveJPEG[..<count]))
                return scans.count == 5
            })
        let next = Signal()
        try await withScriptedOrigin { connection in
            _ = connection.readHead()
            connection.send(
                "HTTP/1.1 200 OK\r\nContent-Length: \(progressiveJPEG.count)\r\n\r\n")
            connection.send(bytes: Array(progressiveJPEG[..<part]))
            next.wait()
            connection.send(bytes: Array(progressiveJPEG[part...]))
        } _: { origin in
            try await withLoader { loader, _ in
                let request = PhotoRequest(url: webURL(origin.url + "/a.jpg"))
                var (previews, results): ([Bitmap], [Photo]) = ([], [])
                for try await step in loader.progress(of: request) {
                    switch step {
                    case .downloading: break
                    case .preview(let bitmap):
                        if previews.isEmpty { next.send() }
                        previews.append(bitmap)
                        #expect(results.isEmpty)
                    case .picture: Issue.record("without processors there is only a result")
                    case .finished(let photo): results.append(photo)
                    }
                }
                let preview = try #require(previews.first)
                let result = try #require(results.first)
                #expect(preview.size == result.bitmap.size)
                // The preview has less detail, but about the same colors.
                let pairs = zip(preview.pixels(), result.bitmap.pixels())
                let differences = pairs.map { abs(Int($0) - Int($1)) }
                let mean = Double(differences.reduce(0, +)) / Double(differences.count)
                #expect(mean > 0 && mean < 40)
            }
        }
    }
}
