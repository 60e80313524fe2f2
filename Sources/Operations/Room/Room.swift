import OperationsRuntime

/// The limits of a queue's operations: ``OperationQueue/overflow``, and callers that wait for
/// capacity. The queue's lock guards all state.
final class Room: QueueRoom, @unchecked Sendable {
    /// What is special about an operation. Usually nothing is.
    private enum Mark {
        /// There is room for the operation, which is about to be added. It counts.
        case expected
        /// There is no room for the operation, which is about to be added nevertheless: cancelled,
        /// so that it ends as any other. It does not count.
        case rejected
        /// The operation was cancelled for lack of room, and has not left. It does not count.
        ///
        /// - Parameter isTaken: whether the thread that has added the operation ends it.
        case dropped(isTaken: Bool)
        /// The operation is never dropped: it belongs to one that has begun, as the node of a
        /// graph.
        case exempt
    }

    private var marks: [ObjectIdentifier: Mark] = [:]
    private(set) var expectedCount = 0
    private(set) var rejectedCount = 0
    private(set) var droppedCount = 0
    private(set) var exemptCount = 0
    /// The callers that wait until the queue is shorter, and their reservations.
    var capacity = CapacityQueue()

    /// The limit that holds now.
    var limit: OperationQueueOverflow? {
        didSet {
            mostInClaim = limit.map { max(1, $0.capacity / 8) } ?? .max
            makesOperations = limit != nil
        }
    }
    /// How many threads are about to set a limit, and keep operations from being dropped before.
    var settingCount = 0
    /// How many operations were chosen to be dropped, and may have begun meanwhile. They count.
    private(set) var undecidedCount = 0
    /// All operations before this place have begun, were dropped, or are never dropped.
    var firstPlace = 0
    /// How many places were looked at for an operation to drop.
    var visitedCount = 0

    /// How many operations count beside those of the queue.
    var countOfArrivals: Int { capacity.reservationCount + expectedCount + undecidedCount }

    override func endUnused() -> Bool {
        leavesOneByOne = capacity.isInUse
        return leavesOneByOne || limit != nil || settingCount > 0 || undecidedCount > 0
            || expectedCount + rejectedCount > 0
    }

    // MARK: Arrivals and departures

    override func arrived(_ operation: Operation, isPart: Bool, in state: inout QueueState) {
        let id = ObjectIdentifier(operation)
        switch marks[id] {
        case .expected: setMark(of: id, to: nil)
        case .rejected:
            setMark(of: id, to: .dropped(isTaken: state.takeDropped(operation)))
        default: break
        }
        if isPart, limit != nil || settingCount > 0 { exempt(operation) }
    }

    override func leaves(_ operation: Operation) {
        if !marks.isEmpty { setMark(of: ObjectIdentifier(operation), to: nil) }
    }

    override func admitted(unfinished: Int) -> [Waiter] {
        capacity.isWaitedFor ? capacity.admit(unfinished: unfinished) : []
    }

    // MARK: Marks

    private func setMark(of id: ObjectIdentifier, to mark: Mark?) {
        let old = marks[id]
        if old == nil, mark == nil { return }
        marks[id] = mark
        count(old, -1)
        count(mark, 1)
    }

    private func count(_ mark: Mark?, _ change: Int) {
        switch mark {
        case .expected: expectedCount += change
        case .rejected: rejectedCount += change
        case .dropped: droppedCount += change
        case .exempt: exemptCount += change
        case nil: break
        }
    }

    /// Records that there is room for an operation, which is about to be added.
    func expect(_ operation: Operation) { setMark(of: ObjectIdentifier(operation), to: .expected) }

    /// Records that there is no room for an operation, which is about to be added nevertheless.
    func reject(_ operation: Operation) { setMark(of: ObjectIdentifier(operation), to: .rejected) }

    /// Records that an operation of the queue is cancelled for lack of room.
    func drop(_ operation: Operation) {
        setMark(of: ObjectIdentifier(operation), to: .dropped(isTaken: true))
    }

    /// Keeps an operation of the queue from being dropped.
    func exempt(_ operation: Operation) {
        let id = ObjectIdentifier(operation)
        if marks[id] == nil { setMark(of: id, to: .exempt) }
    }

    /// Forgets an operation that is not about to be added any more. One that was added is not
    /// affected.
    func forgetAddition(of operation: Operation) {
        let id = ObjectIdentifier(operation)
        switch marks[id] {
        case .expected, .rejected: setMark(of: id, to: nil)
        default: break
        }
    }

    func isExpected(_ operation: Operation) -> Bool {
        if case .expected = marks[ObjectIdentifier(operation)] { true } else { false }
    }

    func isExempt(_ operation: Operation) -> Bool {
        if case .exempt = marks[ObjectIdentifier(operation)] { true } else { false }
    }

    func isDropped(_ operation: Operation) -> Bool {
        if case .dropped = marks[ObjectIdentifier(operation)] { true } else { false }
    }

    /// Whether the thread that adds the operation has to end it.
    func isTaken(_ operation: Operation) -> Bool {
        if case .dropped(isTaken: true) = marks[ObjectIdentifier(operation)] { true } else { false }
    }

    // MARK: Undecided

    /// Records that an operation is about to be dropped, unless it has begun meanwhile.
    func mayDrop(_ operation: Operation) {
        undecidedCount += 1
        setMark(of: ObjectIdentifier(operation), to: .dropped(isTaken: false))
    }

    /// Records whether an operation that was chosen is dropped, or has begun meanwhile.
    func dropWasDecided(of operation: Operation, _ isDropped: Bool) {
        undecidedCount -= 1
        if !isDropped { setMark(of: ObjectIdentifier(operation), to: nil) }
    }
}
