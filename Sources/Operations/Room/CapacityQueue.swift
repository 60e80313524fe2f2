import OperationsRuntime

/// The capacity waiters of a queue, in the order in which they came, and the number of
/// reservations.
struct CapacityQueue {
    typealias Continuation = CheckedContinuation<Bool, Never>

    /// The number of reservations that were made and not released.
    private(set) var reservationCount = 0
    private var waiters = TicketList<(continuation: Continuation, limit: Int)>()

    var isWaitedFor: Bool { !waiters.isEmpty }
    var waiterCount: Int { waiters.count }

    /// Whether somebody waits for capacity, or has reserved it.
    var isInUse: Bool { isWaitedFor || reservationCount > 0 }

    /// Reserves capacity for a caller that did not wait. Returns false if there is no capacity or
    /// others wait for it.
    mutating func admitAtOnce(below limit: Int, unfinished: Int) -> Bool {
        guard !isWaitedFor, unfinished + reservationCount < limit else { return false }
        reservationCount += 1
        return true
    }

    mutating func insert(_ continuation: Continuation, limit: Int, ticket: Int) {
        waiters.insert((continuation, limit), ticket: ticket)
    }

    /// Removes a waiter; nil if it is not there.
    mutating func remove(_ ticket: Int) -> Continuation? { waiters.remove(ticket)?.continuation }

    /// Makes reservations for the waiters for which there is capacity now, and returns these
    /// waiters.
    mutating func admit(unfinished: Int) -> [Waiter] {
        var admitted: [Waiter] = []
        while let first = waiters.first, unfinished + reservationCount < first.limit {
            waiters.popFirst()
            reservationCount += 1
            admitted.append(.capacity(first.continuation))
        }
        return admitted
    }

    mutating func reservationReleased() { reservationCount -= 1 }
}
