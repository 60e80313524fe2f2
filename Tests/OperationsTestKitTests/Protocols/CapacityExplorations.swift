import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// The protocol of capacity waiters, which `Models/capacity.pml` also describes: the real queue,
/// one step of an operation at a time.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct CapacityExplorations {
    /// Two waiters want fewer than two operations, and then add one each. One operation of the
    /// queue runs until both have continued.
    @Test func waitersNeverExceedTheLimit() throws {
        try TestScheduler.explore(schedules: rounds(300)) { scheduler in
            let (queue, others) = (scheduler.makeQueue(width: 2), scheduler.makeQueue())
            let counts = TestRecorder<Int>()
            let gates = [TestGate(), TestGate()]
            queue.add("short") { await Task.yield() }
            queue.add("long") {
                for gate in gates { await gate.wait() }
            }
            for number in 0..<2 {
                others.add("waiter \(number)") {
                    let reservation = try await queue.acquireCapacity(below: 2)
                    gates[number].open()
                    reservation.add(
                        TypedOperation { () async in
                            counts.record(queue.operationCount)
                            await Task.yield()
                        })
                    counts.record(queue.operationCount)
                }
            }
            try scheduler.run()
            try scheduler.check(counts.events.count == 4)
            try scheduler.check(counts.events.allSatisfy { $0 <= 2 }, "\(counts.events)")
        }
    }

    /// The first waiter wants an empty queue, and is cancelled. The second waiter must then
    /// continue, because the operation in the queue ends after it.
    @Test func cancelledWaiterHoldsNobodyBack() throws {
        try TestScheduler.explore(schedules: rounds(300)) { scheduler in
            let (queue, others) = (scheduler.makeQueue(), scheduler.makeQueue())
            let hasContinued = TestGate()
            queue.add("long") { await hasContinued.wait() }
            let first = others.add("first") { try await queue.waitForCapacity(below: 1) }
            others.add("second") {
                try await queue.waitForCapacity(below: 2)
                hasContinued.open()
            }
            others.add("cancel") { first.cancel() }
            try scheduler.run()
            try scheduler.check(first.isFinished && queue.operationCount == 0)
        }
    }
}
