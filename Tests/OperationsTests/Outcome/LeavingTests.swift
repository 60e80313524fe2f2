import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

/// Makes operations that have not begun in various queues, and cancels them while all
/// processors are busy.
private func expectLeaving(
    count: Int = 1, _ queue: OperationQueue = OperationQueue(),
    make: () -> Operation
) {
    let computing = Computing()
    computing.begin()
    let left = Signal()
    let operations = (0..<count).map { _ in make() }
    queue.addOperations(operations, waitUntilFinished: false)
    let last = Operation()
    for operation in operations { last.addDependency(operation) }
    last.completionBlock = { left.send() }
    queue.addOperation(last)
    for operation in operations + [last] { operation.cancel() }
    #expect(left.wait())
    // Two workers may end operations at the same time, and the last one may be quicker.
    for operation in operations {
        #expect(operation.waitUntilFinished(within: .seconds(60)))
    }
    computing.end()
}

/// A cancelled operation that has not begun leaves at once, though operations keep all processors
/// busy until it has left. Each test runs in a process of its own.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct LeavingTests {
    @Test func operationsOfEachKindLeave() async {
        await #expect(processExitsWith: .success) {
            final class Subclass: Operation, @unchecked Sendable {
                override func main() { Issue.record("a cancelled operation began") }
            }
            expectLeaving { Operation() }
            expectLeaving { BlockOperation { Issue.record("a cancelled block ran") } }
            expectLeaving { TypedOperation { 1 } }
            expectLeaving { TypedOperation { () async in 1 } }
            expectLeaving { Subclass() }
        }
    }

    @Test func operationsLeaveBusyQueue() async {
        await #expect(processExitsWith: .success) {
            let computing = Computing()
            computing.begin()
            let waiting = (0..<100).map { number in computing.queue.add { number } }
            waiting[50].cancel()
            #expect(await waiting[50].finished(within: .seconds(60)))
            let behind = computing.queue.add(after: waiting) { 1 }
            behind.cancel()
            #expect(await behind.finished(within: .seconds(60)))
            #expect(!waiting[0].isFinished)
            computing.end()
        }
    }

    @Test func operationsLeaveSuspendedQueueAndQueueWithoutWidth() async {
        await #expect(processExitsWith: .success) {
            let suspended = OperationQueue()
            suspended.isSuspended = true
            expectLeaving(count: 100, suspended) { TypedOperation { 1 } }
            expectLeaving(count: 100, OperationQueue(width: 0)) { BlockOperation {} }
        }
    }

    @Test func wholeQueueLeaves() async {
        await #expect(processExitsWith: .success) {
            let computing = Computing()
            computing.begin()
            let queue = OperationQueue()
            for _ in 0..<10_000 { queue.addOperation { Issue.record("a cancelled block ran") } }
            for number in 0..<10_000 { queue.add { number } }
            queue.cancelAllOperations()
            #expect(await queue.finished(within: .seconds(60)))
            computing.end()
        }
    }

    @Test func scopeEndsWithoutItsOperations() async {
        await #expect(processExitsWith: .success) {
            let computing = Computing()
            computing.begin()
            let task = Task {
                try await withOperationQueue { queue in
                    for number in 0..<100 { queue.add { number } }
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            computing.end()
        }
    }

    /// The value of a cancelled operation is thrown to a task that waits.
    @Test func valueIsThrown() async {
        await #expect(processExitsWith: .success) {
            let computing = Computing()
            computing.begin()
            let operation = OperationQueue().add("never") { 1 }
            operation.cancel(because: "shutdown")
            await #expect(throws: OperationCancellation.self) { try await operation.value }
            computing.end()
        }
    }
}
