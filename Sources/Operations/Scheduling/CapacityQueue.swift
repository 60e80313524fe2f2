/// Who waits for room in a queue, in the order of their coming, and how many places were given out.
struct CapacityQueue {
    private struct Waiting {
        let number: Int
        let limit: Int
    }

    /// Set for good by the first who comes.
    var isUsed = false
    private(set) var isWaitedFor = false
    /// Places that were given out and not back.
    private(set) var placeCount = 0
    private var line = FIFO<Waiting>()
    /// By their numbers; those who gave up are still in the line, but not here.
    private var continuations: [Int: CheckedContinuation<Bool, Never>] = [:]

    var waiterCount: Int { continuations.count }

    /// Gives a place to somebody who did not wait; false if there is no room, or others wait for it.
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

    /// Takes somebody out of the line; nil if they are not there.
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

    /// Gives places to those for whom there is room now.
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
