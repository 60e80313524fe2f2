/// What limits the length of a queue: callers that wait for room, and a limit beyond which
/// something is dropped.
///
/// A value without locks: the queue's lock guards the state that it is a part of.
struct QueueRoom {
    /// The callers that wait until the queue is shorter, and their reservations.
    var capacity = CapacityQueue()
    /// What limits the queue's length; nil if there is no limit, and none has effects any more.
    var overflow: OverflowState? { didSet { hasOverflow = overflow != nil } }
    /// Whether there is an ``overflow``, to ask on the path of every operation without a copy of
    /// it.
    private(set) var hasOverflow = false

    /// Whether anything here has an effect.
    var isInUse: Bool {
        @inline(__always) get { capacity.isUsed || hasOverflow }
    }

    /// Whether the queue has a limit now.
    var isLimited: Bool { overflow?.setting != nil }

    /// Forgets in an empty queue what nobody uses any more.
    mutating func endIfUnused() {
        if capacity.isUsed { capacity.end() }
        if overflow?.isUsed == false { overflow = nil }
    }

    /// The largest batch in a queue that has a limit, or had one: claims keep what has ended, which
    /// the queue holds beside what its limit counts.
    var mostInBatch: Int { overflow?.setting.map { max(1, $0.capacity / 8) } ?? .max }
}
