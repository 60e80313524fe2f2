import Synchronization

/// Fast-path operations that a worker has claimed from a queue and runs one after the other.
///
/// The owner takes the next operation by moving the cursor. Any thread that holds the queue's lock
/// may reclaim the operations that were not taken. The cursor is one atomic word, so each operation
/// goes to exactly one side.
///
/// Unchecked: the entries before `next` belong to the owner. Other threads only read them under the
/// queue's lock, which the owner needs in order to release them. The entries from `next` to `end`
/// do not change until one side has won them.
final class ClaimedBatch<Reference>: @unchecked Sendable {
    static var capacity: Int { 64 }

    private let entries = UnsafeMutablePointer<Reference>.allocate(capacity: capacity)
    private let cursor = Atomic<UInt64>(0)
    /// The batch that the owner fills instead if it claims bare blocks; nil on a thread that is not
    /// a worker's.
    let bare: BareBatch?
    /// The time at which the owner began to run the batch.
    let start = Atomic<UInt64>(0)
    /// Operations that became ready at the end of operations of the batch, in that order. The owner
    /// adds to them; a thread that holds the queue's lock takes all.
    private let successors = UnsafeMutablePointer<Reference>.allocate(capacity: capacity)
    private let successorCount = Atomic<Int>(0)
    /// The lowest lane of the claimed operations.
    private(set) var lowestLane = 0
    /// The queue's `recallEpoch` at the time of the claim.
    private(set) var recallEpoch: UInt32 = 0
    /// Whether the batch uses one slot of the queue's width. Guarded by the queue's lock.
    private(set) var holdsSlot = false
    /// The number of operations at the beginning that have left the queue, or the batch, already.
    /// Changed under the queue's lock while the batch is registered there.
    private let departedCount = Atomic<Int>(0)
    /// The urgency of all operations of the batch. The pool counts the worker as running something
    /// of this urgency.
    private(set) var urgency = Urgency.usual
    /// Whether the rest was reclaimed, or an operation was detached, in a way that makes the
    /// batch's time meaningless. Guarded by the queue's lock.
    var hasMisleadingTime = false
    /// Whether bodies in the batch were suspended. Guarded by the queue's lock.
    var hasSuspended = false
    /// The time at which the last operation's body ended, if that was recorded and nothing slow
    /// came after it; otherwise 0. Only the owner uses it.
    var lastEnd: UInt64 = 0

    init(bare: BareBatch? = nil) { self.bare = bare }

    deinit {
        entries.deallocate()
        successors.deallocate()
    }

    private struct Cursor {
        var next: Int
        var end: Int
        @inline(__always)
        init(_ word: UInt64) {
            next = Int(truncatingIfNeeded: word & 0xFFFF_FFFF)
            end = Int(truncatingIfNeeded: word >> 32)
        }
        @inline(__always)
        init(next: Int, end: Int) { (self.next, self.end) = (next, end) }
        var word: UInt64 {
            @inline(__always) get { UInt64(next) | UInt64(end) << 32 }
        }
    }

    @inline(__always)
    private var position: Cursor { Cursor(cursor.load(ordering: .acquiring)) }

    // MARK: Claiming, under the queue's lock

    /// Fills the batch with newly claimed operations.
    ///
    /// - Parameter fill: writes up to `capacity` operations, and returns how many and their lowest
    ///   lane.
    func claimed(
        holdsSlot: Bool, recallEpoch: UInt32, urgency: Urgency = .usual,
        fill: (UnsafeMutablePointer<Reference>) -> (count: Int, lowestLane: Int)
    ) {
        self.holdsSlot = holdsSlot
        self.recallEpoch = recallEpoch
        self.urgency = urgency
        (hasMisleadingTime, hasSuspended) = (false, false)
        lastEnd = 0
        let count: Int
        (count, lowestLane) = fill(entries)
        departedCount.store(0, ordering: .relaxed)
        cursor.store(Cursor(next: 0, end: count).word, ordering: .releasing)
    }

    /// The operations that the owner has taken, running or finished, that have not left the queue.
    var taken: UnsafeBufferPointer<Reference> {
        let departedCount = departedCount.load(ordering: .relaxed)
        return UnsafeBufferPointer(
            start: entries + departedCount, count: position.next - departedCount)
    }

    /// The number of operations that the worker has begun, including those that were detached.
    var begunCount: Int { position.next }

    /// Whether there are operations that were not taken. No other thread can reclaim them while the
    /// queue's lock is held.
    var hasRest: Bool {
        let position = position
        return position.next < position.end
    }

    /// Removes and returns the taken operations that the owner no longer touches. They leave the
    /// queue now.
    func removeFinished() -> [Reference] {
        let finished = Array(taken.dropLast(Self.inUse))
        departedCount.wrappingAdd(finished.count, ordering: .relaxed)
        return finished
    }

    /// The number of operations that the owner may be touching: the running one, and the one before
    /// it, whose end may have appended the running one.
    private static var inUse: Int { 2 }

    /// Reclaims the operations that were not taken and passes each to `body`.
    func reclaimRest(_ body: (Reference) -> Void) {
        while true {
            let position = self.position
            guard position.next < position.end else { return }
            // The entries are copied before they are won, because the owner may write there
            // afterwards.
            let rest = (position.next..<position.end).map { entries[$0] }
            let cut = Cursor(next: position.next, end: position.next)
            guard
                cursor.compareExchange(
                    expected: position.word, desired: cut.word, ordering: .acquiringAndReleasing
                ).exchanged
            else { continue }
            rest.forEach(body)
            return
        }
    }

    /// Takes the successors that the owner has kept, and passes each to `body`.
    func takeSuccessors(_ body: (Reference) -> Void) {
        var count = successorCount.load(ordering: .acquiring)
        while count > 0 {
            let isTaken = withUnsafeTemporaryAllocation(of: Reference.self, capacity: count) {
                copy in
                // Copied before they are won, because the owner may write there afterwards.
                _ = copy.initialize(from: UnsafeBufferPointer(start: successors, count: count))
                let (exchanged, original) = successorCount.compareExchange(
                    expected: count, desired: 0, ordering: .acquiringAndReleasing)
                if exchanged { copy.forEach(body) }
                count = original
                return exchanged
            }
            if isTaken { return }
        }
    }

    /// Empties the batch when it is over. Its operations are no longer accessed through it.
    func clear() {
        departedCount.store(0, ordering: .relaxed)
        cursor.store(0, ordering: .releasing)
    }

    /// Takes back the operation that the owner took last and will not run or end as part of the
    /// batch. There is no rest.
    func dropLast() -> Reference {
        let last = position.next - 1
        cursor.store(Cursor(next: last, end: last).word, ordering: .releasing)
        return entries[last]
    }

    /// Takes out the operation that the owner took last and has begun. Operations that were not
    /// taken stay. Called by the owner, under the queue's lock.
    func takeOutLast() -> Reference {
        let (first, last) = (departedCount.load(ordering: .relaxed), position.next - 1)
        let operation = entries[last]
        // The owner goes on with the rest and touches no other operation that it has taken, so they
        // may be swapped.
        entries[last] = entries[first]
        entries[first] = operation
        departedCount.store(first + 1, ordering: .relaxed)
        return operation
    }

    /// Hands the batch's slot over to an operation. Returns whether there was a slot. Called under
    /// the queue's lock.
    func handOverSlot() -> Bool {
        defer { holdsSlot = false }
        return holdsSlot
    }

    /// The owner's progress, which shows whether the owner moves. Nil if its speed does not matter:
    /// no operation waits behind the one that the owner runs or is about to run, and the batch
    /// keeps no finished operation and no successor.
    var progress: Int? {
        let position = position
        let areFinishedRemoved =
            position.next - departedCount.load(ordering: .relaxed) <= Self.inUse
        let isWaitedFor =
            max(position.next, 1) < position.end || successorCount.load(ordering: .acquiring) > 0
        return isWaitedFor || !areFinishedRemoved ? position.next : nil
    }

    // MARK: The owner

    @inline(__always)
    func takeNext() -> Reference? {
        var word = cursor.load(ordering: .acquiring)
        while true {
            var position = Cursor(word)
            guard position.next < position.end else { return nil }
            let entry = entries[position.next]
            position.next += 1
            let (exchanged, original) = cursor.compareExchange(
                expected: word, desired: position.word, ordering: .acquiringAndReleasing)
            if exchanged { return entry }
            word = original
        }
    }

    /// Keeps an operation that has become ready. Returns false if there is no space for it.
    @inline(__always)
    func keepSuccessor(_ operation: Reference) -> Bool {
        var count = successorCount.load(ordering: .acquiring)
        while count < Self.capacity {
            successors[count] = operation
            let (exchanged, original) = successorCount.compareExchange(
                expected: count, desired: count + 1, ordering: .acquiringAndReleasing)
            if exchanged { return true }
            count = original
        }
        return false
    }

    /// Whether one more operation fits into the batch and would be the next one.
    var canContinue: Bool {
        @inline(__always) get {
            let position = position
            return position.next == position.end && position.end < Self.capacity
                && successorCount.load(ordering: .relaxed) == 0
        }
    }

    /// Appends the operation that follows the one that has just finished, as taken; see
    /// ``canContinue``. Returns true if from now on the batch keeps finished operations.
    @inline(__always)
    func continues(with operation: Reference) -> Bool {
        // There is no rest to reclaim, so no other thread moves the cursor.
        let end = position.end
        entries[end] = operation
        cursor.store(Cursor(next: end + 1, end: end + 1).word, ordering: .releasing)
        return end == Self.inUse
    }
}
