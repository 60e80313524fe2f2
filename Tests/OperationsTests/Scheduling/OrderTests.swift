import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// The orders `fifo` and `lifo`.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct OrderTests {
    private func named(
        _ name: String, _ block: @escaping @Sendable () -> Void = {}
    ) -> BlockOperation {
        let operation = BlockOperation(block: block)
        operation.name = name
        return operation
    }

    /// Whether no operation can start, whatever the workers do.
    private func holdsBackAll(_ queue: OperationQueue) -> Bool {
        queue.event { $0.best() == nil }
    }

    // MARK: First in, first out

    @Test(arguments: [10, 3_000])
    func fifoQueueIgnoresPriorities(count: Int) async {
        let queue = serialQueue()
        queue.order = .fifo
        let recorder = TestRecorder<Int>()
        var random = SplitMix64(seed: 1)
        for number in 0..<count {
            let operation = BlockOperation { recorder.record(number) }
            operation.queuePriority = .init(lane: random.below(5))
            queue.addOperation(operation)
        }
        await queue.drain()
        #expect(recorder.events == Array(0..<count))
    }

    @Test(arguments: [1, -1])
    func unreadyOperationHoldsBackLaterOperations(width: Int) async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = width
        queue.order = .fifo
        let (key, recorder) = (Operation(), TestRecorder<String>())
        let first = named("first") { recorder.record("first") }
        let second = named("second") { recorder.record("second") }
        first.addDependency(key)
        await queue.addOperations([first, second], waitUntilFinished: false)
        #expect(holdsBackAll(queue))
        key.start()
        await queue.drain()
        if width == 1 { #expect(recorder.events == ["first", "second"]) }
    }

    @Test func cancelledOperationLeavesOutOfOrder() async {
        let queue = serialQueue()
        queue.order = .fifo
        let (key, first, second) = (Operation(), named("first"), named("second"))
        first.addDependency(key)
        await queue.addOperations([first, second], waitUntilFinished: false)
        #expect(holdsBackAll(queue))
        first.cancel()
        await second.waitUntilFinished()
        await first.waitUntilFinished()
        #expect(!key.isFinished)
    }

    @Test func fifoQueueRespectsWidth() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        queue.order = .fifo
        let occupancy = Occupancy()
        let (began, proceed) = (Signal(), Signal())
        for _ in 0..<6 {
            queue.addOperation {
                occupancy.enter()
                began.send()
                proceed.wait()
                occupancy.leave()
            }
        }
        for _ in 0..<2 { #expect(await began.arrives()) }
        #expect(occupancy.now == 2)
        for _ in 0..<6 { proceed.send() }
        await queue.drain()
        #expect(occupancy.highest == 2)
    }

    /// In the default order, an operation that another one makes ready follows it at once.
    @Test func dependentDoesNotOvertakeInFIFOQueue() async {
        let queue = suspendedQueue()
        queue.maxConcurrentOperationCount = 1
        queue.order = .fifo
        let (key, recorder) = (Operation(), TestRecorder<Int>())
        let operations = (0..<3).map { number in BlockOperation { recorder.record(number) } }
        operations[1].addDependency(key)
        // Becomes ready before the operation in between, while no other operation is ready.
        operations[2].addDependency(operations[0])
        await queue.addOperations(operations, waitUntilFinished: false)
        queue.isSuspended = false
        await operations[0].waitUntilFinished()
        #expect(holdsBackAll(queue))
        key.start()
        await queue.drain()
        #expect(recorder.events == [0, 1, 2])
    }

    @Test func barriersHoldInFIFOQueue() async {
        let queue = OperationQueue()
        queue.order = .fifo
        let recorder = TestRecorder<String>()
        let key = Operation()
        let before = named("before") { recorder.record("before") }
        before.addDependency(key)
        queue.addOperation(before)
        queue.addBarrierBlock { recorder.record("barrier") }
        queue.addOperation { recorder.record("behind") }
        #expect(holdsBackAll(queue))
        key.start()
        await queue.drain()
        #expect(recorder.events == ["before", "barrier", "behind"])
    }

    /// `isReady` is false when the operation is added, and true later.
    @Test func operationThatBecomesReadyLaterKeepsItsTurn() async {
        final class Fickle: Operation, @unchecked Sendable {
            let isOpen = Locked(false)
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
            override var isReady: Bool { super.isReady && isOpen.withLock { $0 } }
            override func main() { body() }
        }
        let queue = serialQueue()
        queue.order = .fifo
        let recorder = TestRecorder<Int>()
        let fickle = Fickle { recorder.record(0) }
        queue.addOperation(fickle)
        queue.addOperation { recorder.record(1) }
        #expect(holdsBackAll(queue))
        fickle.isOpen.withLock { $0 = true }
        fickle.didChangeValue(forKey: "isReady")
        await queue.drain()
        #expect(recorder.events == [0, 1])
    }

    @Test func fifoOrderHoldsDespiteDisturbances() async {
        let count = 20_000 / slowness
        let queue = serialQueue()
        queue.order = .fifo
        let others = OperationQueue()
        let recorder = TestRecorder<Int>()
        var random = SplitMix64(seed: 2)
        var cancelled: [Operation] = []
        for number in 0..<count {
            let operation = BlockOperation { recorder.record(number) }
            operation.queuePriority = .init(lane: random.below(5))
            if random.happens(1, in: 4) {
                let key = BlockOperation {}
                operation.addDependency(key)
                queue.addOperation(operation)
                others.addOperation(key)
            } else {
                queue.addOperation(operation)
            }
            if random.happens(1, in: 10) { cancelled.append(operation) }
            if random.happens(1, in: 10) { cancelled.popLast()?.cancel() }
            if random.happens(1, in: 10) { operation.queuePriority = .high }
            if random.happens(1, in: 500) { queue.isSuspended.toggle() }
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(recorder.events == recorder.events.sorted())
        #expect(recorder.events.count > count / 2)
    }

    // MARK: Last in, first out

    @Test(arguments: [10, 3_000])
    func lastGoesFirstAmongEqualPriorities(count: Int) async {
        let queue = suspendedQueue()
        queue.maxConcurrentOperationCount = 1
        queue.order = .lifo
        let recorder = TestRecorder<Int>()
        var random = SplitMix64(seed: 3)
        var added: [(number: Int, lane: Int)] = []
        for number in 0..<count {
            let operation = BlockOperation { recorder.record(number) }
            added.append((number, random.below(5)))
            operation.queuePriority = .init(lane: added[number].lane)
            queue.addOperation(operation)
        }
        queue.isSuspended = false
        await queue.drain()
        let expected = added.sorted { ($0.lane, $0.number) > ($1.lane, $1.number) }
        #expect(recorder.events == expected.map(\.number))
    }

    /// Also if the other operations are so short that workers claim several at once.
    @Test func operationAddedMeanwhileGoesFirst() async {
        let queue = serialQueue()
        queue.claimsSeveral()
        queue.isSuspended = true
        queue.order = .lifo
        let recorder = TestRecorder<String>()
        for number in 0..<20 { queue.addOperation { recorder.record("\(number)") } }
        queue.addOperation {
            recorder.record("adds")
            queue.addOperation { recorder.record("added") }
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(
            recorder.events == ["adds", "added"] + (0..<20).reversed().map(String.init))
    }

    // MARK: Changing

    @Test func orderCanBeChangedAtAnyTime() async {
        let count = 10_000 / slowness
        let queue = OperationQueue()
        let runs = Tally()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for index in 0..<count {
                    let operation = BlockOperation { runs.increment() }
                    operation.queuePriority = .init(lane: index % 5)
                    if index % 7 == 0 { operation.setDeadline(Int64(index % 100)) }
                    queue.addOperation(operation)
                    if index % 11 == 0 { operation.queuePriority = .veryHigh }
                    if index % 501 == 0 { queue.addBarrierBlock { runs.increment() } }
                }
            }
            group.addTask {
                for index in 0..<count / 20 {
                    queue.order = OperationQueueOrder.allCases[index % 3]
                    if index % 4 == 0 { queue.aging = .microseconds(10) }
                    if index % 4 == 2 { queue.aging = nil }
                    if index % 5 == 0 { queue.maxConcurrentOperationCount = 1 + index % 3 }
                    await Task.yield()
                }
            }
        }
        await queue.drain()
        #expect(runs.value == count + (count + 500) / 501)
        // A worker whose operations were run by other workers returns its slot a little later.
        #expect(await comesTrue { queue.snapshot { $0.slots.taken == 0 } })
        #expect(queue.snapshot { $0.ready.count == 0 && $0.ready.rescheduled.isEmpty })
    }

    @Test func mainQueueKeepsItsOrder() {
        OperationQueue.main.order = .lifo
        OperationQueue.main.aging = .seconds(1)
        #expect(OperationQueue.main.order == .priority && OperationQueue.main.aging == nil)
    }

    // MARK: Explaining

    @Test func fifoOrderIsExplained() {
        let queue = suspendedQueue()
        queue.name = "mail"
        queue.order = .fifo
        let (key, a, b) = (named("key"), named("a"), named("b"))
        a.addDependency(key)
        queue.addOperations([a, b], waitUntilFinished: false)
        queue.isSuspended = false
        #expect(
            b.explain().description == """
                'b' is ready, but its queue 'mail' is strictly first in, first out, and 'a' before it has not \
                started.
                'b' → 'a' → 'key': 'key' is in no queue and was not started: add it to a queue.
                """)
        #expect(
            b.explain().causes.first?.reason == .strictOrder(queue: "queue 'mail'", behind: "'a'"))
        queue.cancelAllOperations()
    }

    @Test func impossibleFIFOOrderIsExplained() {
        let queue = OperationQueue()
        queue.name = "mail"
        queue.order = .fifo
        let (a, b) = (named("a"), named("b"))
        a.addDependency(b)
        queue.addOperations([a, b], waitUntilFinished: false)
        #expect(holdsBackAll(queue))
        #expect(b.explain().description.contains("is a cycle"))
        queue.cancelAllOperations()
    }

    /// An operation that returns from a claim becomes ready for the second time.
    @Test func equalOperationsKeepOrderOfRescheduling() {
        var moved = RescheduledOperations()
        for place in 0..<4 {
            moved.startTurnAnew(at: place, number: 4)
            moved.setReady(place, lane: 1, in: .priority)
        }
        for place in [0, 2] {
            let wasReady = moved.clearReady(place)
            #expect(wasReady)
        }
        moved.setReady(2, lane: 1, in: .priority)
        moved.setReady(0, lane: 1, in: .priority)
        var order: [Int] = []
        while let first = moved.first(1) {
            order.append(first.place)
            let wasReady = moved.clearReady(first.place)
            #expect(wasReady)
        }
        #expect(order == [0, 1, 2, 3])
    }

    /// An operation with a deadline is ordered by its place, and so comes behind operations that
    /// were rescheduled before it was added.
    @Test func rescheduledOperationGoesBeforeLaterAdditions() {
        var moved = RescheduledOperations()
        moved.setDeadline(7, at: 3)
        moved.setDeadline(7, at: 0)
        moved.startTurnAnew(at: 0, number: 3)
        moved.setReady(3, lane: 2, in: .priority)
        moved.setReady(0, lane: 2, in: .priority)
        let first = moved.first(2)
        #expect(first?.place == 0)
    }
}
