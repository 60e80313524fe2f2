import Dispatch
import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// The findings that `body` causes, in a process in which nothing else causes findings.
private func findings(during body: () -> Void) -> [String] {
    let recorder = TestRecorder<String>()
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
    func withFindings(_ body: (TestRecorder<String>) async -> Void) async {
        let recorder = TestRecorder<String>()
        let previous = OperationsDiagnostics.handler
        OperationsDiagnostics.handler = { recorder.record($0.description) }
        await body(recorder)
        OperationsDiagnostics.handler = previous
    }

    @Test func cycleIsReportedByNameAndBrokenByCancellation() async {
        await #expect(processExitsWith: .success) {
            let found = TestRecorder<String>()
            OperationsDiagnostics.handler = { found.record($0.description) }
            let (download, decode, resize) = (named("download"), named("decode"), named("resize"))
            decode.addDependency(download)
            resize.addDependency(decode)
            download.addDependency(resize)
            let queue = OperationQueue()
            await queue.addOperations([download, decode, resize], waitUntilFinished: false)
            #expect(await comesTrue { !found.events.isEmpty })
            #expect(
                found.events == [
                    "dependency cycle: 'download' → 'resize' → 'decode' → 'download'. None of these can "
                        + "start until one of them is cancelled or one of these dependencies is removed"
                ])
            #expect(queue.operationCount == 3)
            decode.cancel()
            await queue.drain()
            #expect(resize.isFinished && download.isFinished)
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

    @Test func mainThreadWaitWithPendingMainOperationIsReported() async {
        await #expect(processExitsWith: .success) {
            let found = TestRecorder<String>()
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
            let found = TestRecorder<String>()
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

    /// A body on the main actor that begins while the main thread waits, or before.
    @Test(arguments: [true, false])
    func waitOfMainThreadForBodyOnMainActorIsReported(beginsBefore: Bool) async {
        await #expect(processExitsWith: .success) { [beginsBefore] in
            let found = TestRecorder<String>()
            let (passed, queue) = (Signal(), OperationQueue(name: "pages"))
            await MainActor.run {
                let end = BlockOperation {}
                queue.isSuspended = true
                queue.add("show") { @MainActor in }
                let messages = findings {
                    // The handler lets the wait end.
                    OperationsDiagnostics.handler = {
                        [inner = OperationsDiagnostics.handler] finding in
                        inner(finding)
                        end.start()
                        passed.send()
                    }
                    if beginsBefore {
                        queue.isSuspended = false
                        // The body is about to wait for the main actor, which this thread has.
                        while queue.explain().description.contains("ready") {}
                    } else {
                        DispatchQueue.global().async { queue.isSuspended = false }
                    }
                    end.waitUntilFinished()
                }
                for message in messages { found.record(message) }
            }
            await queue.finished()
            #expect(found.events.count == 1)
            #expect(found.events.first?.contains("the main thread waits for") == true)
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
