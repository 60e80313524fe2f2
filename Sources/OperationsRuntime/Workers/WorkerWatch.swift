/// The memory of the monitor thread from one check of the workers to the next, and the conclusions
/// that it draws. Pure.
struct WorkerWatch {
    /// The observable properties of one worker.
    struct Sample {
        var id: WorkerID
        /// Nanoseconds of processor time; nil if the system does not provide them.
        var processorTime: UInt64?
        /// Whether the thread sleeps; nil if the system does not provide that. Called only when the
        /// answer matters, because the answer costs several system calls.
        var isSleeping: @Sendable () -> Bool?
        /// See `WorkerRunner.position`.
        var position: Int?
    }

    struct Seen {
        /// The number of workers that have slept since the last check, as far as that can be
        /// determined.
        var asleep = 0
        /// The workers that have been running the same operation since the last check while other
        /// operations wait behind it.
        var stuck: Set<WorkerID> = []
        var hasClaims = false
    }

    fileprivate struct Memory {
        var time: UInt64
        /// The number of consecutive checks at which the thread had used no processor time at all.
        var quietChecks: Int
        var isAsleep: Bool
    }

    /// The processor time, in nanoseconds, below which a thread counts as asleep: the thread has
    /// woken only briefly.
    private static let leastWork: UInt64 = 500_000

    private var memories: [WorkerID: Memory] = [:]
    private var positions: [WorkerID: Int] = [:]
    /// The time of the last check or, before the first check, of the beginning of the watch.
    private var lastCheck: UInt64

    init(from now: UInt64) { lastCheck = now }

    /// - Parameter cores: The number of processors that the workers may use.
    mutating func update(with samples: [Sample], now: UInt64, cores: Int) -> Seen {
        var seen = Seen()
        var positions: [WorkerID: Int] = [:]
        for sample in samples {
            guard let position = sample.position else { continue }
            seen.hasClaims = true
            positions[sample.id] = position
            if self.positions[sample.id] == position { seen.stuck.insert(sample.id) }
        }
        self.positions = positions
        let span = now > lastCheck ? now - lastCheck : 0
        let isProcessorFree = work(of: samples) < span * UInt64(2 * cores - 1) / 2
        var memories: [WorkerID: Memory] = [:]
        for sample in samples {
            guard let time = sample.processorTime else { continue }
            var memory = Memory(time: time, quietChecks: 0, isAsleep: false)
            // The number may have belonged to another thread at the last check, one that had used
            // more time.
            if let last = self.memories[sample.id], time >= last.time {
                if time == last.time { memory.quietChecks = last.quietChecks + 1 }
                if time - last.time < Self.leastWork {
                    memory.isAsleep =
                        sample.isSleeping()
                        ?? memory.hasCertainlySlept(since: last, isProcessorFree)
                }
            }
            if memory.isAsleep { seen.asleep += 1 }
            memories[sample.id] = memory
        }
        self.memories = memories
        lastCheck = now
        return seen
    }

    /// Returns how much processor time the workers have used since the last check.
    private func work(of samples: [Sample]) -> UInt64 {
        samples.reduce(0) { sum, sample in
            guard let time = sample.processorTime, let last = memories[sample.id], time > last.time
            else { return sum }
            return sum + (time - last.time)
        }
    }
}

extension WorkerWatch.Memory {
    /// Returns whether a thread sleeps of which only the processor time is known.
    ///
    /// A thread that uses no processor time may also be waiting for a processor. That is likely
    /// while the workers use nearly all the processor time that they may have, and then one more
    /// worker would be of no use. So no further thread is taken to be asleep in that case.
    fileprivate func hasCertainlySlept(
        since last: WorkerWatch.Memory, _ isProcessorFree: Bool
    ) -> Bool {
        if quietChecks == 0 { return false }
        return last.isAsleep || (quietChecks > 1 && isProcessorFree)
    }
}

/// The memory of the monitor thread of how long all threads have been blocked while work waits for
/// one. Pure.
struct ExhaustionWatch {
    /// How many nanoseconds pass before that is reported.
    static let patience: UInt64 = 1_000_000_000

    private var start: UInt64?
    private var isReported = false

    /// Records the state of the pool at a check. Returns whether it is to be reported now: once
    /// until some thread goes on.
    mutating func update(isExhausted: Bool, now: UInt64) -> Bool {
        guard isExhausted else {
            self = ExhaustionWatch()
            return false
        }
        let start = start ?? now
        self.start = start
        guard !isReported, now >= start + Self.patience else { return false }
        isReported = true
        return true
    }
}
