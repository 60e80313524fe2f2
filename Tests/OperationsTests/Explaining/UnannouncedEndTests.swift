import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

// These tests are part of the suite that owns the single handler of the process. Each runs in a
// process of its own, in which an operation is silent after a millisecond.
extension DiagnosticsTests {
    private static func recordFindings() -> TestRecorder<String> {
        endSoon()
        SilenceWatch.patience.store(1_000_000, ordering: .relaxed)
        let findings = TestRecorder<String>()
        OperationsDiagnostics.handler = { findings.record($0.description) }
        return findings
    }

    private static func silent(_ name: String) -> SilentOperation {
        SilentOperation {
            $0.name = name
            $0.proceed.send()
        }
    }

    private static func sentence(_ name: String) -> String {
        "'\(name)' reports that it is finished, but never announced it: call "
            + "didChangeValue(forKey: \"isFinished\")"
    }

    /// Ends an operation without a word, and waits for its report: after that, the watch has looked
    /// twice at everything that was silent before.
    private static func waitForLooks(_ findings: TestRecorder<String>, _ name: String) async {
        let (queue, last) = (OperationQueue(), silent(name))
        queue.addOperation(last)
        #expect(await comesTrue { last.status.awaitsAnnouncement })
        last.isOver = true
        #expect(await comesTrue { findings.events.contains(sentence(name)) })
        last.didChangeValue(forKey: "isFinished")
        await queue.drain()
    }

    @Test func endThatIsNeverAnnouncedIsReportedOnce() async {
        await #expect(processExitsWith: .success) {
            let findings = Self.recordFindings()
            let (queue, silent) = (OperationQueue(), Self.silent("silent"))
            queue.addOperation(silent)
            #expect(await comesTrue { silent.status.awaitsAnnouncement })
            silent.isOver = true
            #expect(await comesTrue { !findings.events.isEmpty })
            await Self.waitForLooks(findings, "second")
            await Self.waitForLooks(findings, "third")
            #expect(findings.events == ["silent", "second", "third"].map(Self.sentence))
            #expect(queue.operationCount == 1)
            silent.didChangeValue(forKey: "isFinished")
            await queue.drain()
        }
    }

    /// The operation has gone on for long when it ends, and nothing else happens.
    @Test func laterEndIsReported() async {
        await #expect(processExitsWith: .success) {
            let findings = Self.recordFindings()
            let (queue, silent) = (OperationQueue(), Self.silent("silent"))
            queue.addOperation(silent)
            #expect(await comesTrue { silent.status.awaitsAnnouncement })
            await Self.waitForLooks(findings, "first")
            silent.isOver = true
            #expect(await comesTrue { findings.events.last == Self.sentence("silent") })
            silent.didChangeValue(forKey: "isFinished")
            await queue.drain()
        }
    }

    @Test func endOfOperationInNoQueueIsReportedToWhatWaits() async {
        await #expect(processExitsWith: .success) {
            let findings = Self.recordFindings()
            let silent = Self.silent("by hand")
            silent.start()
            async let wait: Void = silent.finished()
            silent.isOver = true
            #expect(await comesTrue { !findings.events.isEmpty })
            #expect(findings.events == [Self.sentence("by hand")])
            silent.didChangeValue(forKey: "isFinished")
            await wait
        }
    }

    /// A queue looks by itself when `start()` has returned.
    @Test func endWithinStartIsNotReported() async {
        await #expect(processExitsWith: .success) {
            let findings = Self.recordFindings()
            let queue = OperationQueue()
            let within = SilentOperation { $0.name = "within" }
            let announced = StateKeepingOperation()
            await queue.addOperations([within, announced], waitUntilFinished: false)
            #expect(await within.began.arrives())
            within.isOver = true
            await Self.waitForLooks(findings, "look")
            within.proceed.send()
            await within.finished()
            #expect(await comesTrue { announced.stage == .executing })
            announced.stage = .finished
            await queue.drain()
            #expect(findings.events == [Self.sentence("look")])
        }
    }

    @Test func endAfterMainIsReported() async {
        final class AfterMain: Operation, @unchecked Sendable {
            let over = Locked(false)
            override var isFinished: Bool { over.withLock { $0 } }
        }
        await #expect(processExitsWith: .success) {
            let findings = Self.recordFindings()
            let operation = AfterMain()
            operation.name = "after main"
            operation.start()
            async let wait: Void = operation.finished()
            operation.over.replace(with: true)
            #expect(await comesTrue { findings.events == [Self.sentence("after main")] })
            operation.didChangeValue(forKey: "finished")
            await wait
        }
    }
}
