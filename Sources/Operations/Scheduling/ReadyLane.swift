/// The ready operations of one priority, in the order in which they were enqueued.
///
/// Most become ready in that order and cost O(1). One that had to wait while later ones became ready goes
/// into a heap beside them: O(log n).
struct ReadyLane: Sendable {
    private var inOrder = FIFO<ReadyList.Entry>()
    private var latest: UInt64 = 0
    /// A binary heap: no entry comes before its parent.
    private var late: [ReadyList.Entry] = []

    var isEmpty: Bool { inOrder.isEmpty && late.isEmpty }
    var count: Int { inOrder.count + late.count }

    mutating func append(_ entry: ReadyList.Entry) {
        if inOrder.isEmpty || entry.order > latest {
            inOrder.append(entry)
            latest = entry.order
        } else {
            late.append(entry)
            siftUp(from: late.count - 1)
        }
    }

    mutating func popFirst() -> ReadyList.Entry? {
        guard let overdue = late.first else { return inOrder.popFirst() }
        if let next = inOrder.first, next.order < overdue.order { return inOrder.popFirst() }
        late.swapAt(0, late.count - 1)
        late.removeLast()
        siftDown()
        return overdue
    }

    /// Takes entries out and returns them.
    mutating func removeAll(where shouldBeRemoved: (ReadyList.Entry) -> Bool) -> [ReadyList.Entry] {
        var kept = ReadyLane()
        var removed: [ReadyList.Entry] = []
        while let entry = popFirst() {
            if shouldBeRemoved(entry) { removed.append(entry) } else { kept.append(entry) }
        }
        self = kept
        return removed
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0, late[child].order < late[(child - 1) / 2].order {
            late.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < late.count {
                if late[child].order < late[least].order { least = child }
            }
            if least == parent { return }
            late.swapAt(parent, least)
            parent = least
        }
    }
}
