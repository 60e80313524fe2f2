import OperationsTestSupport
import Testing

@testable import PhotoPipeline

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct RequestPaceTests {
    @Test func startsToOneHostAreSpread() {
        let pace = RequestPace(interval: .milliseconds(100))
        let start = ContinuousClock.now
        func delay(_ host: String, after time: Int) -> Duration {
            pace.delay(at: host, now: start + .milliseconds(time))
        }
        #expect(delay("a", after: 0) == .zero)
        #expect(delay("a", after: 0) == .milliseconds(100))
        #expect(delay("a", after: 30) == .milliseconds(170))
        #expect(delay("b", after: 30) == .zero)
        // A pause does not allow a burst.
        #expect(delay("a", after: 5_000) == .zero)
        #expect(delay("a", after: 5_000) == .milliseconds(100))
        // Old hosts are forgotten; others keep their next start.
        for number in 0..<3_000 { _ = delay("host \(number)", after: 5_000) }
        #expect(delay("a", after: 5_000) == .milliseconds(200))
    }

    @Test func withoutIntervalNothingWaits() {
        let pace = RequestPace(interval: .zero)
        for _ in 0..<10 { #expect(pace.delay(at: "a") == .zero) }
    }

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
