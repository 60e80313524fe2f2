import OperationsTestSupport
import PhotoTestSupport
import Synchronization
import Testing

@testable import PhotoPipeline

/// Servers that are slow on purpose, and the time limits that stop them.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct DownloadTimeTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"

    /// Downloads from a scripted server with one time limit changed. Returns the text or the reason
    /// of the failure, and the number of requests.
    private func download(
        _ limit: WritableKeyPath<DownloadLimits, Duration>, _ time: Duration, attempts: Int = 1,
        _ script: @escaping @Sendable (ScriptedOrigin.Connection) -> Void
    ) async -> (result: String, requestCount: Int) {
        var limits = DownloadLimits.patient
        limits.attempts = attempts
        limits[keyPath: limit] = time
        return await withScriptedOrigin(script) { [limits] origin in
            (await downloaded(origin.url + "/", limits: limits), origin.requests.count)
        }
    }

    @Test func silentServerTimesOut() async {
        let (result, _) = await download(\.firstByteTimeout, .milliseconds(300)) { connection in
            _ = connection.readHead()
            connection.waitUntilClosed()
        }
        #expect(result == "127.0.0.1 did not answer within 0.3 seconds.")
    }

    @Test func interimResponsesDoNotExtendTimeout() async {
        let (result, _) = await download(\.firstByteTimeout, .milliseconds(500)) { connection in
            _ = connection.readHead()
            while connection.send("HTTP/1.1 103 Early Hints\r\n\r\n"),
                connection.pause(milliseconds: 20)
            {}
        }
        #expect(result == "127.0.0.1 did not answer within 0.5 seconds.")
    }

    @Test func slowResponseHeadTimesOut() async {
        let (result, _) = await download(\.firstByteTimeout, .milliseconds(500)) { connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 200 OK\r\nX-Long: ")
            while connection.send("a"), connection.pause(milliseconds: 20) {}
        }
        #expect(result == "127.0.0.1 did not answer within 0.5 seconds.")
    }

    @Test func stalledBodyTimesOut() async {
        let (result, _) = await download(\.idleTimeout, .milliseconds(300)) { connection in
            _ = connection.readHead()
            connection.send(Self.head + "ab")
            connection.waitUntilClosed()
        }
        #expect(result == "127.0.0.1 sent nothing for 0.3 seconds.")
    }

    /// A server that sends a byte from time to time holds a connection without any use.
    @Test func tricklingBodyEndsWithoutRetry() async {
        let (result, requestCount) = await download(
            \.rateWindow, .milliseconds(500), attempts: 3
        ) { connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while connection.send("a"), connection.pause(milliseconds: 20) {}
        }
        #expect(result == "127.0.0.1 sent fewer than 1000 bytes a second for 0.5 seconds.")
        #expect(requestCount == 1)
    }

    /// A download may take as long as it likes, if enough arrives all the time.
    @Test func rateIsMeasuredInWindows() {
        let begun = ContinuousClock.now
        var rate = DownloadRate(minimum: 1_000, window: .seconds(15), begun: begun)
        var now = begun
        for second in 1...3_600 {
            now = begun + .seconds(second)
            rate.bytesArrived(1_000)
            let isTooLow = rate.isTooLow(at: now)
            #expect(!isTooLow)
        }
        // A pause counts as soon as its window is over, and not before.
        let early = (1...14).map { rate.isTooLow(at: now + .seconds($0)) }
        #expect(!early.contains(true))
        rate.bytesArrived(14_999)
        let late = rate.isTooLow(at: rate.windowEnd)
        #expect(late)
        rate.bytesArrived(15_000)
        let next = rate.isTooLow(at: rate.windowEnd)
        #expect(!next)
        #expect(DownloadLimits().totalTimeout >= .seconds(1_800))
    }

    @Test func totalTimeoutEndsSlowBodyWithoutRetry() async {
        let (result, requestCount) = await download(\.totalTimeout, .seconds(1), attempts: 3) {
            connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while connection.send("a"), connection.pause(milliseconds: 20) {}
        }
        #expect(result == "The download took longer than 1 second.")
        // On a busy machine, the time may be over before the request.
        #expect(requestCount < 2)
    }

    @Test func redirectsShareTotalTimeout() async {
        let (result, _) = await download(\.totalTimeout, .seconds(1)) { connection in
            while let head = connection.readHead(), connection.pause(milliseconds: 400) {
                let target = head.prefix { $0 != "\r" }.split(separator: " ")[1] + "a"
                connection.send(
                    "HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        #expect(result == "The download took longer than 1 second.")
    }

    /// Like two pages on one slow host: downloads wait for earlier downloads from the same host.
    @Test func waitForConnectionHasNoTimeout() async {
        var limits = DownloadLimits.patient
        limits.connectionsPerHost = 1
        limits.connectTimeout = .seconds(1)
        limits.firstByteTimeout = .seconds(2)
        limits.idleTimeout = .seconds(2)
        await withScriptedOrigin { connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n")
            for letter in ["s", "l", "o", "w", "!"] {
                guard connection.pause(milliseconds: 300) else { return }
                connection.send(letter)
            }
        } _: { origin in
            let downloader = PhotoDownloader(limits: limits, allowing: [.thisMachine])
            let results = await withTaskGroup(of: String.self) { group in
                for number in 0..<3 {
                    group.addTask { await downloaded("\(origin.url)/\(number)", with: downloader) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results == ["slow!", "slow!", "slow!"])
            await downloader.shutdown()
        }
    }

    @Test func cancelledWaitLetsNextDownloadProceed() async {
        var limits = DownloadLimits.patient
        limits.connectionsPerHost = 1
        let (asked, answer) = (Signal(), Signal())
        await withScriptedOrigin { connection in
            while connection.readHead() != nil {
                asked.send()
                answer.wait()
                connection.send(Self.head + "photo")
            }
        } _: { origin in
            let downloader = PhotoDownloader(limits: limits, allowing: [.thisMachine])
            func start(_ name: String) -> Task<String, Never> {
                Task { await downloaded("\(origin.url)/\(name)", with: downloader) }
            }
            let first = start("first")
            #expect(await asked.arrives())
            let second = start("second")
            #expect(await comesTrue { downloader.requestCount == 2 })
            let third = start("third")
            #expect(await comesTrue { downloader.requestCount == 3 })
            second.cancel()
            #expect(await second.value == "cancelled")
            #expect(await comesTrue { downloader.requestCount == 2 })
            answer.send()
            #expect(await first.value == "photo")
            answer.send()
            #expect(await third.value == "photo")
            #expect(origin.requests.count == 2)
            await downloader.shutdown()
        }
    }

    @Test func requestsToEachHostAreLimited() async {
        var limits = DownloadLimits.patient
        limits.connectionsPerHost = 3
        let running = Running()
        await withScriptedOrigin { connection in
            while connection.readHead() != nil {
                running.add(1)
                _ = connection.pause(milliseconds: 2)
                running.add(-1)
                connection.send(Self.head + "photo")
            }
        } _: { origin in
            let downloader = PhotoDownloader(limits: limits, allowing: [.thisMachine])
            await withTaskGroup(of: String.self) { group in
                for number in 0..<100 {
                    group.addTask { await downloaded("\(origin.url)/\(number)", with: downloader) }
                }
                for await result in group { #expect(result == "photo") }
            }
            #expect(running.maximum == 3)
            await downloader.shutdown()
        }
    }

    /// The number of requests in progress, and the maximum so far.
    private final class Running: Sendable {
        private let state = Mutex((now: 0, maximum: 0))

        var maximum: Int { state.withLock { $0.maximum } }

        func add(_ change: Int) {
            state.withLock { state in
                state.now += change
                state.maximum = max(state.maximum, state.now)
            }
        }
    }
}
