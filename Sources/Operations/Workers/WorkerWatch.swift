/// The memory of the monitor thread from one look at the workers to the next, and the conclusions
/// that it draws. Pure.
struct WorkerWatch {
    /// The observable properties of one worker.
    struct Sight {
        var id: WorkerID
        /// Nanoseconds of processor time; nil if the system does not provide them.
        var processorTime: UInt64?
        /// Whether the thread sleeps; nil if the system does not provide that. Called only when the
        /// answer matters, because the answer costs several system calls.
        var isSleeping: @Sendable () -> Bool?
        /// See `Worker.positionInBatch`.
        var position: Int?
    }

    struct Seen {
        /// The number of workers that have slept since the last look, as far as that can be
        /// determined.
        var asleep = 0
        /// The workers that have been running the same operation since the last look while other
        /// operations wait behind it.
        var stuck: Set<WorkerID> = []
        var hasBatches = false
    }

    fileprivate struct Memory {
        var time: UInt64
        /// The number of consecutive looks at which the thread had used no processor time at all.
        var quietLooks: Int
        var isAsleep: Bool
    }

    /// The processor time, in nanoseconds, below which a thread counts as asleep: the thread has
    /// woken only briefly.
    private static let leastWork: UInt64 = 500_000

    private var memories: [WorkerID: Memory] = [:]
    private var positions: [WorkerID: Int] = [:]
    /// The time of the last look or, before the first look, of the beginning of the watch.
    private var lastLook: UInt64

    init(from now: UInt64) { lastLook = now }

    /// - Parameter cores: The number of processors that the workers may use.
    mutating func look(at sights: [Sight], now: UInt64, cores: Int) -> Seen {
        var seen = Seen()
        var positions: [WorkerID: Int] = [:]
        for sight in sights {
            guard let position = sight.position else { continue }
            seen.hasBatches = true
            positions[sight.id] = position
            if self.positions[sight.id] == position { seen.stuck.insert(sight.id) }
        }
        self.positions = positions
        let span = now > lastLook ? now - lastLook : 0
        let isProcessorFree = work(of: sights) < span * UInt64(2 * cores - 1) / 2
        var memories: [WorkerID: Memory] = [:]
        for sight in sights {
            guard let time = sight.processorTime else { continue }
            var memory = Memory(time: time, quietLooks: 0, isAsleep: false)
            // The number may have belonged to another thread at the last look, one that had used
            // more time.
            if let last = self.memories[sight.id], time >= last.time {
                if time == last.time { memory.quietLooks = last.quietLooks + 1 }
                if time - last.time < Self.leastWork {
                    memory.isAsleep =
                        sight.isSleeping() ?? memory.hasSurelySlept(since: last, isProcessorFree)
                }
            }
            if memory.isAsleep { seen.asleep += 1 }
            memories[sight.id] = memory
        }
        self.memories = memories
        lastLook = now
        return seen
    }

    /// Returns how much processor time the workers have used since the last look.
    private func work(of sights: [Sight]) -> UInt64 {
        sights.reduce(0) { sum, sight in
            guard let time = sight.processorTime, let last = memories[sight.id], time > last.time
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
    fileprivate func hasSurelySlept(
        since last: WorkerWatch.Memory, _ isProcessorFree: Bool
    ) -> Bool {
        if quietLooks == 0 { return false }
        return last.isAsleep || (quietLooks > 1 && isProcessorFree)
    }
}
