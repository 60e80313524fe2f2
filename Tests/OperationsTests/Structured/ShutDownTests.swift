import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Queues that are shut down.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ShutDownTests {
    private func isShutDown(_ operation: Operation) -> Bool {
        if case .queueShutDown? = operation.cancellationReason { true } else { false }
    }

    @Test func whatIsThereEndsAndNothingElseBegins() async throws {
        let queue = OperationQueue(name: "pictures", width: 1)
        let (gate, began) = (AsyncGate(), Signal())
        let first = queue.add { () async throws in
            began.send()
            try await gate.wait()
        }
        let second = queue.add(after: first) { 2 }
        #expect(await began.arrives())
        let shutDown = Task { await queue.shutDown(grace: .seconds(300)) }
        #expect(await comesTrue { queue.isShutDown })
        let late = queue.add { 3 }
        let lateBlock = Tally()
        queue.addOperation { lateBlock.increment() }
        queue.addBarrierBlock { lateBlock.increment() }
        await queue.addOperations(
            [BlockOperation { lateBlock.increment() }], waitUntilFinished: false)
        let error = await #expect(throws: OperationCancellation.self) { try await late.value }
        #expect(error?.reason.description == "queue 'pictures' was shut down")
        gate.open()
        await shutDown.value
        #expect(try second.result == 2)
        #expect(lateBlock.value == 0 && queue.operationCount == 0)
    }

    @Test func additionsThatAskForCapacityLearnOfTheEnd() async throws {
        let queue = OperationQueue()
        let (gate, began) = (AsyncGate(), Signal())
        queue.add { () async throws in
            began.send()
            try await gate.wait()
        }
        #expect(await began.arrives())
        let waiting = Task { try await queue.add(capacity: 1) {} }
        #expect(await comesTrue { queue.snapshot { $0.limits?.capacity.waiterCount ?? 0 } == 1 })
        let shutDown = Task { await queue.shutDown(grace: .seconds(300)) }
        #expect(await comesTrue { queue.isShutDown })
        #expect(queue.tryAdd(capacity: 10) {} == nil)
        gate.open()
        await shutDown.value
        await #expect(throws: OperationCancellation.self) { try await waiting.value }
        #expect(queue.snapshot { $0.limits?.capacity.reservationCount ?? 0 } == 0)
    }

    @Test func theRestIsCancelledAfterTheGracePeriod() async throws {
        let scheduler = TestScheduler(seed: 1)
        let queue = scheduler.makeQueue()
        queue.isSuspended = true
        let stuck = queue.add {}
        let shutDown = Task { await queue.shutDown(grace: .seconds(20)) }
        #expect(await comesTrue { queue.isShutDown })
        #expect(
            await comesTrue { (try? scheduler.advance(by: .seconds(1))) != nil && stuck.isFinished }
        )
        await shutDown.value
        #expect(isShutDown(stuck))
        #expect(scheduler.clock.now.offset >= .seconds(20))
    }

    @Test func whatWaitsForLongerThanTheGracePeriodIsCancelledAtOnce() async throws {
        let queue = OperationQueue()
        let runs = Tally()
        let periodic = queue.add(.every(.milliseconds(1))) { runs.increment() }
        let delayed = queue.add(.delay(.seconds(1_000))) {}
        let soon = queue.add(.delay(.milliseconds(20))) { 1 }
        #expect(await comesTrue { runs.value > 3 })
        await queue.shutDown(grace: .seconds(300))
        #expect(periodic.isFinished && delayed.isCancelled && isShutDown(delayed))
        #expect(try soon.result == 1)
    }

    @Test func onlyWhatRunsHasTheGracePeriodIfAsked() async throws {
        let queue = OperationQueue(name: "files", width: 1)
        let (gate, began) = (AsyncGate(), Signal())
        let running = queue.add { () async throws in
            began.send()
            try await gate.wait()
        }
        let runs = Tally()
        let waiting = queue.add { runs.increment() }
        let after = queue.add(after: waiting, on: .always) { runs.increment() }
        let delayed = queue.add(.delay(.seconds(1))) { runs.increment() }
        queue.addOperation { runs.increment() }
        queue.addBarrierBlock { runs.increment() }
        #expect(await began.arrives())
        let shutDown = Task { await queue.shutDown(grace: .seconds(300), cancelsWaiting: true) }
        await waiting.finished()
        await delayed.finished()
        await after.finished()
        #expect(isShutDown(waiting) && isShutDown(after) && isShutDown(delayed))
        #expect(!running.isCancelled && !running.isFinished)
        gate.open()
        await shutDown.value
        try await running.value
        #expect(runs.value == 0 && queue.operationCount == 0)
    }

    @Test func cancellingTheCallEndsTheGracePeriod() async throws {
        let queue = OperationQueue()
        let waiting = queue.add { () async throws in try await untilCancelled() }
        let shutDown = Task { await queue.shutDown(grace: .seconds(300)) }
        #expect(await comesTrue { queue.isShutDown })
        shutDown.cancel()
        await shutDown.value
        #expect(isShutDown(waiting))
        // Once more, on an empty queue, and with no time at all.
        await queue.shutDown(grace: .zero)
        await queue.shutDown(grace: .seconds(-1))
    }

    @Test func aFurtherCallShortensTheGracePeriod() async throws {
        let queue = OperationQueue()
        queue.add { () async throws in try await untilCancelled() }
        let first = Task { await queue.shutDown(grace: .seconds(300)) }
        #expect(await comesTrue { queue.isShutDown })
        await queue.shutDown(grace: .milliseconds(1))
        await first.value
    }

    /// The queue has to call an override of `start()` although the operation is cancelled.
    @Test(arguments: [true, false])
    func queueThatStartsNothingEndsToo(isSuspended: Bool) async {
        final class Starting: Operation, @unchecked Sendable {
            let body = Tally()
            override func start() { super.start() }
            override func main() { body.increment() }
        }
        let queue = OperationQueue()
        if isSuspended { queue.isSuspended = true } else { queue.maxConcurrentOperationCount = 0 }
        let operation = Starting()
        queue.addOperation(operation)
        let block = queue.add {}
        await queue.shutDown(grace: .zero)
        #expect(isShutDown(operation) && isShutDown(block))
        #expect(operation.isFinished && operation.body.value == 0 && queue.operationCount == 0)
    }

    @Test func piecesOfTasksEnd() async throws {
        let queue = OperationQueue()
        let gate = AsyncGate()
        let task = Task(executorPreference: queue.executor) {
            try await gate.wait()
            return 5
        }
        await queue.shutDown(grace: .zero)
        gate.open()
        #expect(try await task.value == 5)
    }

    /// Threads add while the queue shuts down: each operation runs or is cancelled, and the queue
    /// is empty in the end.
    @Test(arguments: seeds(count: 20))
    func nothingIsLost(seed: UInt64) async throws {
        let queue = OperationQueue(width: 2)
        let (ran, all) = (Tally(), TestRecorder<Operation>())
        let adding = Task {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        for _ in 0..<300 { all.record(queue.add { ran.increment() }) }
                    }
                }
            }
        }
        if seed > 5 { #expect(await comesTrue { ran.value >= Int(seed) }) }
        await queue.shutDown(grace: .seconds(300))
        await adding.value
        await queue.drain()
        #expect(all.events.count == 900 && all.events.allSatisfy(\.isFinished))
        #expect(ran.value + all.events.count(where: \.isCancelled) == 900)
        #expect(all.events.filter(\.isCancelled).allSatisfy { isShutDown($0) })
    }
}
