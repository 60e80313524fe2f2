import Dispatch
import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// The findings that `body` causes, in a process in which nothing else causes findings.
private func findings(during body: () -> Void) -> [String] {
    let recorder = Recorder<String>()
    let previous = OperationsDiagnostics.handler
    OperationsDiagnostics.handler = { recorder.record($0.description) }
    body()
    OperationsDiagnostics.handler = previous
    return recorder.events
}

/// The whole process has one handler of findings. So each test runs in a process of its own, or
/// filters its own findings, one test after the other.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(5)))
struct DiagnosticsTests {
    func withFindings(_ body: (Recorder<String>) async -> Void) async {
        let recorder = Recorder<String>()
        let previous = OperationsDiagnostics.handler
        OperationsDiagnostics.handler = { recorder.record($0.description) }
        await body(recorder)
        OperationsDiagnostics.handler = previous
    }

    @Test func cycleIsReportedByNameAndBrokenByCancellation() async {
        await #expect(processExitsWith: .success) {
            let (download, decode, resize) = (named("download"), named("decode"), named("resize"))
            let found = findings {
                decode.addDependency(download)
                resize.addDependency(decode)
                download.addDependency(resize)
            }
            #expect(
                found == [
                    "dependency cycle: 'download' → 'resize' → 'decode' → 'download'. None of these can "
                        + "start until one of them is cancelled or one of these dependencies is removed"
                ])
            let queue = OperationQueue()
            await queue.addOperations([download, decode, resize], waitUntilFinished: false)
            #expect(queue.operationCount == 3)
            decode.cancel()
            await queue.drain()
            #expect(resize.isFinished && download.isFinished)
        }
    }

    @Test func cycleIsBrokenByRemovingDependency() async {
        await #expect(processExitsWith: .success) {
            let (download, decode) = (named("download"), named("decode"))
            let found = findings {
                decode.addDependency(download)
                download.addDependency(decode)
            }
            #expect(found.count == 1)
            let queue = OperationQueue()
            await queue.addOperations([download, decode], waitUntilFinished: false)
            #expect(queue.operationCount == 2)
            download.removeDependency(decode)
            await queue.drain()
            #expect(download.isFinished && decode.isFinished)
        }
    }

    @Test func refusedDependencyIsNotReported() async {
        await #expect(processExitsWith: .success) {
            let (download, decode) = (named("download"), named("decode"))
            let found = findings {
                decode.addDependency(download)
                #expect(throws: OperationMisuse.self) { try download.addDependencyChecked(decode) }
            }
            #expect(found == [])
        }
    }

    @Test func acyclicGraphsAreNotReported() async {
        await #expect(processExitsWith: .success) {
            let found = findings {
                let operations = (0..<50).map { named("\($0)") }
                for later in 1..<50 {
                    for earlier in 0..<later where (later + earlier) % 3 == 0 {
                        operations[later].addDependency(operations[earlier])
                    }
                }
                // Edges against the order in which the operations were created.
                let reversed = (0..<50).map { named("\($0)") }
                for earlier in 1..<50 { reversed[earlier - 1].addDependency(reversed[earlier]) }
            }
            #expect(found == [])
        }
    }

    /// A reported cycle stays linked, against the topological order. Other cycles beside it must be
    /// found.
    @Test func secondCycleOverEdgeOfBrokenCycleIsReported() async {
        await #expect(processExitsWith: .success) {
            let (a, x, c, b) = (named("a"), named("x"), named("c"), named("b"))
            let found = findings {
                x.addDependency(a)
                b.addDependency(x)
                a.addDependency(b)
                // The cancellation breaks the first cycle. The next edges close a second cycle over
                // the remaining edge of the first one.
                x.cancel()
                c.addDependency(a)
                b.addDependency(c)
            }
            #expect(found.count == 2)
            #expect(found.last?.contains("'b' → 'c' → 'a' → 'b'") == true)
        }
    }

    /// The remaining edge closes another cycle, which the next search finds.
    @Test func unrelatedCycleIsReportedButRefusesNothing() async {
        await #expect(processExitsWith: .success) {
            let (a, b, x, c) = (named("a"), named("b"), named("x"), named("c"))
            let (first, second) = (named("first"), named("second"))
            let found = findings {
                for middle in [x, c] {
                    b.addDependency(middle)
                    middle.addDependency(a)
                }
                a.addDependency(b)
                x.cancel()
                #expect(throws: Never.self) { try first.addDependencyChecked(second) }
            }
            #expect(first.dependencies == [second])
            #expect(found.count == 2)
            #expect(found.last?.contains("'a' → 'b' → 'c' → 'a'") == true)
        }
    }

    @Test func mainThreadWaitWithPendingMainOperationIsReported() async {
        await #expect(processExitsWith: .success) {
            let found = Recorder<String>()
            await MainActor.run {
                let queue = suspendedQueue()
                queue.name = "Download queue"
                queue.addOperation {}
                let messages = findings {
                    OperationQueue.main.addOperation {}
                    // The handler resumes the queue, so that the wait ends.
                    OperationsDiagnostics.handler = {
                        [inner = OperationsDiagnostics.handler] finding in
                        inner(finding)
                        queue.isSuspended = false
                    }
                    queue.waitUntilAllOperationsAreFinished()
                }
                for message in messages { found.record(message) }
            }
            await OperationQueue.main.drain()
            #expect(found.events.count == 1)
            #expect(
                found.events.first?.contains("the operations of queue 'Download queue'") == true)
        }
    }

    @Test(arguments: [true, false])
    func waitOfMainThreadForQueueOnMainThreadIsReported(waitsForQueue: Bool) async {
        await #expect(processExitsWith: .success) { [waitsForQueue] in
            let found = Recorder<String>()
            await MainActor.run {
                let queue = OperationQueue()
                queue.name = "Interface"
                queue.underlyingQueue = .main
                let operation = StateKeepingOperation()
                operation.name = "draw"
                queue.addOperation(operation)
                let messages = findings {
                    // The handler ends the operation, so that the wait ends.
                    OperationsDiagnostics.handler = {
                        [inner = OperationsDiagnostics.handler] finding in
                        inner(finding)
                        operation.stage = .finished
                    }
                    if waitsForQueue {
                        queue.waitUntilAllOperationsAreFinished()
                    } else {
                        operation.waitUntilFinished()
                    }
                }
                for message in messages { found.record(message) }
            }
            #expect(found.events.count == 1)
            let name = waitsForQueue ? "the operations of queue 'Interface'" : "'draw'"
            #expect(found.events.first?.contains("waits for \(name) while") == true)
        }
    }

    /// Two cycles, one after the other, share an edge. The second cycle contains an operation that
    /// moves in the topological order when the shared edge is put in order.
    @Test func remainingEdgeOfBrokenCycleClosesNextCycle() async {
        await #expect(processExitsWith: .success) {
            let (a, b, c) = (named("a"), named("b"), named("c"))
            let found = findings {
                c.addDependency(b)
                b.addDependency(c)
                c.removeDependency(b)
                a.addDependency(b)
                c.addDependency(a)
            }
            #expect(found.count == 2)
        }
    }

    @Test func accessesDoNotWrapTheHandler() async {
        await #expect(processExitsWith: .success) {
            let findings = Tally()
            OperationsDiagnostics.handler = { _ in findings.increment() }
            for _ in 0..<30_000 { _ = OperationsDiagnostics.handler }
            for _ in 0..<30_000 { OperationsDiagnostics.handler = OperationsDiagnostics.handler }
            // Each wrapping would take some of this stack.
            await onThread(stackSize: 512 * 1024) {
                OperationsDiagnostics.handler(.mainThreadWait("queue"))
            }
            #expect(findings.value == 1)
        }
    }

    @Test func replacedHandlerIsReleasedOutsideTheLock() async {
        await #expect(processExitsWith: .success) {
            final class Restores: Sendable {
                deinit { OperationsDiagnostics.handler = { _ in } }
            }
            OperationsDiagnostics.handler = { [token = Restores()] _ in
                withExtendedLifetime(token) {}
            }
            OperationsDiagnostics.handler = { _ in }
        }
    }
}
