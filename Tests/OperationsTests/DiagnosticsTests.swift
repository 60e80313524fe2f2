import Operations
import OperationsTestKit
import TestSupport
import Testing

/// What is reported while a body runs, in a process that nobody else reports to.
private func findings(during body: () -> Void) -> [String] {
    let recorder = Recorder<String>()
    let previous = OperationsDiagnostics.handler
    OperationsDiagnostics.handler = { recorder.record($0.description) }
    body()
    OperationsDiagnostics.handler = previous
    return recorder.events
}

/// The handler of findings belongs to the whole process, so these have processes of their own, or
/// look for findings of their own, one test after the other.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(5)))
struct DiagnosticsTests {
    func withFindings(_ body: (Recorder<String>) async -> Void) async {
        let recorder = Recorder<String>()
        let previous = OperationsDiagnostics.handler
        OperationsDiagnostics.handler = { recorder.record($0.description) }
        await body(recorder)
        OperationsDiagnostics.handler = previous
    }

    @Test func aCycleIsReportedWithItsNamesAndBrokenByCancellingAMember() async {
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

    @Test func aCycleIsBrokenByRemovingADependency() async {
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

    @Test func aDependencyThatIsRefusedIsNotReported() async {
        await #expect(processExitsWith: .success) {
            let (download, decode) = (named("download"), named("decode"))
            let found = findings {
                decode.addDependency(download)
                #expect(throws: OperationMisuse.self) { try download.addDependencyChecked(decode) }
            }
            #expect(found == [])
        }
    }

    @Test func graphsWithoutCyclesAreNotReported() async {
        await #expect(processExitsWith: .success) {
            let found = findings {
                let operations = (0..<50).map { named("\($0)") }
                for later in 1..<50 {
                    for earlier in 0..<later where (later + earlier) % 3 == 0 {
                        operations[later].addDependency(operations[earlier])
                    }
                }
                // Edges added against the order in which the operations were made.
                let reversed = (0..<50).map { named("\($0)") }
                for earlier in 1..<50 { reversed[earlier - 1].addDependency(reversed[earlier]) }
            }
            #expect(found == [])
        }
    }

    /// A cycle that is reported stays linked, against the order of the graph; others must be found
    /// beside it.
    @Test func aCycleIsFoundWhileAnotherEdgeClosesOne() async {
        await #expect(processExitsWith: .success) {
            let (a, x, c, b) = (named("a"), named("x"), named("c"), named("b"))
            let found = findings {
                x.addDependency(a)
                b.addDependency(x)
                a.addDependency(b)
                // Breaks the first cycle, and closes a second one over the edge that is left.
                x.cancel()
                c.addDependency(a)
                b.addDependency(c)
            }
            #expect(found.count == 2)
            #expect(found.last?.contains("'b' → 'c' → 'a' → 'b'") == true)
        }
    }

    /// The edge that is left closes another cycle, which whoever looks next finds.
    @Test func aCycleOfOthersIsReportedAndRefusesNothing() async {
        await #expect(processExitsWith: .success) {
            let (a, b, x, c) = (named("a"), named("b"), named("x"), named("c"))
            let (first, second) = (named("first"), named("second"))
            let found = findings {
                for way in [x, c] {
                    b.addDependency(way)
                    way.addDependency(a)
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

    @Test func waitingOnTheMainThreadForWhatCannotHaveFinishedIsReported() async {
        await #expect(processExitsWith: .success) {
            let found = Recorder<String>()
            await MainActor.run {
                let queue = suspendedQueue()
                queue.name = "Download queue"
                queue.addOperation {}
                let messages = findings {
                    OperationQueue.main.addOperation {}
                    // The report itself lets the queue go on, so that the wait ends.
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

    /// Two cycles over the same edge, one after the other; the second one leads over an operation
    /// that is moved by the addition that puts the edge in its place.
    @Test func theRestOfABrokenCycleIsPartOfTheNext() async {
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
}
