import Synchronization

/// Plain operations that a worker has claimed from a queue and runs one after the other.
///
/// The owner takes the next by moving the cursor; anybody who holds the queue's lock may cut off what has
/// not been taken. The cursor is one word, so each operation goes to one of them.
///
/// Unchecked: entries before `next` belong to the owner, and are only read by others under the queue's
/// lock, which the owner needs to let go of them; those from `next` to `end` do not change until one side
/// has won them.
final class Batch: @unchecked Sendable {
    static let capacity = 64

    private let entries = UnsafeMutablePointer<Unmanaged<Operation>>.allocate(capacity: capacity)
    private let cursor = Atomic<UInt64>(0)
    /// When its owner began to run it.
    let start = Atomic<UInt64>(0)
    /// The queue's `attention` at the time of the claim.
    private(set) var recallEpoch: UInt32 = 0
    /// Whether it uses one slot of the queue's width. Guarded by the queue's lock.
    private(set) var holdsSlot = false
    /// How many of the first have left the queue, or the batch, already. Changed under the queue's lock.
    private let folded = Atomic<Int>(0)
    /// The least urgent that it may hold: what its worker counts as in the pool.
    private(set) var urgency = Urgency.usual
    /// Whether it was cut off, or one went out of it, in a way that leaves its time without meaning; and whether
    /// bodies in it were suspended. Guarded by the queue's lock.
    var hasMisleadingTime = false
    var hasSuspended = false
    /// The thread that runs it, and whether its niceness was changed by another one. Guarded by the
    /// queue's lock.
    var thread: ThreadID?
    var wasReniced = false
    /// When the last operation's work ended, if that was noted and nothing that takes long came after it;
    /// else 0. The owner's.
    var lastEnd: UInt64 = 0

    deinit { entries.deallocate() }

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

    /// - Parameter fill: writes up to `capacity` operations and returns how many.
    func claimed(
        holdsSlot: Bool, recallEpoch: UInt32, urgency: Urgency = .usual,
        fill: (UnsafeMutablePointer<Unmanaged<Operation>>) -> Int
    ) {
        self.holdsSlot = holdsSlot
        self.recallEpoch = recallEpoch
        self.urgency = urgency
        (hasMisleadingTime, hasSuspended) = (false, false)
        lastEnd = 0
        let count = fill(entries)
        folded.store(0, ordering: .relaxed)
        cursor.store(Cursor(next: 0, end: count).word, ordering: .releasing)
    }

    /// Those that have been taken, and may be running or finished, but have not left the queue.
    var taken: UnsafeBufferPointer<Unmanaged<Operation>> {
        let folded = folded.load(ordering: .relaxed)
        return UnsafeBufferPointer(start: entries + folded, count: position.next - folded)
    }

    /// How many its worker has begun with, those that went out of it included.
    var begunCount: Int { position.next }

    /// Whether there is something that has not been taken. Nobody else cuts it off while the queue's lock is held.
    var hasRest: Bool {
        let position = position
        return position.next < position.end
    }

    /// Those of them that the owner does not touch any more, which leave the queue now.
    func foldFinished() -> [Unmanaged<Operation>] {
        let finished = Array(taken.dropLast(Self.inUse))
        folded.wrappingAdd(finished.count, ordering: .relaxed)
        return finished
    }

    /// The one that runs, and the one before it, from whose end it may follow.
    private static let inUse = 2

    /// Cuts off what has not been taken, and hands each to `body`.
    func cutRest(_ body: (Unmanaged<Operation>) -> Void) {
        while true {
            let position = self.position
            guard position.next < position.end else { return }
            // Copied before they are won: afterwards the owner may write there.
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

    /// The batch is over, and its operations are not touched through it any more.
    func clear() {
        folded.store(0, ordering: .relaxed)
        cursor.store(0, ordering: .releasing)
    }

    /// Takes back what the owner took last. It has not begun it, and there is no rest.
    func dropLast() -> Unmanaged<Operation> {
        let last = position.next - 1
        cursor.store(Cursor(next: last, end: last).word, ordering: .releasing)
        return entries[last]
    }

    /// Takes out what the owner took last, and has begun; what it has not taken stays. By the owner, under the
    /// queue's lock.
    func takeOutLast() -> Unmanaged<Operation> {
        let (first, last) = (folded.load(ordering: .relaxed), position.next - 1)
        let operation = entries[last]
        // The owner touches no other one that it has taken: it goes on with the rest.
        entries[last] = entries[first]
        entries[first] = operation
        folded.store(first + 1, ordering: .relaxed)
        return operation
    }

    /// Lets the slot go to an operation; true if there is one. Under the queue's lock.
    func handOverSlot() -> Bool {
        defer { holdsSlot = false }
        return holdsSlot
    }

    /// How far the owner has come, to tell whether it moves; nil if nobody minds how long that takes: none waits
    /// behind the one that it runs, or is about to run, and none that has finished is kept.
    var progress: Int? {
        let position = position
        let isFolded = position.next - folded.load(ordering: .relaxed) <= Self.inUse
        return max(position.next, 1) < position.end || !isFolded ? position.next : nil
    }

    // MARK: The owner

    @inline(__always)
    func takeNext() -> Unmanaged<Operation>? {
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

    /// Whether one more fits, and would be the next.
    var canContinue: Bool {
        @inline(__always) get {
            let position = position
            return position.next == position.end && position.end < Self.capacity
        }
    }

    /// Appends the operation that follows from the one that has just finished, as taken; see
    /// ``canContinue``. True if from now on the batch keeps some that have finished.
    @inline(__always)
    func continues(with operation: Unmanaged<Operation>) -> Bool {
        // Nothing is left to cut, so nobody else moves the cursor.
        let end = position.end
        entries[end] = operation
        cursor.store(Cursor(next: end + 1, end: end + 1).word, ordering: .releasing)
        return end == Self.inUse
    }
}
