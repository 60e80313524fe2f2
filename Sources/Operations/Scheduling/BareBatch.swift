import Synchronization

/// A block that was added to a queue and for which no operation was made.
struct BareBlock: Sendable {
    let body: @Sendable () -> Void
    /// The place in the upper bits and the rank in the lowest three: a block takes three words.
    private var placeAndRank = 0

    @inline(__always)
    init(_ body: consuming @escaping @Sendable () -> Void) { self.body = body }

    /// The place of the block among all that was added to the queue.
    var place: Int { placeAndRank >> 3 }

    /// The rank of the quality of service that was in force where the block was added.
    var rank: Int { placeAndRank & 7 }

    @inline(__always)
    mutating func added(at place: Int, rank: Int) { placeAndRank = place << 3 | rank }

    /// Not inlined: inside its caller, the call would retain and release the closure.
    @inline(never)
    func run() { body() }
}

/// Bare blocks that a worker has claimed from a queue and runs one after the other. See
/// BareBlocks.md.
///
/// The owner begins and ends blocks by moving the cursor. A thread that holds the queue's lock may
/// take back the blocks that have not begun, and may name the running one. The cursor is one atomic
/// word, so each block goes to exactly one side.
///
/// Unchecked: the owner alone moves blocks out of the slots before `begun`, and never writes there
/// without the queue's lock. The slots from `begun` to `end` belong to the side that wins them. The
/// owner moves each block that has run into `past` before the cursor counts it as ended. After that
/// a thread that holds the queue's lock may take the block. The owner releases the others once the
/// batch is retired.
final class BareBatch: @unchecked Sendable {
    static var capacity: Int { 32 }

    private let slots = UnsafeMutablePointer<BareBlock>.allocate(capacity: capacity)
    /// The blocks that have run, which are released once they have left the queue.
    private let past = UnsafeMutablePointer<BareBlock>.allocate(capacity: capacity)
    private let cursor = Atomic<UInt64>(0)
    /// The time at which the owner began to run the batch.
    let start = Atomic<UInt64>(0)
    /// The number of blocks that were moved out of `past`. Changed under the queue's lock while the
    /// batch is registered there.
    private let releasedCount = Atomic<Int>(0)

    // Guarded by the queue's lock. The owner also reads the epoch without it.

    /// The queue's `recallEpoch` at the time of the claim.
    private(set) var recallEpoch: UInt32 = 0
    /// Whether the batch uses one slot of the queue's width.
    private(set) var holdsSlot = false
    /// Whether the batch was claimed and is not retired. The owner reads this without the lock.
    private(set) var isRegistered = false
    /// Whether blocks were taken back, so that the batch's time says little.
    private(set) var hasMisleadingTime = false
    /// The number of ended blocks that have left the queue already.
    private var leftCount = 0
    /// The operation that was made for the running block, retained for the owner.
    var operation: UnsafeMutableRawPointer?

    deinit {
        slots.deallocate()
        past.deallocate()
    }

    private struct Cursor {
        var word: UInt64

        static var oneEnded: UInt64 { 1 }
        static var oneBegun: UInt64 { 1 << 16 }
        static var named: UInt64 { 1 << 48 }

        init(_ word: UInt64) { self.word = word }
        init(ended: Int, begun: Int, end: Int) {
            word = UInt64(ended) | UInt64(begun) << 16 | UInt64(end) << 32
        }

        /// The number of blocks whose bodies have returned.
        var ended: Int { Int(word & 0xFFFF) }
        /// The number of blocks that the owner has begun.
        var begun: Int { Int(word >> 16 & 0xFFFF) }
        /// The number of blocks of the batch, without those that were taken back.
        var end: Int { Int(word >> 32 & 0xFFFF) }
        /// Whether an operation was made for the running block, which the owner must finish.
        var isNamed: Bool { word & Self.named != 0 }
    }

    private var position: Cursor { Cursor(cursor.load(ordering: .acquiring)) }

    // MARK: Under the queue's lock

    /// Fills the batch with `count` newly claimed blocks, which `fill` moves to the given memory.
    func claimed(
        _ count: Int, recallEpoch: UInt32, fill: (UnsafeMutablePointer<BareBlock>) -> Void
    ) {
        self.recallEpoch = recallEpoch
        (holdsSlot, hasMisleadingTime, leftCount) = (true, false, 0)
        releasedCount.store(0, ordering: .relaxed)
        isRegistered = true
        fill(slots)
        cursor.store(Cursor(ended: 0, begun: 0, end: count).word, ordering: .releasing)
    }

    /// Takes back the blocks that have not begun.
    ///
    /// - Parameter naming: whether the caller makes an operation for the running block. If so, the
    ///   block's end belongs to that operation from now on.
    /// - Returns: the blocks that have not begun, and the running one if it is to be named now.
    func takeBack(naming: Bool) -> (rest: [BareBlock], running: BareBlock?) {
        while true {
            let old = position
            let isNamedNow = naming && !old.isNamed && old.ended < old.begun
            guard isNamedNow || old.begun < old.end else { return ([], nil) }
            var new = Cursor(ended: old.ended, begun: old.begun, end: old.begun)
            if isNamedNow || old.isNamed { new.word |= Cursor.named }
            guard
                cursor.compareExchange(
                    expected: old.word, desired: new.word, ordering: .acquiringAndReleasing
                ).exchanged
            else { continue }
            hasMisleadingTime = true
            let rest = moveOut(from: slots + old.begun, count: old.end - old.begun)
            // The owner has moved the running block out. The slot still has the bits of the block,
            // and the owner keeps the block alive until it has taken the queue's lock.
            let running = isNamedNow ? UnsafeRawPointer(slots + (old.begun - 1)) : nil
            return (rest, running?.load(as: BareBlock.self))
        }
    }

    /// The number of blocks that have not ended, without a named one.
    var unfinishedCount: Int {
        let position = position
        return position.isNamed ? 0 : position.end - position.ended
    }

    /// The number of blocks that the owner has begun.
    var begunCount: Int { position.begun }

    /// Whether the owner has begun a block that has not ended.
    var isRunning: Bool {
        let position = position
        return position.ended < position.begun
    }

    /// Returns how many blocks leave the queue now: those that have ended since the last call.
    func takeEnded() -> Int {
        let position = position
        // The end of a named block belongs to its operation, also if the owner has counted it.
        let count = position.isNamed ? position.begun - 1 : position.ended
        defer { leftCount = count }
        return count - leftCount
    }

    /// Moves out the blocks that have ended, to be released without the lock.
    func takePast() -> [BareBlock] {
        let (first, last) = (releasedCount.load(ordering: .relaxed), position.ended)
        releasedCount.store(last, ordering: .relaxed)
        return moveOut(from: past + first, count: last - first)
    }

    private func moveOut(
        from blocks: UnsafeMutablePointer<BareBlock>, count: Int
    ) -> [BareBlock] {
        // The call below would write to the empty array that all threads share.
        if count == 0 { return [] }
        return [BareBlock](unsafeUninitializedCapacity: count) { buffer, initialized in
            buffer.baseAddress?.moveInitialize(from: blocks, count: count)
            initialized = count
        }
    }

    func retired() { isRegistered = false }

    /// Hands the batch's slot over. Returns whether there was one.
    func handOverSlot() -> Bool {
        defer { holdsSlot = false }
        return holdsSlot
    }

    /// The owner's progress, which shows whether the owner moves. Nil if its speed does not matter,
    /// because no block waits behind the running one, and none that has ended is kept.
    var progress: Int? {
        let position = position
        let keepsPast = position.ended > releasedCount.load(ordering: .relaxed)
        return keepsPast || max(position.begun, 1) < position.end ? position.begun : nil
    }

    // MARK: The owner

    /// Begins the next block, which the owner moves out of the slot; nil if there is none.
    @inline(__always)
    func beginNext() -> UnsafeMutablePointer<BareBlock>? {
        var word = cursor.load(ordering: .acquiring)
        while true {
            let position = Cursor(word)
            guard position.begun < position.end else { return nil }
            let (exchanged, original) = cursor.compareExchange(
                expected: word, desired: word + Cursor.oneBegun, ordering: .acquiringAndReleasing)
            if exchanged { return slots + position.begun }
            word = original
        }
    }

    /// Ends the running block and keeps it. Returns true if an operation was made for the block,
    /// which the owner must finish.
    @inline(__always)
    func ended(_ block: consuming BareBlock, at slot: UnsafeMutablePointer<BareBlock>) -> Bool {
        (past + (slot - slots)).initialize(to: block)
        let old = cursor.wrappingAdd(Cursor.oneEnded, ordering: .acquiringAndReleasing).oldValue
        return Cursor(old).isNamed
    }

    /// Releases the blocks that have run. The batch is retired.
    func release() {
        let (first, last) = (releasedCount.load(ordering: .relaxed), position.ended)
        (past + first).deinitialize(count: last - first)
        releasedCount.store(last, ordering: .relaxed)
    }
}
