#if DurableJobs && Telemetry
import DurableJobs
import InMemoryLogging
import Logging
import Operations
import OperationsRuntime
import Testing

@testable import DurableJobsTelemetry

/// The log messages of an outage, by a clock that the test moves.
@Suite(.timeLimit(.minutes(5)))
struct OutageLogTests {
    private final class Fixture: Sendable {
        private let time = Locked(Duration.seconds(1_000))
        private let entries = InMemoryLogHandler()

        func makeLog() -> JobLog {
            var logger = Logger(label: "tests") { [entries] _ in entries }
            logger.logLevel = .trace
            return JobLog(logger, queue: "tests") { self.time.withLock { $0 } }
        }

        func advance(by duration: Duration) { time.withLock { $0 += duration } }

        var lines: [String] {
            entries.entries.map { entry in
                let values = ["error.message", "duration", "failures"]
                    .compactMap { entry.metadata[$0].map { "\($0)" } }
                return ["\(entry.level) \(entry.message)", values.joined(separator: ", ")]
                    .filter { !$0.isEmpty }.joined(separator: ": ")
            }
        }
    }

    /// Nine failures a second for two and a half minutes.
    @Test func anOutageHasALineAtItsBeginningOneAMinuteAndOneAtItsEnd() {
        let fixture = Fixture()
        let log = fixture.makeLog()
        for _ in 0..<150 {
            for _ in 0..<9 { log.report(.storeFailed("no connection")) }
            fixture.advance(by: .seconds(1))
        }
        log.report(.storeRecovered(after: .seconds(150)))
        #expect(
            fixture.lines == [
                "warning Store has failed: no connection",
                "warning Store still fails: no connection, 60.0 seconds, 541",
                "warning Store still fails: no connection, 120.0 seconds, 1081",
                "notice Store works again: 150.0 seconds, 1350",
            ])
    }

    /// A store that fails once in a while is no flood either.
    @Test func outagesThatComeAndGoHaveTwoLinesAMinute() {
        let fixture = Fixture()
        let log = fixture.makeLog()
        for _ in 0..<61 {
            log.report(.storeFailed("no connection"))
            log.report(.storeRecovered(after: .milliseconds(10)))
            fixture.advance(by: .seconds(1))
        }
        let pair = [
            "warning Store has failed: no connection", "notice Store works again: 0.01 seconds, 1",
        ]
        #expect(fixture.lines == pair + pair)
    }

    /// The worker that failed has ended, so nobody reported the end of the outage.
    @Test func aFailureLongAfterTheLastOneIsANewOutage() {
        let fixture = Fixture()
        let log = fixture.makeLog()
        log.report(.storeFailed("no connection"))
        fixture.advance(by: .seconds(3_600))
        log.report(.storeFailed("the disk is full"))
        #expect(
            fixture.lines == [
                "warning Store has failed: no connection",
                "warning Store has failed: the disk is full",
            ])
    }
}
#endif
