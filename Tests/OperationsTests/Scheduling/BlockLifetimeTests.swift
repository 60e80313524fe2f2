import OperationsRuntime
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// What blocks without operations hold, when it is released, and what their bodies may call.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct BlockLifetimeTests {
    /// Runs an action when it is released.
    private final class OnRelease: Sendable {
        let action: @Sendable () -> Void
        init(_ action: @escaping @Sendable () -> Void) { self.action = action }
        deinit { action() }
    }

    private func add(
        to queue: OperationQueue, holding action: @escaping @Sendable () -> Void,
        body: @escaping @Sendable () -> Void = {}
    ) {
        let held = OnRelease(action)
        queue.addOperation {
            withExtendedLifetime(held) { body() }
        }
    }

    // MARK: Cancelling

    @Test func cancellingDropsBlocks() async {
        let (queue, releases, runs) = (OperationQueue(), Tally(), Tally())
        queue.isSuspended = true
        for _ in 0..<100 {
            add(to: queue) {
                releases.increment()
                // No lock is held.
                _ = queue.operationCount
            } body: {
                runs.increment()
            }
        }
        let waiter = Task { await queue.waitUntilAllOperationsAreFinished() }
        queue.cancelAllOperations()
        #expect(queue.operationCount == 0)
        #expect(queue.operations.isEmpty)
        await waiter.value
        await queue.drain()
        // The blocks leave the queue first: what they hold may wait for it.
        #expect(await comesTrue { releases.value == 100 })
        #expect(runs.value == 0)
        #expect(queue.snapshot { $0.isEmpty && $0.ready.count == 0 })
        queue.isSuspended = false
        queue.addOperation { runs.increment() }
        await queue.drain()
        #expect(runs.value == 1)
    }

    @Test func cancellingReachesTheRunningBlock() async {
        let (queue, releases, runs) = (serialQueue(), Tally(), Tally())
        let (begun, gate, cancelled) = (Signal(), Signal(), Tally())
        queue.event { $0.slots.pace.typicalNanoseconds = 1 }
        queue.isSuspended = true
        add(to: queue, holding: { releases.increment() }) {
            begun.send()
            gate.wait()
            if Operation.current?.isCancelled == true { cancelled.increment() }
        }
        for _ in 0..<9 {
            add(to: queue, holding: { releases.increment() }, body: { runs.increment() })
        }
        queue.isSuspended = false
        #expect(await begun.arrives())
        queue.cancelAllOperations()
        #expect(queue.operationCount == 1)
        gate.send()
        await queue.drain()
        #expect(cancelled.value == 1)
        #expect(runs.value == 0)
        #expect(await comesTrue { releases.value == 10 })
        #expect(queue.snapshot { $0.slots.taken } == 0)
    }

    @Test func blockMayCancelItsQueue() async {
        let (queue, runs) = (serialQueue(), Tally())
        queue.event { $0.slots.pace.typicalNanoseconds = 1 }
        queue.isSuspended = true
        for _ in 0..<10 {
            queue.addOperation {
                runs.increment()
                queue.cancelAllOperations()
            }
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(runs.value == 1)
        #expect(queue.operationCount == 0)
    }

    // MARK: Releasing

    @Test func blocksAreReleasedOutsideOfTheirQueue() async {
        let (queue, problems, released) = (serialQueue(), Tally(), Tally())
        queue.event { $0.slots.pace.typicalNanoseconds = 1 }
        queue.isSuspended = true
        for index in 0..<50 {
            add(to: queue) {
                if Operation.current != nil || OperationQueue.current === queue {
                    problems.increment()
                }
                // No lock is held, and the block has left the queue.
                if queue.operationCount > 49 - index { problems.increment() }
                released.increment()
            }
        }
        queue.isSuspended = false
        #expect(await comesTrue { released.value == 50 })
        #expect(problems.value == 0)
    }

    @Test func releaseMayWaitForTheQueue() async {
        let (queue, releases) = (serialQueue(), Tally())
        for _ in 0..<3 {
            add(to: queue) {
                queue.waitUntilAllOperationsAreFinished()
                releases.increment()
            }
            #expect(await comesTrue { queue.snapshot { $0.isEmpty } })
        }
        #expect(await comesTrue { releases.value == 3 })
    }

    @Test func materializedBlockIsReleasedToo() async {
        let (queue, releases) = (OperationQueue(), Tally())
        for _ in 0..<10 {
            add(to: queue, holding: { releases.increment() }) { _ = Operation.current }
        }
        await queue.drain()
        #expect(await comesTrue { releases.value == 10 })
    }

    @Test func blocksKeepTheirQueue() async {
        let gone = Tally()
        let (runs, gate) = (Tally(), Signal())
        do {
            let queue = OperationQueue()
            let token = Token(gone)
            queue.addOperation { gate.wait() }
            for _ in 0..<100 { queue.addOperation { withExtendedLifetime(token) {} } }
            queue.addOperation { runs.increment() }
        }
        gate.send()
        #expect(await comesTrue { gone.value == 1 && runs.value == 1 })
    }

    // MARK: Re-entrance

    @Test func blockMayUseItsQueue() async {
        let (queue, runs) = (serialQueue(), Tally())
        queue.addOperation {
            for _ in 0..<10 { queue.addOperation { runs.increment() } }
            #expect(queue.operationCount == 11)
            #expect(queue.operations.count == 11)
            queue.addBarrierBlock { #expect(runs.value == 10) }
            for _ in 0..<10 { queue.addOperation { runs.increment() } }
        }
        await queue.drain()
        #expect(runs.value == 20)
    }

    @Test func blockMayWait() async {
        let (queue, other, runs) = (serialQueue(), OperationQueue(), Tally())
        queue.event { $0.slots.pace.typicalNanoseconds = 1 }
        queue.isSuspended = true
        for _ in 0..<5 {
            queue.addOperation {
                for _ in 0..<5 { other.addOperation { runs.increment() } }
                other.waitUntilAllOperationsAreFinished()
                if runs.value % 5 == 0 { runs.increment() }
            }
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(runs.value >= 25)
    }

    @Test func operationMayBeStartedInsideABlock() async {
        let (queue, problems) = (OperationQueue(), Tally())
        for _ in 0..<20 {
            queue.addOperation {
                let inner = BlockOperation {}
                let nested = Locked(Operation?.none)
                inner.addExecutionBlock {}
                let probe = BlockOperation { nested.withLock { $0 = Operation.current } }
                probe.start()
                inner.start()
                if nested.withLock({ $0 }) !== probe { problems.increment() }
                if Operation.current == nil || Operation.current === probe { problems.increment() }
                if Operation.current?.isExecuting != true { problems.increment() }
            }
        }
        await queue.drain()
        #expect(problems.value == 0)
    }

    @Test func blocksInheritAQuality() async {
        let (queue, problems, runs) = (OperationQueue(), Tally(), Tally())
        let creator = BlockOperation {
            queue.addOperation {
                // The block was added by an operation with this quality.
                let child = BlockOperation {}
                if child.effectiveQualityOfService != .userInitiated { problems.increment() }
                if Operation.current?.effectiveQualityOfService != .userInitiated {
                    problems.increment()
                }
                let second = BlockOperation {}
                if second.effectiveQualityOfService != .userInitiated { problems.increment() }
                runs.increment()
            }
        }
        creator.qualityOfService = .userInitiated
        queue.addOperation(creator)
        await queue.drain()
        #expect(runs.value == 1)
        #expect(problems.value == 0)
    }
}
