import OperationsTestSupport
import PhotoTestSupport
import Testing

@testable import PhotoPipeline

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct RequestIntervalTests {
    @Test func downloadsStartAtTheRate() async {
        var limits = DownloadLimits.patient
        limits.requestInterval = .milliseconds(60)
        await withScriptedOrigin { connection in
            while connection.readHead() != nil {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nphoto")
            }
        } _: { origin in
            let downloader = PhotoDownloader(limits: limits, allowing: [.thisMachine])
            let start = ContinuousClock.now
            await withTaskGroup(of: String.self) { group in
                for number in 0..<5 {
                    group.addTask { await downloaded("\(origin.url)/\(number)", with: downloader) }
                }
                for await result in group { #expect(result == "photo") }
            }
            #expect(ContinuousClock.now - start >= .milliseconds(240))
            await downloader.shutdown()
        }
    }
}
