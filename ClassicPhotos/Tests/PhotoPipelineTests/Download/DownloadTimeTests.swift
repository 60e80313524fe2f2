import OperationsTestSupport
import Synchronization
import Testing

@testable import PhotoPipeline

/// Servers that are slow on purpose, and the time limits that stop them.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
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

    @Test func totalTimeoutEndsSlowBodyWithoutRetry() async {
        let (result, requestCount) = await download(\.totalTimeout, .seconds(1), attempts: 3) {
            connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while connection.send("a"), connection.pause(milliseconds: 20) {}
        }
        #expect(result == "The download took longer than 1 second.")
        #expect(requestCount == 1)
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
                for _ in 0..<3 { group.addTask { await downloaded(origin.url, with: downloader) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results == ["slow!", "slow!", "slow!"])
            await downloader.shutdown()
        }
    }

    @Test func cancelledWaitLetsNextDownloadProceed() async {
        let slots = HostSlots(width: 1)
        let (entered, leave) = (Signal(), Signal())
        let first = Task {
            try await slots.withSlot(at: "h") {
                entered.send()
                _ = await leave.arrives()
            }
        }
        #expect(await entered.arrives())
        let second = Task { try await slots.withSlot(at: "h") {} }
        #expect(await comesTrue { slots.waitingCount(at: "h") == 1 })
        let third = Task { try await slots.withSlot(at: "h") { 3 } }
        #expect(await comesTrue { slots.waitingCount(at: "h") == 2 })
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(slots.waitingCount(at: "h") == 1)
        #expect(await (try? slots.withSlot(at: "elsewhere") { 4 }) == 4)
        leave.send()
        #expect(await (try? third.value) == 3)
        _ = await first.result
    }

    @Test func slotsLimitConcurrencyPerHost() async throws {
        let slots = HostSlots(width: 3)
        let running = Running()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<300 {
                group.addTask {
                    let host = index % 2 == 0 ? "a" : "b"
                    try await slots.withSlot(at: host) {
                        running.add(1, at: host)
                        await Task.yield()
                        running.add(-1, at: host)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(running.maximum == 3)
    }

    /// The number of running closures per host, and the maximum for one host so far.
    private final class Running: Sendable {
        private let state = Mutex<(now: [String: Int], maximum: Int)>(([:], 0))

        var maximum: Int { state.withLock { $0.maximum } }

        func add(_ change: Int, at host: String) {
            state.withLock { state in
                state.now[host, default: 0] += change
                state.maximum = max(state.maximum, state.now[host, default: 0])
            }
        }
    }
}
