import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// The asynchronous sequences of states and counts.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct StreamTests {
    @Test func statesFollowLifeCycleAndEnd() async {
        let queue = OperationQueue()
        let first = BlockOperation {}
        let operation = TypedOperation<Void> {}
        operation.addDependency(first)
        var iterator = operation.states.makeAsyncIterator()
        queue.addOperation(operation)
        queue.addOperation(first)
        var states: [OperationState] = []
        while let state = await iterator.next() { states.append(state) }
        #expect(states == [.waiting, .ready, .executing, .finished(isCancelled: false)])
    }

    @Test func statesOfCancelledOperationEndAsCancelled() async {
        let operation = Operation()
        var iterator = operation.states.makeAsyncIterator()
        operation.cancel()
        operation.start()
        var states: [OperationState] = []
        while let state = await iterator.next() { states.append(state) }
        #expect(states == [.ready, .finished(isCancelled: true)])
    }

    @Test func finishedOperationYieldsOnlyItsFinalState() async {
        let operation = Operation()
        operation.start()
        var states: [OperationState] = []
        for await state in operation.states { states.append(state) }
        #expect(states == [.finished(isCancelled: false)])
        #expect(!operation.status.has(.observed))
    }

    @Test func statesOfRetriedOperationStayExecutingBetweenAttempts() async {
        let queue = suspendedQueue()
        let operation = queue.add(.retry(2, backoff: .none)) {
            guard Operation.current?.attempt == 3 else { throw NoConnection(number: 0) }
        }
        var iterator = operation.states.makeAsyncIterator()
        queue.isSuspended = false
        var states: [OperationState] = []
        while let state = await iterator.next() { states.append(state) }
        #expect(states == [.ready, .executing, .finished(isCancelled: false)])
        #expect(!operation.status.has(.observed))
    }

    /// A subclass may announce that it does not execute any more before it announces its end.
    @Test(arguments: [true, false])
    func statesOfSubclassWithOwnStateSkipNone(announcesFinishedFirst: Bool) async {
        final class Own: Operation, @unchecked Sendable {
            let stage = Atomic(0)
            override var isReady: Bool { stage.load(ordering: .acquiring) == 1 }
            override var isExecuting: Bool { stage.load(ordering: .acquiring) == 2 }
            override var isFinished: Bool { stage.load(ordering: .acquiring) == 3 }
        }
        let operation = Own()
        var iterator = operation.states.makeAsyncIterator()
        var keys = ["isReady", "isExecuting", "isFinished"]
        if announcesFinishedFirst { keys.reverse() }
        for stage in 1...3 {
            operation.stage.store(stage, ordering: .releasing)
            for key in keys { operation.didChangeValue(forKey: key) }
        }
        var states: [OperationState] = []
        while let state = await iterator.next() { states.append(state) }
        #expect(states == [.waiting, .ready, .executing, .finished(isCancelled: false)])
    }

    @Test func cancellingTaskEndsLoopAndObservation() async {
        weak var freed: Operation?
        do {
            let operation = Operation()
            freed = operation
            let began = Signal()
            let task = Task { [operation] in
                for await _ in operation.states { began.send() }
            }
            #expect(await began.arrives())
            task.cancel()
            await task.value
            #expect(!operation.status.has(.observed))
        }
        #expect(freed == nil)
    }

    @Test func leavingLoopEndsObservation() async {
        let operation = Operation()
        for await _ in operation.states { break }
        #expect(!operation.status.has(.observed))
        let queue = OperationQueue()
        for await _ in queue.counts { break }
        #expect(!queue.snapshot { $0.records.notifiesEach })
    }

    @Test func countsYieldLatestValueAndEndWithTask() async {
        let queue = suspendedQueue()
        for _ in 0..<3 { queue.addOperation {} }
        let seen = TestRecorder<Int>()
        let task = Task {
            for await count in queue.counts {
                seen.record(count)
                if count == 3 { queue.isSuspended = false }
                if count == 0 { break }
            }
        }
        await task.value
        let values = seen.events
        #expect(values.first == 3)
        #expect(values.last == 0)
        #expect(zip(values, values.dropFirst()).allSatisfy { $0 > $1 })

        let endless = Task { for await _ in queue.counts {} }
        endless.cancel()
        await endless.value
        #expect(!queue.snapshot { $0.records.notifiesEach })
    }

    @Test func manyStateStreamsAreInOrder() async {
        let queue = OperationQueue()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<200 {
                let operation: Operation =
                    index % 2 == 0 ? BlockOperation {} : DispatchedOperation {}
                let states = operation.states.makeAsyncIterator()
                queue.addOperation(operation)
                if index % 5 == 0 { operation.cancel() }
                let box = Locked(states)
                group.addTask {
                    var iterator = box.withLock { $0 }
                    var ranks: [Int] = []
                    while let state = await iterator.next() { ranks.append(rank(state)) }
                    #expect(ranks.last == 3)
                    #expect(ranks.first == 1)
                    #expect(zip(ranks, ranks.dropFirst()).allSatisfy { $0 < $1 })
                }
            }
        }
    }
}

private func rank(_ state: OperationState) -> Int {
    switch state {
    case .waiting: 0
    case .ready: 1
    case .executing: 2
    case .finished: 3
    }
}
