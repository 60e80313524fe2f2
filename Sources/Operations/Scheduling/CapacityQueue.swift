/// The capacity waiters of a queue, in the order in which they came, and the number of places given
/// out.
struct CapacityQueue {
    private struct Waiting {
        let number: Int
        let limit: Int
    }

    /// Whether capacity was ever asked for. The first request sets this for good.
    var isUsed = false
    private(set) var isWaitedFor = false
    /// The number of places that were given out and not returned.
    private(set) var placeCount = 0
    private var line = FIFO<Waiting>()
    /// The continuations of the waiters by their numbers. A waiter that gave up is still in the
    /// line, but not here.
    private var continuations: [Int: CheckedContinuation<Bool, Never>] = [:]

    var waiterCount: Int { continuations.count }

    /// Gives a place to a caller that did not wait. Returns false if there is no capacity or others
    /// wait for it.
    mutating func admitAtOnce(below limit: Int, unfinished: Int) -> Bool {
        guard !isWaitedFor, unfinished + placeCount < limit else { return false }
        placeCount += 1
        return true
    }

    mutating func append(
        _ continuation: CheckedContinuation<Bool, Never>, number: Int, limit: Int
    ) {
        line.append(Waiting(number: number, limit: limit))
        continuations[number] = continuation
        isWaitedFor = true
    }

    /// Removes a waiter from the line; nil if it is not there.
    mutating func remove(_ number: Int) -> CheckedContinuation<Bool, Never>? {
        guard let continuation = continuations.removeValue(forKey: number) else { return nil }
        isWaitedFor = !continuations.isEmpty
        if !isWaitedFor {
            line = FIFO()
        } else if line.count > 2 * continuations.count + 64 {
            var rest = FIFO<Waiting>()
            while let waiting = line.popFirst() {
                if continuations[waiting.number] != nil { rest.append(waiting) }
            }
            line = rest
        }
        return continuation
    }

    /// Gives places to the waiters for which there is capacity now, and returns these waiters.
    mutating func admit(unfinished: Int) -> [Waiter] {
        var admitted: [Waiter] = []
        while let first = line.first {
            if continuations[first.number] != nil {
                guard unfinished + placeCount < first.limit else { break }
            }
            _ = line.popFirst()
            guard let continuation = continuations.removeValue(forKey: first.number) else {
                continue
            }
            placeCount += 1
            admitted.append(.room(continuation))
        }
        isWaitedFor = !continuations.isEmpty
        return admitted
    }

    mutating func placeReturned() { placeCount -= 1 }
}
