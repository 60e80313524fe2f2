/// The bare blocks of a queue; see BareBlocks.md. The queue's lock guards this value.
struct BareBlocks: ~Copyable {
    /// The number of blocks that have not left the queue: they are pending, in a batch, or dropped.
    var count = 0
    /// The address of the queue.
    var queue: UnsafeMutableRawPointer?
    /// The batches of workers.
    var batches: [BareBatch] = []

    /// The number of pending blocks: those that no worker has claimed.
    private(set) var pendingCount = 0
    private var head = 0
    private(set) var capacity = 0
    private var slots: UnsafeMutablePointer<BareBlock>?

    deinit { slots?.deallocate() }

    /// The number of blocks that have not ended.
    var unfinishedCount: Int {
        batches.reduce(pendingCount) { $0 + $1.unfinishedCount }
    }

    // MARK: Pending blocks, in the order of their places

    /// The place of the first pending block, which must exist.
    var firstPlace: Int { slot(0).pointee.place }

    @inline(__always)
    private func slot(_ index: Int) -> UnsafeMutablePointer<BareBlock> {
        slots.unsafelyUnwrapped + (head + index) & (capacity - 1)
    }

    @inline(__always)
    mutating func append(_ block: consuming BareBlock) {
        if pendingCount == capacity { grow() }
        slot(pendingCount).initialize(to: block)
        pendingCount += 1
    }

    /// Removes the first pending blocks and moves them to uninitialized memory.
    @inline(__always)
    mutating func moveFirst(_ count: Int, to target: UnsafeMutablePointer<BareBlock>) {
        let atEnd = min(count, capacity - head)
        target.moveInitialize(from: slot(0), count: atEnd)
        if atEnd < count {
            (target + atEnd).moveInitialize(from: slot(atEnd), count: count - atEnd)
        }
        head = (head + count) & (capacity - 1)
        pendingCount -= count
    }

    /// Removes all pending blocks.
    mutating func takePending() -> [BareBlock] {
        let count = pendingCount
        guard count > 0 else { return [] }
        return [BareBlock](unsafeUninitializedCapacity: count) { buffer, initialized in
            if let target = buffer.baseAddress { moveFirst(count, to: target) }
            initialized = count
        }
    }

    /// Puts claimed blocks back among the pending ones.
    ///
    /// - Complexity: O(blocks that were put back and not claimed again).
    mutating func putBack(_ rest: [BareBlock]) {
        guard let last = rest.last else { return }
        var blocks = rest
        while pendingCount > 0, firstPlace < last.place {
            blocks.append(slot(0).move())
            head = (head + 1) & (capacity - 1)
            pendingCount -= 1
        }
        blocks.sort { $0.place < $1.place }
        for block in blocks.reversed() {
            if pendingCount == capacity { grow() }
            head = (head - 1) & (capacity - 1)
            pendingCount += 1
            slot(0).initialize(to: block)
        }
    }

    /// Gives back the memory of the list, which has become empty, if it is much.
    mutating func shrink() {
        guard capacity > mostKeptCapacity else { return }
        assert(pendingCount == 0)
        slots?.deallocate()
        (slots, head, capacity) = (nil, 0, 0)
    }

    @inline(never)
    private mutating func grow() {
        let larger = max(64, 2 * capacity)
        let new = UnsafeMutablePointer<BareBlock>.allocate(capacity: larger)
        let count = pendingCount
        if count > 0 { moveFirst(count, to: new) }
        slots?.deallocate()
        (slots, head, capacity, pendingCount) = (new, 0, larger, count)
    }
}

/// Blocks that were dropped because their queue was cancelled, on their way to the worker that
/// releases them.
///
/// Unchecked: one thread at a time has the reference.
final class DroppedBlocks: @unchecked Sendable {
    var blocks: [BareBlock]

    init(_ blocks: [BareBlock]) { self.blocks = blocks }
}
