/// The operations of a queue in the order of enqueueing, and which of them are ready.
///
/// A place is given out once. It stays the operation's until the operation leaves, or until the
/// ring moves it, and may then stay empty until all operations before it have left. Adding an
/// operation, finding the next ready one and removing one anywhere take a few steps. The ring keeps
/// no references itself.
struct Ring<Reference>: ~Copyable {
    /// The place of an operation that is in no ring.
    static var nowhere: Int { -1 }
    /// The lane of cancelled operations, which need no slot. The lanes before it are those of the
    /// priorities.
    static var cancelledLane: Int { PriorityLanes.count }

    /// All unfinished operations have their places in `head..<tail`.
    private(set) var head = 0
    private(set) var tail = 0
    private(set) var count = 0
    private(set) var capacity: Int
    private var slots: UnsafeMutablePointer<Reference?>
    private var lanes: UnsafeMutablePointer<BitTree>

    /// Makes a ring without capacity, which allocates nothing.
    init() {
        capacity = 0
        slots =
            UnsafeMutablePointer(bitPattern: MemoryLayout<Reference?>.alignment).unsafelyUnwrapped
        lanes = lanesWithoutMembers
    }

    /// - Parameter capacity: a power of two, at least 64.
    private init(capacity: Int) {
        self.capacity = capacity
        slots = .allocate(capacity: capacity)
        slots.initialize(repeating: nil, count: capacity)
        lanes = .allocate(capacity: laneCount)
        for lane in 0..<laneCount {
            (lanes + lane).initialize(to: BitTree(capacity: capacity))
        }
    }

    deinit {
        if capacity == 0 { return }
        slots.deallocate()
        for lane in 0..<laneCount { lanes[lane].deallocate() }
        lanes.deallocate()
    }

    @inline(__always)
    func hasSpace(for additions: Int) -> Bool { tail - head + additions <= capacity }

    @inline(__always)
    private func slot(_ sequence: Int) -> Int { sequence & (capacity - 1) }

    @inline(__always)
    subscript(sequence: Int) -> Reference? {
        sequence >= head && sequence < tail ? slots[slot(sequence)] : nil
    }

    // MARK: Places

    /// Gives the operation the next place. There must be space for it.
    @inline(__always)
    mutating func append(_ operation: Reference) -> Int {
        let sequence = tail
        slots[slot(sequence)] = operation
        tail += 1
        count += 1
        return sequence
    }

    /// Removes an operation that is in no lane.
    @inline(__always)
    mutating func remove(_ sequence: Int) {
        slots[slot(sequence)] = nil
        count -= 1
        while head < tail, slots[slot(head)] == nil { head += 1 }
    }

    /// Changes the place that the next operation will get. The ring must be empty.
    @inline(__always)
    mutating func skip(_ places: Int) {
        assert(count == 0)
        head += places
        tail = head
    }

    /// Calls `body` with each operation, the oldest first.
    func forEach(_ body: (Int, Reference) -> Void) {
        for sequence in head..<tail {
            if let operation = slots[slot(sequence)] { body(sequence, operation) }
        }
    }

    // MARK: Lanes

    @inline(__always)
    func readyCount(_ lane: Int) -> Int { lanes[lane].count }

    @inline(__always)
    func isReady(_ sequence: Int, lane: Int) -> Bool { lanes[lane].contains(slot(sequence)) }

    @inline(__always)
    mutating func setReady(_ sequence: Int, lane: Int) { lanes[lane].insert(slot(sequence)) }

    @inline(__always)
    mutating func clearReady(_ sequence: Int, lane: Int) { lanes[lane].remove(slot(sequence)) }

    /// Returns the place of the oldest operation in a lane.
    @inline(__always)
    func firstReady(_ lane: Int) -> Int? {
        guard let found = lanes[lane].firstAround(from: slot(head)) else { return nil }
        return head + (found - head) & (capacity - 1)
    }

    /// Returns the place of the operation in a lane that was added last, among those not beyond
    /// `limit`.
    func lastReady(_ lane: Int, upTo limit: Int = .max) -> Int? {
        let last = min(limit, tail - 1)
        guard last >= head else { return nil }
        let starts = slot(last) < slot(head) ? [slot(last), capacity - 1] : [slot(last)]
        for start in starts {
            guard let found = lanes[lane].last(upTo: start) else { continue }
            let sequence = head + (found - slot(head)) & (capacity - 1)
            if sequence <= last { return sequence }
        }
        return nil
    }

    /// Removes the oldest operations, up to `limit`, from a lane and returns how many there were.
    @inline(__always)
    mutating func takeReady(
        _ lane: Int, limit: Int, into entries: UnsafeMutablePointer<Reference>
    ) -> Int {
        var taken = 0
        while taken < limit, let first = lanes[lane].firstAround(from: slot(head)) {
            lanes[lane].remove(from: first, limit: limit - taken) { slot in
                guard let operation = slots[slot] else { return }
                entries[taken] = operation
                taken += 1
            }
        }
        return taken
    }

    // MARK: Growing

    /// Makes space for further operations. At least doubles the capacity or, if at least half of
    /// the places would stay empty, moves the operations together just below `tail`, in their
    /// order.
    ///
    /// - Parameter move: called with the old and the new place of each operation, in order, if the
    ///   operations are moved.
    /// - Complexity: O(capacity), amortised over as many additions.
    mutating func growOrCompact(for additions: Int, move: (Reference, Int, Int) -> Void) {
        let compacts = capacity > 0 && (count + additions - 1) * 2 <= capacity
        var newCapacity = compacts ? capacity : max(64, 2 * capacity)
        while newCapacity < tail - head + additions, !compacts { newCapacity *= 2 }
        var replacement = Ring(capacity: newCapacity)
        replacement.head = compacts ? tail - count : head
        replacement.tail = replacement.head
        let usedLanes = (0..<laneCount).filter { readyCount($0) > 0 }
        for sequence in head..<tail {
            guard let operation = slots[slot(sequence)] else {
                if !compacts { replacement.tail += 1 }
                continue
            }
            let place = replacement.append(operation)
            for lane in usedLanes where isReady(sequence, lane: lane) {
                replacement.setReady(place, lane: lane)
            }
            if compacts { move(operation, sequence, place) }
        }
        self = replacement
    }

    /// Gives back the memory of a ring that has become empty, if it is much.
    mutating func shrink() {
        guard capacity > mostKeptCapacity else { return }
        assert(count == 0)
        var replacement = Ring(capacity: 64)
        (replacement.head, replacement.tail) = (tail, tail)
        self = replacement
    }
}

/// The number of slots that an empty queue keeps for the next additions: less than 2 MB.
let mostKeptCapacity = 65_536

/// The lanes of all rings without capacity. They stay empty, because an operation is in a lane only
/// while it has a place in the ring.
nonisolated(unsafe) private let lanesWithoutMembers = {
    let lanes = UnsafeMutablePointer<BitTree>.allocate(capacity: laneCount)
    lanes.initialize(repeating: BitTree(capacity: 64), count: laneCount)
    return lanes
}()

/// The lanes of the priorities, and that of cancelled operations.
private var laneCount: Int { PriorityLanes.count + 1 }
