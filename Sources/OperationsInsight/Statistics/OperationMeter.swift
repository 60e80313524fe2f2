import Operations
import OperationsRuntime
import Synchronization

/// Counts what happens to the operations of a queue, and measures how long it takes, in a fixed
/// amount of memory.
///
/// The memory consists of a few shards. Each thread has a shard to itself as long as there are
/// enough, so counting is an addition in memory that the processor already has in its cache.
///
/// Unchecked: the memory is allocated once and consists of atomics.
final class OperationMeter: QueueObserver, @unchecked Sendable {
    private static let shardCount = 8

    private struct Range {
        /// `begin`: how many operations had finished when measuring began. `end`: how many had been
        /// added when measuring ended.
        var begin = 0
        var end: Int?
        var isOn = false
    }

    private let range = Locked(Range())
    /// The memory of all shards. The first measurement allocates it, under the lock of `range`; it
    /// is kept from then on.
    private let memory = Atomic<UnsafeMutablePointer<Atomic<UInt64>>?>(nil)

    deinit {
        guard let memory = memory.load(ordering: .acquiring) else { return }
        memory.deinitialize(count: Self.shardCount * Shard.size)
        memory.deallocate()
    }

    // MARK: Beginning and ending

    /// Begins a measurement.
    ///
    /// - Parameter additions: the number of operations that the queue has finished. The unfinished
    ///   operations of the queue count as added during the measurement.
    /// - Returns: false if a measurement is in progress already.
    func begin(additions: Int) -> Bool {
        range.withLock { range in
            if range.isOn { return false }
            range = Range(begin: additions, end: nil, isOn: true)
            clear()
            return true
        }
    }

    private func clear() {
        let count = Self.shardCount * Shard.size
        let all: UnsafeMutablePointer<Atomic<UInt64>>
        if let memory = memory.load(ordering: .acquiring) {
            all = memory
        } else {
            all = .allocate(capacity: count)
            for index in 0..<count { (all + index).initialize(to: Atomic(0)) }
        }
        for index in 0..<Self.shardCount { Shard(all, index).clear() }
        memory.store(all, ordering: .releasing)
    }

    /// Ends the measurement.
    ///
    /// - Parameter additions: how many operations the queue has seen.
    func end(additions: Int) {
        range.withLock { range in
            guard range.isOn else { return }
            range.isOn = false
            range.end = additions
        }
    }

    var isOn: Bool { range.withLock { $0.isOn } }

    // MARK: Counting

    static var kind: QueueObserverKind { .statistics }

    @inline(__always)
    private func shard(of thread: ThreadContext) -> Shard? {
        guard let all = memory.load(ordering: .acquiring) else { return nil }
        return Shard(all, thread.number % Self.shardCount)
    }

    func receive(_ event: QueueEvent, of operation: Operation, on thread: ThreadContext) {
        switch event {
        case .willBeAdded, .refused, .waited, .ranOutOfTime, .returned: break
        case .started(let attempt):
            guard !attempt.isBarrier, let waiting = attempt.waiting else { return }
            shard(of: thread)?.waiting.add(waiting)
        case .ended(let attempt, let outcome):
            guard !attempt.isBarrier, let shard = shard(of: thread) else { return }
            if let running = attempt.running { shard.running.add(running) }
            shard.count(outcome)
        }
    }

    // MARK: Reading

    /// - Parameter additions: how many operations the queue has seen.
    func statistics(additions: Int) -> OperationQueueStatistics {
        var statistics = OperationQueueStatistics()
        guard let all = memory.load(ordering: .acquiring) else { return statistics }
        let range = range.withLock { $0 }
        statistics.addedCount = max(0, (range.end ?? additions) - range.begin)
        for index in 0..<Self.shardCount {
            let shard = Shard(all, index)
            statistics.finishedCount += shard.counted(.finished)
            statistics.cancelledCount += shard.counted(.cancelled)
            statistics.failedCount += shard.counted(.failed)
            statistics.waitingTime.merge(shard.waiting.histogram)
            statistics.runningTime.merge(shard.running.histogram)
        }
        return statistics
    }
}

/// One shard of a meter: a view of its memory.
private struct Shard {
    typealias Words = UnsafeMutablePointer<Atomic<UInt64>>

    private static let outcomes = 3
    /// The size in words: whole cache lines, plus one line between this shard and the next.
    static let size = (2 * Recording.size + outcomes + 15) / 8 * 8

    private let words: Words

    init(_ all: Words, _ index: Int) { words = all + index * Self.size }

    var waiting: Recording { Recording(words: words) }
    var running: Recording { Recording(words: words + Recording.size) }

    @inline(__always)
    func count(_ outcome: OperationOutcome) {
        let place = 2 * Recording.size + Int(outcome.rawValue)
        words[place].add(1, ordering: .relaxed)
    }

    func counted(_ outcome: OperationOutcome) -> Int {
        Int(words[2 * Recording.size + Int(outcome.rawValue)].load(ordering: .relaxed))
    }

    func clear() {
        for index in 0..<Self.size { words[index].store(0, ordering: .relaxed) }
        waiting.forgetLeast()
        running.forgetLeast()
    }

    /// A histogram to which several threads add.
    struct Recording {
        static let size = DurationHistogram.bucketCount + 3

        fileprivate let words: Words

        @inline(__always)
        func add(_ nanoseconds: UInt64) {
            words[DurationHistogram.bucket(of: nanoseconds)].add(1, ordering: .relaxed)
            words[DurationHistogram.bucketCount].add(nanoseconds, ordering: .relaxed)
            let (least, most) = (
                DurationHistogram.bucketCount + 1, DurationHistogram.bucketCount + 2
            )
            words[least].lower(to: nanoseconds)
            words[most].raise(to: nanoseconds)
        }

        func forgetLeast() {
            words[DurationHistogram.bucketCount + 1].store(.max, ordering: .relaxed)
        }

        var histogram: DurationHistogram {
            let counts = (0..<DurationHistogram.bucketCount).map {
                words[$0].load(ordering: .relaxed)
            }
            let rest = (0..<3).map {
                words[DurationHistogram.bucketCount + $0].load(ordering: .relaxed)
            }
            // A value may be counted before it has updated `least` and `most`.
            return DurationHistogram(
                counts: counts, sum: rest[0], least: min(rest[1], rest[2]), most: rest[2])
        }
    }
}

// `Atomic.min` and `Atomic.max` of the standard library compare unsigned values as if they were
// signed (Swift 6.3.1). `.max`, which stands for "nothing yet", would stay the minimum.
extension Atomic where Value == UInt64 {
    @inline(__always)
    fileprivate func lower(to value: UInt64) {
        var current = load(ordering: .relaxed)
        while value < current {
            let (isDone, original) = weakCompareExchange(
                expected: current, desired: value, ordering: .relaxed)
            if isDone { return }
            current = original
        }
    }

    @inline(__always)
    fileprivate func raise(to value: UInt64) {
        var current = load(ordering: .relaxed)
        while value > current {
            let (isDone, original) = weakCompareExchange(
                expected: current, desired: value, ordering: .relaxed)
            if isDone { return }
            current = original
        }
    }
}
