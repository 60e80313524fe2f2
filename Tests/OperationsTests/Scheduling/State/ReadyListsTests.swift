import Testing

@testable import Operations
@testable import OperationsRuntime

/// What is ready in a queue beside the bits of its ring, without a queue.
struct ReadyListsTests {
    private let lane = PriorityLanes.normal

    @Test func placesOfTheDefaultOrderStayInTheRing() {
        var ready = ReadyLists()
        let isTaken = [false, true].map {
            ready.setReady($0 ? 2 : 1, lane: lane, isRescheduled: $0, since: nil)
        }
        #expect(isTaken == [false, true])
        #expect(!ready.rescheduled.isReady(1) && ready.rescheduled.isReady(2))
        let isCleared = [1, 2, 2].map { ready.clearReady($0) }
        #expect(isCleared == [false, true, false])
    }

    @Test(arguments: [
        (
            order: OperationQueueOrder.priority, aging: nil as Int64?, hasGroups: false,
            isInRing: true
        ),
        (.lifo, nil, false, true), (.fifo, nil, false, true), (.priority, 10, false, false),
        (.lifo, 10, false, false), (.priority, nil, true, false),
    ])
    func agingAndGroupsRescheduleEach(
        order: OperationQueueOrder, aging: Int64?, hasGroups: Bool, isInRing: Bool
    ) {
        var ready = ReadyLists()
        ready.order = ReadyOrder(order, agingSpan: aging, hasGroups: hasGroups, cursor: 0)
        ready.rescheduled.shareFairly(ready.order.sharesFairly)
        let isTaken = ready.setReady(1, lane: lane, isRescheduled: false, since: nil)
        #expect(isTaken == !isInRing)
    }

    @Test func aClockThatGoesBackStandsStill() {
        var ready = ReadyLists()
        let times = Locked<[Int64]>([5, 9, 4, 10, -3])
        ready.clock = { times.withLock { $0.removeFirst() } }
        let shown = (0..<5).map { _ in ready.now() }
        #expect(shown == [5, 9, 9, 10, 10])
        // Another clock begins anew.
        ready.clock = { 2 }
        let first = ready.now()
        #expect(first == 2)
    }

    @Test func anAgeCountsFromTheGivenTime() {
        var ready = ReadyLists()
        ready.order = ReadyOrder(.priority, agingSpan: 10, cursor: 0)
        ready.clock = { 25 }
        _ = ready.setReady(1, lane: lane, isRescheduled: false, since: nil)
        _ = ready.setReady(2, lane: lane, isRescheduled: false, since: 3)
        #expect(ready.rescheduled.readySince(1) == 25 && ready.rescheduled.readySince(2) == 3)
        // The older one has risen further.
        let first = ready.rescheduled.first()?.place
        #expect(first == 2)
    }

    @Test func somethingIsReadyInAnyList() {
        var ready = ReadyLists()
        #expect(!ready.hasAny)
        ready.count = 1
        #expect(ready.hasAny)
    }

    // MARK: Overrides of `isReady`

    private func operations(_ count: Int) -> [Operation] {
        (0..<count).map { _ in BlockOperation {} }
    }

    @Test func eachEventTakesAFewInTurns() {
        var declined = DeclinedOperations()
        let operations = operations(100)
        for operation in operations { declined.append(.passRetained(operation)) }
        let first = declined.take(isLast: false)
        #expect(first.count == 64 && declined.count == 36 && declined.eventNumber == 1)
        let rest = declined.take(isLast: false)
        #expect(rest.count == 36 && declined.eventNumber == 2)
        let taken = (first + rest).map { $0.takeRetainedValue() }
        #expect(zip(taken, operations).allSatisfy { $0 === $1 })
        let none = declined.take(isLast: true)
        #expect(none.isEmpty && declined.eventNumber == 3)
    }

    @Test func theLastEventTakesAll() {
        var declined = DeclinedOperations()
        for operation in operations(100) { declined.append(.passRetained(operation)) }
        let taken = declined.take(isLast: true)
        #expect(taken.count == 100 && declined.count == 0)
        for operation in taken { operation.release() }
    }
}
