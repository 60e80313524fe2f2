import OperationsTestKit
import TestSupport
import Testing

@testable import Operations

// This test is part of the suite that has the process's one handler to itself.
extension DiagnosticsTests {
    private func unseen(in queue: OperationQueue) -> TypedOperation<Int> {
        queue.add("unseen") { () throws -> Int in throw FailureTests.Broken() }
    }

    /// Filters the reports, because other tests run at the same time.
    private func reports(in recorder: Recorder<String>) -> [String] {
        recorder.events.filter { $0.hasPrefix("'unseen' failed") }
    }

    @Test func aFailureThatNobodyLooksAtIsReportedOnce() async {
        await withFindings { findings in
            let queue = OperationQueue()
            do {
                let operation = unseen(in: queue)
                _ = queue.add(after: operation) { _ in }
                _ = queue.add(after: operation) { _ in }
            }
            await queue.drain()
            #expect(await comesTrue { !reports(in: findings).isEmpty })
            #expect(reports(in: findings).count == 1)
            let prefix = "'unseen' failed and nobody looked: no connection."
            #expect(reports(in: findings).first?.hasPrefix(prefix) == true)
        }
    }

    /// Explaining why an operation does not end does not observe its failure; reading its
    /// cancellation reason does.
    @Test(arguments: [true, false])
    func anExpiryThatIsExplainedIsReported(isLookedAt: Bool) async {
        await withFindings { findings in
            weak var gone: TypedOperation<Int>?
            do {
                let clock = ManualClock()
                let queue = OperationQueue(clock)
                let (begun, goOn) = (Signal(), Signal())
                let operation = queue.add("unseen", .timeout(.seconds(1))) {
                    begun.send()
                    goOn.wait()
                    return 1
                }
                gone = operation
                #expect(await begun.arrives())
                await clock.advance(by: .seconds(1), whenSleepers: 1)
                #expect(await comesTrue { operation.status.isCancelled })
                #expect(operation.explain().description.contains("took longer"))
                goOn.send()
                await queue.drain()
                let late = queue.add("unseen", .deadline(in: .zero)) { 1 }
                await queue.drain()
                if isLookedAt {
                    for each in [operation, late] { _ = each.cancellationReason }
                }
            }
            #expect(await comesTrue { gone == nil })
            #expect(await comesTrue { reports(in: findings).count == (isLookedAt ? 0 : 2) })
        }
    }

    @Test(arguments: 0..<5)
    func aFailureThatSomebodyLooksAtIsNotReported(way: Int) async {
        await withFindings { findings in
            weak var gone: TypedOperation<Int>?
            do {
                let queue = OperationQueue()
                let operation = unseen(in: queue)
                gone = operation
                let next = queue.add(after: operation) { _ in }
                switch way {
                case 0: _ = try? await operation.value
                case 1:
                    await operation.finished()
                    _ = operation.error
                case 2:
                    await next.finished()
                    _ = next.cancellationReason
                case 3: _ = try? await next.value
                default:
                    let cleanUp = TypedOperation {}
                    cleanUp.addDependency(next, on: .failure)
                    queue.addOperation(cleanUp)
                }
                await queue.drain()
            }
            #expect(await comesTrue { gone == nil })
            #expect(reports(in: findings).isEmpty)
        }
    }
}
