/// The capacity waiters of a queue, in the order in which they came, and the number of
/// reservations.
struct CapacityQueue {
    private struct Waiting {
        let number: Int
        let limit: Int
    }

    /// Whether capacity was ever asked for. The first request sets this for good.
    var isUsed = false
    private(set) var isWaitedFor = false
    /// The number of reservations that were made and not released.
    private(set) var reservationCount = 0
    private var waiters = FIFO<Waiting>()
    /// The continuations of the waiters by their numbers. A waiter that gave up is still in
    /// `waiters`, but not here.
    private var continuations: [Int: CheckedContinuation<Bool, Never>] = [:]

    var waiterCount: Int { continuations.count }

    /// Reserves capacity for a caller that did not wait. Returns false if there is no capacity or
    /// others wait for it.
    mutating func admitAtOnce(below limit: Int, unfinished: Int) -> Bool {
        guard !isWaitedFor, unfinished + reservationCount < limit else { return false }
        reservationCount += 1
        return true
    }

    mutating func append(
        _ continuation: CheckedContinuation<Bool, Never>, number: Int, limit: Int
    ) {
        waiters.append(Waiting(number: number, limit: limit))
        continuations[number] = continuation
        isWaitedFor = true
    }

    /// Removes a waiter; nil if it is not there.
    mutating func remove(_ number: Int) -> CheckedContinuation<Bool, Never>? {
        guard let continuation = continuations.removeValue(forKey: number) else { return nil }
        isWaitedFor = !continuations.isEmpty
        if !isWaitedFor {
            waiters = FIFO()
        } else if waiters.count > 2 * continuations.count + 64 {
            var rest = FIFO<Waiting>()
            while let waiting = waiters.popFirst() {
                if continuations[waiting.number] != nil { rest.append(waiting) }
            }
            waiters = rest
        }
        return continuation
    }

    /// Makes reservations for the waiters for which there is capacity now, and returns these
    /// waiters.
    mutating func admit(unfinished: Int) -> [Waiter] {
        var admitted: [Waiter] = []
        while let first = waiters.first {
            if continuations[first.number] != nil {
                guard unfinished + reservationCount < first.limit else { break }
            }
            _ = waiters.popFirst()
            guard let continuation = continuations.removeValue(forKey: first.number) else {
                continue
            }
            reservationCount += 1
            admitted.append(.capacity(continuation))
        }
        isWaitedFor = !continuations.isEmpty
        return admitted
    }

    mutating func reservationReleased() { reservationCount -= 1 }
}
