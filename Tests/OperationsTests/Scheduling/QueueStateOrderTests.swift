import Testing

@testable import Operations

/// The state of a queue in each order, driven event by event on the thread of the test.
struct QueueStateOrderTests {
    enum Event {
        case add(String, Operation.QueuePriority = .normal, deadline: Int64? = nil)
        case barrier(String)
        case advance(Int64)
        case arrange(OperationQueueOrder, aging: Int64? = nil)
        case setPriority(String, Operation.QueuePriority)
        case setDeadline(String, Int64)
        /// A worker claims the next operation, and returns it to the queue.
        case claimAndReturn
        /// An operation starts and ends.
        case run
    }

    struct Row: CustomTestStringConvertible {
        let testDescription: String
        let events: [Event]
        let expected: [String]

        init(_ description: String, _ events: [Event], _ expected: [String]) {
            (testDescription, self.events, self.expected) = (description, events, expected)
        }
    }

    private static let orders = [
        Row(
            "the highest priority goes first, then the earliest deadline, then the first place",
            [
                .add("a"), .add("b", deadline: 9), .add("c", deadline: 5), .add("d", .low),
                .add("e", .high), .add("f"),
            ], ["e", "c", "b", "a", "f", "d"]),
        Row(
            "a changed priority goes behind the operations that had it",
            [.add("a", .low), .add("b"), .setPriority("a", .normal), .add("c")], ["b", "a", "c"]),
        Row(
            "lifo: the last place goes first among equal priorities",
            [.arrange(.lifo), .add("a"), .add("b", .low), .add("c"), .add("d", deadline: 1)],
            ["d", "c", "a", "b"]),
        Row(
            "fifo: priorities and deadlines have no effect",
            [.arrange(.fifo), .add("a", .low), .add("b", .high), .add("c", deadline: 1)],
            ["a", "b", "c"]),
        Row(
            "fifo: an operation that is given back goes first again",
            [.arrange(.fifo), .add("a"), .add("b"), .claimAndReturn, .add("c")], ["a", "b", "c"]),
        Row(
            "a barrier separates the operations in every order",
            [
                .add("a", .low), .barrier("|"), .add("b", .high), .arrange(.lifo), .add("c", .high),
                .run, .arrange(.fifo),
            ], ["a", "|", "b", "c"]),
    ]

    private static let aging = [
        Row(
            "an operation rises when the clock passes a multiple of the span",
            [
                .arrange(.priority, aging: 10), .advance(9), .add("low", .low), .advance(1),
                .add("normal"),
            ], ["low", "normal"]),
        Row(
            "no operation rises between two multiples of the span",
            [
                .arrange(.priority, aging: 10), .add("low", .low), .advance(9), .add("normal"),
            ], ["normal", "low"]),
        Row(
            "at the same level the earliest deadline goes first",
            [
                .arrange(.priority, aging: 10), .add("low", .low), .advance(10), .add("normal"),
                .add("due", deadline: 1),
            ], ["due", "low", "normal"]),
        Row(
            "lifo: at the same level the last place goes first",
            [
                .arrange(.lifo, aging: 10), .add("low", .low), .advance(10), .add("a"), .add("b"),
                .advance(10), .add("new"),
            ], ["b", "a", "low", "new"]),
        Row(
            "the span counts behind a barrier",
            [
                .arrange(.priority, aging: 10), .add("a"), .barrier("|"), .add("old", .low),
                .advance(20), .run, .add("normal"), .add("high", .high),
            ], ["a", "|", "old", "high", "normal"]),
        Row(
            "a new priority starts the span anew",
            [
                .arrange(.priority, aging: 10), .add("a", .low), .advance(20), .add("b"),
                .advance(10), .setPriority("a", .normal),
            ], ["b", "a"]),
        Row(
            "a new deadline does not",
            [
                .arrange(.priority, aging: 10), .add("a"), .advance(20), .add("b", deadline: 1),
                .setDeadline("a", 5),
            ], ["a", "b"]),
        Row(
            "neither does a worker that gives the operation back",
            [
                .arrange(.priority, aging: 10), .add("a", .low), .advance(20), .claimAndReturn,
                .add("b"),
            ], ["a", "b"]),
        Row(
            "the span counts from the time at which aging was set",
            [.add("a", .low), .advance(50), .arrange(.priority, aging: 10), .add("b")],
            ["b", "a"]),
        Row(
            "another span keeps the ages",
            [
                .arrange(.priority, aging: 10), .add("a", .low), .advance(50),
                .arrange(.priority, aging: 20), .add("b"),
            ], ["a", "b"]),
        Row(
            "another order keeps the ages",
            [
                .arrange(.priority, aging: 10), .add("a", .low), .advance(50),
                .arrange(.lifo, aging: 10), .add("b"),
            ], ["a", "b"]),
        Row(
            "the strict order keeps the span and no ages",
            [
                .arrange(.priority, aging: 10), .add("a", .low), .advance(50),
                .arrange(.fifo, aging: 10), .arrange(.priority, aging: 10), .add("b"),
            ], ["b", "a"]),
        Row(
            "without aging, priorities are what they were",
            [
                .arrange(.priority, aging: 10), .add("a", .low), .add("b"), .advance(50),
                .add("c", .high), .arrange(.priority),
            ], ["c", "b", "a"]),
        Row(
            "a time that goes back stands still",
            [
                .arrange(.priority, aging: 10), .add("a"), .advance(-500), .add("b", .low),
            ], ["a", "b"]),
    ]

    @Test(arguments: orders + aging)
    func theNextOperationIsTheOneThatTheOrderWants(row: Row) {
        let queue = DrivenQueue()
        for event in row.events { queue.handle(event) }
        while queue.run() {}
        #expect(queue.ran == row.expected)
        #expect(queue.isLeftEmpty)
    }

    /// In a strict order, nothing goes through what has begun again.
    @Test func strictOrdersLookOnlyFromTheCursorOn() {
        var state = QueueState()
        let queue = OperationQueue()
        state.arrange(order: .fifo, agingSpan: nil, hasGroups: false)
        let operations = (0..<100).map { _ in Operation() }
        for operation in operations {
            _ = state.add(operation, to: queue)
            _ = operation.exchange { $0.becameReady(wasReady: true) }
            state.insertReady(operation)
        }
        for operation in operations.dropLast() {
            guard case .single = state.executorRequestedWork(Claim(), cores: 1) else { return }
            _ = operation.exchange { $0.startingFromQueue() }
        }
        _ = state.best()
        let last = operations[99]
        let places = state.placesThatMayHoldBack(last.place)
        #expect(places.isEmpty && state.firstStrictly(before: last.place) == nil)
        // One of them will have another attempt, and only that one holds back others again.
        _ = operations[70].exchange { $0.startRequested() }
        _ = operations[70].exchange { $0.attemptEnded() }
        state.slotReturned(by: operations[70])
        let (cursor, first) = (state.ready.order.cursor, state.firstStrictly(before: last.place))
        #expect(cursor == operations[70].place && first == operations[70].place)
        for operation in operations {
            _ = operation.exchange { $0.finished() }
            let holdsSlot = operation !== operations[70] && operation !== last
            _ = state.leave(operation, releasesSlot: holdsSlot)
            // The references of the ring, and those of the claims.
            Unmanaged.passUnretained(operation).release()
            if operation !== last { Unmanaged.passUnretained(operation).release() }
        }
        let isEmpty = state.isEmpty
        #expect(isEmpty)
    }
}

/// The state of a queue with operations that are claimed and ended by the calling thread.
private final class DrivenQueue {
    private var state = QueueState()
    private let queue = OperationQueue()
    private let clock = StoppedClock()
    private var operations: [String: Operation] = [:]
    private(set) var ran: [String] = []

    init() { state.ready.clock = { [clock] in clock.now } }

    var isLeftEmpty: Bool {
        state.isEmpty && state.ready.count == 0 && state.ready.rescheduled.isEmpty
            && state.slots.taken == 0
    }

    func handle(_ event: QueueStateOrderTests.Event) {
        switch event {
        case .add(let name, let priority, let deadline): add(name, priority, deadline)
        case .barrier(let name): addBarrier(name)
        case .advance(let nanoseconds): clock.advance(by: nanoseconds)
        case .arrange(let order, let span):
            state.arrange(order: order, agingSpan: span, hasGroups: false)
        case .setPriority(let name, let priority):
            if let operation = operations[name] {
                state.changePriority(of: operation, to: priority)
            }
        case .setDeadline(let name, let deadline):
            if let operation = operations[name] { state.setDeadline(deadline, of: operation) }
        case .claimAndReturn: claimAndReturn()
        case .run: _ = run()
        }
    }

    private func add(_ name: String, _ priority: Operation.QueuePriority, _ deadline: Int64?) {
        let operation = BlockOperation {}
        operation.name = name
        operation.queuePriority = priority
        if let deadline { operation.setDeadline(deadline) }
        operations[name] = operation
        _ = state.add(operation, to: queue)
    }

    private func addBarrier(_ name: String) {
        let barrier = Barrier()
        barrier.name = name
        operations[name] = barrier
        _ = state.add(barrier, to: queue)
        _ = barrier.exchange { $0.becameReady(wasReady: true) }
        state.insertReady(barrier)
    }

    private func claimAndReturn() {
        let claim = Claim()
        guard case .claim = state.executorRequestedWork(claim, cores: 1) else {
            Issue.record("nothing was claimed")
            return
        }
        _ = state.reclaimRest(of: claim)
        _ = state.retire(claim, nanoseconds: 1_000_000)
    }

    /// Claims the next operation and ends it. Returns false if there is none.
    func run() -> Bool {
        let claim = Claim()
        let reference: Unmanaged<Operation>
        switch state.executorRequestedWork(claim, cores: 1) {
        case .none, .refused: return false
        case .single(let operation):
            end(operation.takeUnretainedValue())
            _ = state.leave(operation.takeUnretainedValue(), releasesSlot: true)
            // The worker's reference.
            operation.release()
            reference = operation
        case .claim:
            guard let operation = claim.takeNext()?.operation else { return false }
            end(operation.takeUnretainedValue())
            _ = state.retire(claim, nanoseconds: 1_000_000)
            reference = operation
        }
        // The ring's reference.
        reference.release()
        return true
    }

    private func end(_ operation: Operation) {
        ran.append(operation.name ?? "")
        _ = operation.exchange { $0.finished() }
    }
}
