import OperationsRuntime

/// The entries of a queue in the order in which they were added, and which of them are ready.
///
/// A place is given out once. It stays the entry's until the entry leaves, or until the ring moves
/// it, and may then stay empty until all entries before it have left. Adding an entry, finding the
/// next ready one and removing one anywhere take a few steps. The ring counts no references, and
/// only bits say which slots are in use. So the memory of an entry is written once, when the entry
/// is added, and does not travel between processors again.
struct Ring<Element: BitwiseCopyable>: ~Copyable {
    /// The place of an entry that is in no ring.
    static var nowhere: Int { -1 }
    /// The lane of cancelled entries, which need no slot. The lanes before it are those of the
    /// priorities.
    static var cancelledLane: Int { PriorityLanes.count }

    /// All entries have their places in `head..<tail`.
    private(set) var head = 0
    private(set) var tail = 0
    private(set) var count = 0
    private(set) var capacity: Int
    private var slots: UnsafeMutablePointer<Element>
    /// One bit for each slot, set if the slot is in use and its place is before `markedTail`.
    private var marks: UnsafeMutablePointer<UInt64>
    /// The places from here on were all added one after the other, and all are in use. Their marks
    /// are set together, when somebody looks.
    private var markedTail = 0
    private var lanes: UnsafeMutablePointer<BitTree>
    /// The run of places that became ready last. They are in their lane, but its bits are set
    /// together, when somebody looks.
    private var freshHead = 0
    private var freshTail = 0
    private var freshLane = 0
    /// The number of times that the ring has moved entries to other places.
    private(set) var moveCount = 0

    /// Makes a ring without capacity, which allocates nothing.
    init() {
        capacity = 0
        slots = UnsafeMutablePointer(bitPattern: MemoryLayout<Element>.alignment).unsafelyUnwrapped
        marks = UnsafeMutablePointer(bitPattern: MemoryLayout<UInt64>.alignment).unsafelyUnwrapped
        lanes = lanesWithoutMembers
    }

    /// - Parameter capacity: a power of two, at least 64.
    private init(capacity: Int) {
        self.capacity = capacity
        slots = .allocate(capacity: capacity)
        marks = .allocate(capacity: capacity >> 6)
        marks.initialize(repeating: 0, count: capacity >> 6)
        lanes = .allocate(capacity: laneCount)
        for lane in 0..<laneCount {
            (lanes + lane).initialize(to: BitTree(capacity: capacity))
        }
    }

    deinit {
        if capacity == 0 { return }
        slots.deallocate()
        marks.deallocate()
        for lane in 0..<laneCount { lanes[lane].deallocate() }
        lanes.deallocate()
    }

    @inline(__always)
    func hasSpace(for additions: Int) -> Bool { tail - head + additions <= capacity }

    @inline(__always)
    private func slot(_ place: Int) -> Int { place & (capacity - 1) }

    @inline(__always)
    subscript(place: Int) -> Element? {
        place >= head && place < tail && isInUse(place) ? slots[slot(place)] : nil
    }

    // MARK: Places

    /// Gives the entry the next place. There must be space for it.
    @inline(__always)
    mutating func append(_ entry: Element) -> Int {
        let place = tail
        slots[slot(place)] = entry
        tail += 1
        count += 1
        return place
    }

    /// Removes neighbors that are in no lane. After one or several such calls, ``advanceHead()``
    /// must be called.
    @inline(__always)
    mutating func vacate(_ first: Int, count removed: Int) {
        setMarks()
        forEachWord(of: first..<first + removed) { word, bits in marks[word] &= ~bits }
        count -= removed
    }

    /// Moves the head to the oldest entry.
    @inline(__always)
    mutating func advanceHead() {
        while head < markedTail {
            let word = marks[slot(head) >> 6] >> UInt64(head & 63)
            if word != 0 {
                head = min(head + word.trailingZeroBitCount, markedTail)
                return
            }
            head = min(head & ~63 + 64, markedTail)
        }
    }

    /// Puts another entry into a place that is in use. Its lane stays the same.
    mutating func replace(_ place: Int, by entry: Element) { slots[slot(place)] = entry }

    /// Calls `body` with each entry, the oldest first.
    func forEach(_ body: (Int, Element) -> Void) {
        for place in head..<tail where isInUse(place) { body(place, slots[slot(place)]) }
    }

    @inline(__always)
    private func isInUse(_ place: Int) -> Bool {
        place >= markedTail || marks[slot(place) >> 6] & 1 << UInt64(place & 63) != 0
    }

    /// Sets the marks of the entries that were added last.
    @inline(__always)
    private mutating func setMarks() {
        if markedTail < tail { setMarksOfLast() }
    }

    @inline(never)
    private mutating func setMarksOfLast() {
        forEachWord(of: markedTail..<tail) { word, bits in marks[word] |= bits }
        markedTail = tail
    }

    /// Calls `body` for each word that has bits of the slots of neighboring places.
    @inline(__always)
    private func forEachWord(of places: Range<Int>, _ body: (Int, UInt64) -> Void) {
        var place = places.lowerBound
        while place < places.upperBound {
            let end = min(place & ~63 + 64, places.upperBound)
            let ones = UInt64.max >> UInt64(64 - (end - place))
            body(slot(place) >> 6, ones << UInt64(place & 63))
            place = end
        }
    }

    // MARK: Lanes

    @inline(__always)
    func readyCount(_ lane: Int) -> Int {
        lanes[lane].count + (lane == freshLane ? freshTail - freshHead : 0)
    }

    @inline(__always)
    func isReady(_ place: Int, lane: Int) -> Bool {
        if place >= freshHead, place < freshTail { return lane == freshLane }
        return lanes[lane].contains(slot(place))
    }

    /// Puts an entry, which is in no lane, into a lane.
    @inline(__always)
    mutating func setReady(_ place: Int, lane: Int) {
        if place != freshTail || lane != freshLane || freshHead == freshTail {
            setBits()
            (freshHead, freshLane) = (place, lane)
        }
        freshTail = place + 1
    }

    @inline(__always)
    mutating func clearReady(_ place: Int, lane: Int) {
        setBits()
        lanes[lane].remove(slot(place))
    }

    /// Sets the bits of the entries that became ready last.
    @inline(__always)
    private mutating func setBits() {
        if freshHead < freshTail { setBitsOfFresh() }
    }

    @inline(never)
    private mutating func setBitsOfFresh() {
        forEachWord(of: freshHead..<freshTail) { word, bits in
            lanes[freshLane].insert(bits, from: word << 6)
        }
        freshHead = freshTail
    }

    /// Returns the place of the oldest entry in a lane.
    @inline(__always)
    mutating func firstReady(_ lane: Int) -> Int? {
        setBits()
        guard let found = lanes[lane].firstAround(from: slot(head)) else { return nil }
        return head + (found - head) & (capacity - 1)
    }

    /// Returns the place of the entry in a lane that was added last, among those not beyond
    /// `limit`.
    mutating func lastReady(_ lane: Int, upTo limit: Int = .max) -> Int? {
        setBits()
        let last = min(limit, tail - 1)
        guard last >= head else { return nil }
        let starts = slot(last) < slot(head) ? [slot(last), capacity - 1] : [slot(last)]
        for start in starts {
            guard let found = lanes[lane].last(upTo: start) else { continue }
            let place = head + (found - slot(head)) & (capacity - 1)
            if place <= last { return place }
        }
        return nil
    }

    /// Removes the oldest entries, up to `limit`, from a lane. Passes them to `body`, in rows of
    /// neighbors: the address of the first one, its place, and the number of entries.
    @inline(__always)
    mutating func takeReady(
        _ lane: Int, limit: Int, _ body: (UnsafeMutablePointer<Element>, Int, Int) -> Void
    ) {
        setBits()
        var rest = limit
        let first = slot(head)
        while rest > 0, let next = lanes[lane].firstAround(from: first) {
            let count = lanes[lane].removeRun(from: next, limit: rest)
            body(slots + next, head + (next - first) & (capacity - 1), count)
            rest -= count
        }
    }

    /// Moves the entries of a lane that `isIncluded` returns true for to another lane. Returns how
    /// many.
    ///
    /// - Complexity: O(places), in steps of 64 for the lanes.
    mutating func moveReady(
        from lane: Int, to other: Int, where isIncluded: (Element) -> Bool
    ) -> Int {
        setBits()
        let before = lanes[lane].count
        guard before > 0 else { return 0 }
        // The first and the last places may have their bits in the same word, which comes twice.
        for first in stride(from: head & ~63, to: tail, by: 64) {
            let start = slot(first)
            var members = lanes[lane].members(from: start)
            var moved: UInt64 = 0
            while members != 0 {
                let bit = members.trailingZeroBitCount
                members &= members - 1
                if isIncluded(slots[start + bit]) { moved |= 1 << UInt64(bit) }
            }
            lanes[lane].remove(moved, from: start)
            lanes[other].insert(moved, from: start)
        }
        return before - lanes[lane].count
    }

    // MARK: Growing

    /// Makes space for further entries. At least doubles the capacity or, if at least half of the
    /// places would stay empty, moves the entries together just below `tail`, in their order.
    ///
    /// - Parameter move: called with the old and the new place of each entry, in order, if the
    ///   entries are moved.
    /// - Complexity: O(capacity), amortised over as many additions.
    mutating func growOrCompact(for additions: Int, move: (Element, Int, Int) -> Void) {
        setBits()
        setMarks()
        let compacts = capacity > 0 && (count + additions - 1) * 2 <= capacity
        if compacts { return compact(move) }
        var larger = max(64, 2 * capacity)
        while larger < tail - head + additions { larger *= 2 }
        grow(to: larger)
    }

    private mutating func grow(to larger: Int) {
        var replacement = Ring(capacity: larger)
        (replacement.head, replacement.tail, replacement.markedTail) = (head, tail, tail)
        (replacement.count, replacement.moveCount) = (count, moveCount)
        let usedLanes = (0..<laneCount).filter { readyCount($0) > 0 }
        // 64 places in a row are 64 slots in a row, one word of marks and one of each lane, before
        // and after.
        for first in stride(from: head & ~63, to: tail, by: 64) {
            let (old, new) = (slot(first), replacement.slot(first))
            guard first >= head, first + 64 <= tail else {
                for place in max(first, head)..<min(first + 64, tail) where isInUse(place) {
                    replacement.slots[replacement.slot(place)] = slots[slot(place)]
                    replacement.marks[new >> 6] |= 1 << UInt64(place & 63)
                    for lane in usedLanes where isReady(place, lane: lane) {
                        replacement.lanes[lane].insert(replacement.slot(place))
                    }
                }
                continue
            }
            (replacement.slots + new).initialize(from: slots + old, count: 64)
            replacement.marks[new >> 6] = marks[old >> 6]
            for lane in usedLanes {
                replacement.lanes[lane].insert(lanes[lane].members(from: old), from: new)
            }
        }
        self = replacement
    }

    private mutating func compact(_ move: (Element, Int, Int) -> Void) {
        var replacement = Ring(capacity: capacity)
        replacement.moveCount = moveCount + 1
        replacement.head = tail - count
        (replacement.tail, replacement.markedTail) = (replacement.head, replacement.head)
        for old in head..<tail where isInUse(old) {
            let entry = slots[slot(old)]
            let place = replacement.append(entry)
            for lane in 0..<laneCount where isReady(old, lane: lane) {
                replacement.setReady(place, lane: lane)
            }
            move(entry, old, place)
        }
        self = replacement
    }

    /// Moves the entries behind a place, to make places between for ``fill(_:with:)``.
    ///
    /// - Parameter move: called with the old and the new place of each entry, in order.
    /// - Complexity: O(capacity).
    mutating func makePlaces(
        _ added: Int, behind place: Int, move: (Element, Int, Int) -> Void
    ) {
        setBits()
        setMarks()
        var larger = max(64, capacity)
        while larger < tail - head + added { larger *= 2 }
        var replacement = Ring(capacity: larger)
        replacement.moveCount = moveCount + 1
        (replacement.head, replacement.tail) = (head, tail + added)
        replacement.markedTail = replacement.tail
        for old in head..<tail where isInUse(old) {
            let entry = slots[slot(old)]
            let new = old <= place ? old : old + added
            replacement.fill(new, with: entry)
            for lane in 0..<laneCount where isReady(old, lane: lane) {
                replacement.setReady(new, lane: lane)
            }
            move(entry, old, new)
        }
        self = replacement
    }

    /// Puts an entry into a place that is not in use.
    mutating func fill(_ place: Int, with entry: Element) {
        slots[slot(place)] = entry
        marks[slot(place) >> 6] |= 1 << UInt64(place & 63)
        count += 1
    }

    /// Exchanges a ring that has become empty for a small one, if it has much memory, and returns
    /// it.
    mutating func shrink() -> RetiredRing<Element>? {
        guard capacity > mostKeptCapacity else { return nil }
        assert(count == 0)
        var replacement = Ring(capacity: 64)
        (replacement.head, replacement.tail, replacement.markedTail) = (tail, tail, tail)
        replacement.moveCount = moveCount
        swap(&self, &replacement)
        return RetiredRing(replacement)
    }
}

/// Keeps the memory of an empty ring until it can be deallocated.
///
/// Unchecked: nobody accesses the ring.
final class RetiredRing<Element: BitwiseCopyable>: @unchecked Sendable {
    private let ring: Ring<Element>

    fileprivate init(_ ring: consuming Ring<Element>) { self.ring = ring }
}

/// The number of slots that an empty queue keeps for the next additions: 1.5 MB.
let mostKeptCapacity = 65_536

/// The lanes of all rings without capacity. They stay empty, because an entry is in a lane only
/// while it has a place in the ring.
nonisolated(unsafe) private let lanesWithoutMembers = {
    let lanes = UnsafeMutablePointer<BitTree>.allocate(capacity: laneCount)
    lanes.initialize(repeating: BitTree(capacity: 64), count: laneCount)
    return lanes
}()

/// The lanes of the priorities, and that of cancelled entries.
private var laneCount: Int { PriorityLanes.count + 1 }
