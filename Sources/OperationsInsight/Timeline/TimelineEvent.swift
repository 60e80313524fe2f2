import Operations
import OperationsRuntime
import Synchronization

/// An event in the life of an operation, as stored in a thread's buffer: 64 bytes.
///
/// An event must not retain the operation, so it names the operation by its address. Addresses are
/// reused; the times tell which operation is meant.
struct TimelineEvent {
    enum Kind: UInt8 {
        /// A waiting operation became ready: it waited from `first` to `second`.
        case waited
        /// The body ran on the thread: added `first`, ready `second`, ran from `third` to `fourth`.
        case ran
        /// The body began: added `first`, ready `second`, began at `third`.
        case started
        /// As `started`, but the operation continues after the thread has left it.
        case startedTask
        /// The operation that began at `first` ended at `second`.
        case ended
        /// The operation was cancelled: added `first`, ready `second`, left at `third`.
        case dropped
        /// The operation, which began at `first`, waited for another dependency, too.
        case edge
        /// The thread waited inside of the operation, from `first` to `second`.
        case blocked
    }

    var operation: UInt = 0
    /// The address of one dependency, or 0.
    var dependency: UInt = 0
    /// The address of the operation's class.
    var type: UInt = 0
    /// Times, whose meaning depends on the kind; 0 where a time is unknown.
    var first: UInt64 = 0
    var second: UInt64 = 0
    var third: UInt64 = 0
    var fourth: UInt64 = 0
    /// The number of the operation's name in the buffer, from 1; 0 for none.
    var name: UInt32 = 0
    /// The number of the queue in the timeline.
    var queue: UInt16 = 0
    var kind = Kind.waited
    /// The outcome, the priority and whether the operation is a barrier.
    private var traits: UInt8 = 0

    /// The latest of the event's times.
    var latestTime: UInt64 { max(first, second, third, fourth) }

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

/// The number of events that all threads together may still keep.
final class TimelineBudget: Sendable {
    private let remaining: Atomic<Int>

    init(_ limit: Int) { remaining = Atomic(limit) }

    /// Gives back the number of events that were dropped because of their age.
    func give(back count: Int) { remaining.add(count, ordering: .relaxed) }

    /// Takes up to `wanted` events from the budget.
    ///
    /// Returns how many the caller may keep; 0 when the budget is used up.
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

/// The events of one thread, in the order in which they were recorded.
///
/// The thread takes the buffer's lock for each event. Other threads take it only when the timeline
/// is read, so the lock costs next to nothing.
///
/// Unchecked: all state is guarded by the lock, or atomic.
final class TimelineBuffer: @unchecked Sendable {
    private static let chunkCapacities = 8...512

    let thread: Int
    let threadName: String
    private let budget: TimelineBudget
    /// How long events are kept, in nanoseconds; nil for ever.
    private let window: UInt64?
    private let lock = SpinLock()
    private var chunks: [UnsafeMutablePointer<TimelineEvent>] = []
    /// The event counts of all chunks but the last.
    private var fullCounts: [Int] = []
    /// The number of events that were taken from the budget for each chunk but the last.
    private var fullCapacities: [Int] = []
    private var chunk: UnsafeMutablePointer<TimelineEvent>?
    private var count = 0
    private var capacity = 0
    private var names: [String] = []
    private var dropped = 0
    private var isClosed = false
    private let running = Atomic<UInt>(0)
    private let runningSince = Atomic<UInt64>(0)

    init(thread: Int, name: String, budget: TimelineBudget, window: UInt64? = nil) {
        self.window = window
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
        dropOldChunks()
        // Small first chunks: a thread with few events takes little of the shared budget.
        let wanted = min(
            max(2 * capacity, Self.chunkCapacities.lowerBound), Self.chunkCapacities.upperBound)
        let portion = budget.take(wanted)
        guard portion > 0 else { return false }
        if chunk != nil {
            fullCounts.append(count)
            fullCapacities.append(capacity)
        }
        let new = UnsafeMutablePointer<TimelineEvent>.allocate(capacity: portion)
        chunks.append(new)
        (chunk, count, capacity) = (new, 0, portion)
        return true
    }

    /// Drops the chunks whose events are all older than the window.
    func dropOld() { lock.withLock { dropOldChunks() } }

    private func dropOldChunks() {
        guard let window, !fullCounts.isEmpty else { return }
        let now = monotonicNanoseconds()
        let oldest = now > window ? now - window : 0
        var old = 0
        var nameCount = 0
        while old < fullCounts.count {
            let events = UnsafeBufferPointer(start: chunks[old], count: fullCounts[old])
            guard events.allSatisfy({ $0.latestTime < oldest }) else { break }
            nameCount += events.count { $0.name > 0 }
            old += 1
        }
        guard old > 0 else { return }
        for chunk in chunks[..<old] { chunk.deallocate() }
        budget.give(back: fullCapacities[..<old].reduce(0, +))
        chunks.removeFirst(old)
        fullCounts.removeFirst(old)
        fullCapacities.removeFirst(old)
        names.removeFirst(nameCount)
        // The names of the rest have smaller numbers now.
        for (index, chunk) in chunks.enumerated() {
            let count = index < fullCounts.count ? fullCounts[index] : count
            for event in UnsafeMutableBufferPointer(start: chunk, count: count).indices
            where chunk[event].name > 0 {
                chunk[event].name -= UInt32(nameCount)
            }
        }
    }

    /// Notes that the thread runs a fast-path operation of a batch, whose only event follows at its
    /// end.
    @inline(__always)
    func begins(_ operation: UInt, from start: UInt64) {
        running.store(operation, ordering: .relaxed)
        runningSince.store(start, ordering: .relaxed)
    }

    func runs(_ operation: UInt, since start: UInt64) -> Bool {
        running.load(ordering: .relaxed) == operation
            && runningSince.load(ordering: .relaxed) == start
    }

    /// Closes the buffer to further events.
    func close() { lock.withLock { isClosed = true } }

    /// Closes the buffer and frees its contents, which will not be read any more.
    func discard() {
        lock.withLock {
            isClosed = true
            for chunk in chunks { chunk.deallocate() }
            (chunks, fullCounts, fullCapacities, names) = ([], [], [], [])
            (chunk, count, capacity) = (nil, 0, 0)
        }
    }

    var counts: (kept: Int, dropped: Int) {
        lock.withLock { (fullCounts.reduce(count, +), dropped) }
    }

    /// Whether the buffer takes no further events.
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
