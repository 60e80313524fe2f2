import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

private final class Subclass: Operation, @unchecked Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    override func main() { body() }
}

// These tests are part of the suite that owns the single handler of the process. Each runs in a
// process of its own, in which a cancelled body must ask at once.
extension DiagnosticsTests {
    @Test func bodyThatIgnoresItsCancellationIsReported() async {
        await #expect(processExitsWith: .success) {
            IgnoredStop.patience.store(0, ordering: .relaxed)
            let findings = TestRecorder<String>()
            OperationsDiagnostics.handler = { findings.record($0.description) }
            let queue = OperationQueue(name: nil, width: 1)
            for kind in 0..<4 {
                let (began, proceed) = (Signal(), Signal())
                let body: @Sendable () -> Void = {
                    began.send()
                    proceed.wait()
                }
                switch kind {
                case 0: queue.add("deaf", body: body)
                case 1: queue.addOperation(BlockOperation(block: body))
                case 2: queue.addOperation(body)
                default: queue.addOperation(Subclass(body))
                }
                #expect(began.wait())
                queue.cancelAllOperations()
                proceed.send()
                await queue.finished()
                let count = await findings.wait(for: kind + 1).count
                #expect(count == kind + 1)
                let sentence =
                    "after its cancellation, of which it did not ask. "
                    + "Call try Operation.checkCancellation()"
                #expect(findings.events.last?.contains(sentence) == true)
            }
            #expect(findings.events.first?.hasPrefix("'deaf' went on for ") == true)
        }
    }

    @Test func bodyThatAsksIsNotReported() async {
        await #expect(processExitsWith: .success) {
            IgnoredStop.patience.store(0, ordering: .relaxed)
            let findings = TestRecorder<String>()
            OperationsDiagnostics.handler = { findings.record($0.description) }
            let queue = OperationQueue()
            let (began, proceed) = (Signal(), Signal())
            let start: @Sendable () -> Void = {
                began.send()
                proceed.wait()
            }
            queue.add {
                start()
                try Operation.checkCancellation()
                Issue.record("a cancelled body went on")
            }
            queue.add {
                start()
                #expect(Operation.isCancelled)
            }
            queue.add {
                Operation.current?.onCancel {}
                start()
            }
            queue.add { () async in start() }
            queue.add {
                Operation.current?.cancel()
                start()
            }
            queue.add { start() }.onCancel {}
            for _ in 0..<6 { #expect(began.wait()) }
            queue.cancelAllOperations()
            for _ in 0..<6 { proceed.send() }
            await queue.finished()
            // One that does not ask is reported after them, and alone.
            let last = queue.add("deaf") { start() }
            #expect(began.wait())
            last.cancel()
            proceed.send()
            let reported = await findings.wait(for: 1)
            #expect(reported.count == 1)
            #expect(reported.first?.hasPrefix("'deaf' went on for ") == true)
        }
    }
}

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct CheckingCancellationTests {
    @Test func checkThrowsTheReason() async throws {
        let queue = OperationQueue()
        let (began, proceed) = (Signal(), Signal())
        let thrown = Locked<String?>(nil)
        let operation = queue.add("index") {
            try Operation.checkCancellation()
            #expect(!Operation.isCancelled)
            began.send()
            proceed.wait()
            do { try Operation.checkCancellation() } catch { thrown.replace(with: "\(error)") }
        }
        #expect(await began.arrives())
        operation.cancel(because: "shutdown")
        proceed.send()
        await operation.finished()
        #expect(thrown.withLock { $0 } == "'index' was cancelled: shutdown")
        await #expect(throws: OperationCancellation.self) { try await operation.value }
    }

    @Test func checkThrowsOnceTheTimeIsOver() async throws {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let (began, proceed) = (Signal(), Signal())
        let isStopped = Locked(false)
        let operation = queue.add(.timeout(.seconds(1))) {
            began.send()
            proceed.wait()
            isStopped.replace(with: Operation.isCancelled)
            try Operation.checkCancellation()
        }
        #expect(await began.arrives())
        await clock.advance(by: .seconds(1), whenSleepers: 1)
        #expect(await comesTrue { operation.status.isCancelled })
        proceed.send()
        await #expect(throws: OperationTimeout.self) { try await operation.value }
        #expect(isStopped.withLock { $0 })
    }

    @Test func outsideOperationsTheTaskIsAsked() async {
        #expect(!Operation.isCancelled)
        #expect(throws: Never.self) { try Operation.checkCancellation() }
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            #expect(Operation.isCancelled)
            try Operation.checkCancellation()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
