import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

// These tests are part of the suite that owns the single handler of the process.
extension DiagnosticsTests {
    private func failingOperation(in queue: OperationQueue) -> TypedOperation<Int> {
        queue.add("unseen") { () throws -> Int in throw NoConnection() }
    }

    /// Filters the reports, because other tests run at the same time.
    private func reports(in recorder: TestRecorder<String>) -> [String] {
        recorder.events.filter { $0.hasPrefix("'unseen' failed") }
    }

    @Test func unobservedFailureIsReportedOnce() async {
        await withFindings { findings in
            let queue = OperationQueue()
            do {
                let operation = failingOperation(in: queue)
                _ = queue.add(after: operation) { _ in }
                _ = queue.add(after: operation) { _ in }
            }
            await queue.drain()
            #expect(await comesTrue { !reports(in: findings).isEmpty })
            #expect(reports(in: findings).count == 1)
            let prefix = "'unseen' failed, and its failure was never observed: no connection."
            #expect(reports(in: findings).first?.hasPrefix(prefix) == true)
        }
    }

    /// Explaining why an operation does not end does not observe its failure; reading its
    /// cancellation reason does.
    @Test(arguments: [true, false])
    func explainingExpiryDoesNotPreventReport(isObserved: Bool) async {
        await withFindings { findings in
            weak var gone: TypedOperation<Int>?
            do {
                let clock = ManualClock()
                let queue = OperationQueue(clock)
                let (began, proceed) = (Signal(), Signal())
                let operation = queue.add("unseen", .timeout(.seconds(1))) {
                    began.send()
                    proceed.wait()
                    return 1
                }
                gone = operation
                #expect(await began.arrives())
                await clock.advance(by: .seconds(1), whenSleepers: 1)
                #expect(await comesTrue { operation.status.isCancelled })
                #expect(operation.explain().description.contains("took longer"))
                proceed.send()
                await queue.drain()
                let late = queue.add("unseen", .deadline(in: .zero)) { 1 }
                await queue.drain()
                if isObserved {
                    for each in [operation, late] { _ = each.cancellationReason }
                }
            }
            #expect(await comesTrue { gone == nil })
            #expect(await comesTrue { reports(in: findings).count == (isObserved ? 0 : 2) })
        }
    }

    @Test(arguments: 0..<5)
    func observedFailureIsNotReported(method: Int) async {
        await withFindings { findings in
            weak var gone: TypedOperation<Int>?
            do {
                let queue = OperationQueue()
                let operation = failingOperation(in: queue)
                gone = operation
                let next = queue.add(after: operation) { _ in }
                switch method {
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
