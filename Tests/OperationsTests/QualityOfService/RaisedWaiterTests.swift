import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct RaisedWaiterTests {
    /// In a process of its own, because qualities of service are used in it.
    @Test func raisingTheWaiterPromotesTheOperation() async {
        await #expect(processExitsWith: .success) {
            let queue = suspendedQueue()
            let operation = queue.add(.qualityOfService(.background)) { 1 }
            let waiter = Task.detached(priority: .background) { try await operation.value }
            let isWaiting = await comesTrue { operation.hasWaiters }
            precondition(isWaiting && operation.effectiveQualityOfService == .background)
            waiter.escalatePriority(to: .high)
            let isPromoted = await comesTrue {
                operation.effectiveQualityOfService == .userInitiated
            }
            precondition(isPromoted)
            queue.isSuspended = false
            let value = try await waiter.value
            precondition(value == 1)
        }
    }
}

extension Operation {
    fileprivate var hasWaiters: Bool { withExtras { !$0.waiters.isEmpty } }
}
