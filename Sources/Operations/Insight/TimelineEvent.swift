import Synchronization

/// Something that happened to an operation, as it lies in a thread's buffer: 64 bytes.
///
/// It must not keep the operation, so that is named by its address. An address is used again; which
/// operation is meant follows from the times.
struct TimelineEvent {
    enum Kind: UInt8 {
        /// One that waited became ready: since `first`, at `second`.
        case waited
        /// Its work ran on the thread: added `first`, ready `second`, from `third` to `fourth`.
        case ran
        /// Its work began: added `first`, ready `second`, at `third`.
        case started
        /// As `started`; it goes on when the thread has left it.
        case startedTask
        /// What began at `first` ended at `second`.
        case ended
        /// It was cancelled: added `first`, ready `second`, gone at `third`.
        case dropped
        /// It, which began at `first`, waited for another one, too.
        case edge
        /// The thread waited inside of it, from `first` to `second`.
        case blocked
    }

    var operation: UInt = 0
    /// One that it waited for, or 0.
    var dependency: UInt = 0
    /// Its class.
    var type: UInt = 0
    /// Times, which the kind explains; 0 where one is not known.
    var first: UInt64 = 0
    var second: UInt64 = 0
    var third: UInt64 = 0
    var fourth: UInt64 = 0
    /// The number of its name in the buffer, from 1; 0 for none.
    var name: UInt32 = 0
    /// The number of its queue in the timeline.
    var queue: UInt16 = 0
    var kind = Kind.waited
    /// Outcome, priority and whether it is a barrier.
    private var traits: UInt8 = 0

    var outcome: OperationOutcome {
        get { OperationOutcome(rawValue: traits & 3) ?? .finished }
        set { traits = traits & ~3 | newValue.rawValue }
    }

    var lane: UInt8 {
        get { traits >> 2 & 7 }
        set { traits = traits & ~0b11100 | (newValue & 7) << 2 }
    }

    var isBarrier: Bool {
        get { traits & 32 != 0 }
        set { traits = newValue ? traits | 32 : traits & ~32 }
    }
}

/// How many events all threads together may still keep.
final class TimelineBudget: Sendable {
    private let remaining: Atomic<Int>

    init(_ limit: Int) { remaining = Atomic(limit) }

    /// How many more the caller may keep, of so many that it wants; 0 at the end.
    func take(_ wanted: Int) -> Int {
        var before = remaining.load(ordering: .relaxed)
        while true {
            let portion = min(wanted, before)
            guard portion > 0 else { return 0 }
            let (exchanged, original) = remaining.compareExchange(
                expected: before, desired: before - portion, ordering: .relaxed)
            if exchanged { return portion }
            before = original
        }
    }
}

/// The events of one thread, in the order in which they were noted.
///
/// Its lock is taken by the thread for each event, and by others only when somebody looks at the timeline, so
/// it costs next to nothing.
///
/// Unchecked: everything is guarded by the lock, or atomic.
final class TimelineBuffer: @unchecked Sendable {
    private static let chunkCapacities = 8...512

    let thread: Int
    let threadName: String
    private let budget: TimelineBudget
    private let lock = SpinLock()
    private var chunks: [UnsafeMutablePointer<TimelineEvent>] = []
    /// How many the chunks before the last have.
    private var fullCounts: [Int] = []
    private var chunk: UnsafeMutablePointer<TimelineEvent>?
    private var count = 0
    private var capacity = 0
    private var names: [String] = []
    private var dropped = 0
    private var isClosed = false
    private let running = Atomic<UInt>(0)
    private let runningSince = Atomic<UInt64>(0)

    init(thread: Int, name: String, budget: TimelineBudget) {
        self.thread = thread
        self.threadName = name
        self.budget = budget
    }

    deinit {
        for chunk in chunks { chunk.deallocate() }
    }

    @inline(__always)
    func append(queue: UInt16, name: String?, _ fill: (inout TimelineEvent) -> Void) {
        lock.lock()
        defer { lock.unlock() }
        guard !isClosed else { return }
        guard count < capacity || grow(), let chunk else {
            dropped += 1
            return
        }
        let place = chunk + count
        place.initialize(to: TimelineEvent())
        place.pointee.queue = queue
        if let name {
            names.append(name)
            place.pointee.name = UInt32(names.count)
        }
        fill(&place.pointee)
        count += 1
    }

    @inline(never)
    private func grow() -> Bool {
        // A thread that notes little takes little away from the others.
        let wanted = min(
            max(2 * capacity, Self.chunkCapacities.lowerBound), Self.chunkCapacities.upperBound)
        let portion = budget.take(wanted)
        guard portion > 0 else { return false }
        if chunk != nil { fullCounts.append(count) }
        let new = UnsafeMutablePointer<TimelineEvent>.allocate(capacity: portion)
        chunks.append(new)
        (chunk, count, capacity) = (new, 0, portion)
        return true
    }

    /// The thread runs a plain operation of a batch, about which there will be one event at its end.
    @inline(__always)
    func begins(_ operation: UInt, from start: PhaseTimestamp) {
        running.store(operation, ordering: .relaxed)
        runningSince.store(start.bits, ordering: .relaxed)
    }

    func runs(_ operation: UInt, since start: PhaseTimestamp) -> Bool {
        running.load(ordering: .relaxed) == operation
            && runningSince.load(ordering: .relaxed) == start.bits
    }

    /// Takes nothing more.
    func close() { lock.withLock { isClosed = true } }

    /// Nobody looks at it any more.
    func discard() {
        lock.withLock {
            isClosed = true
            for chunk in chunks { chunk.deallocate() }
            (chunks, fullCounts, names) = ([], [], [])
            (chunk, count, capacity) = (nil, 0, 0)
        }
    }

    var counts: (kept: Int, dropped: Int) {
        lock.withLock { (fullCounts.reduce(count, +), dropped) }
    }

    /// Whether nothing comes of what it keeps any more.
    var isOver: Bool { lock.withLock { isClosed } }

    struct Contents {
        var events: [TimelineEvent] = []
        var names: [String] = []
        var dropped = 0
    }

    var contents: Contents {
        lock.withLock {
            var contents = Contents(names: names, dropped: dropped)
            for (index, chunk) in chunks.enumerated() {
                let count = index < fullCounts.count ? fullCounts[index] : count
                contents.events += UnsafeBufferPointer(start: chunk, count: count)
            }
            return contents
        }
    }
}
