/// What the foreman remembers of workers from one look to the next, and what it concludes. Pure.
struct WorkerWatch {
    /// What can be seen of a worker.
    struct Sight {
        var id: WorkerID
        /// Nanoseconds; nil if that cannot be asked for.
        var processorTime: UInt64?
        /// Nil if that cannot be asked for. Asked only if it matters: it costs several calls of the system.
        var isSleeping: @Sendable () -> Bool?
        /// See `Worker.positionInBatch`.
        var position: Int?
    }

    struct Seen {
        /// How many workers have slept since the last look, as far as one can tell.
        var asleep = 0
        /// Workers behind whose operation others have been waiting since the last look.
        var stuck: Set<WorkerID> = []
        var hasBatches = false
    }

    fileprivate struct Memory {
        var time: UInt64
        /// For how many looks, one after the other, it had used no processor time at all.
        var quietLooks: Int
        var isAsleep: Bool
    }

    /// A thread that wakes for a moment only is asleep.
    private static let leastWork: UInt64 = 500_000

    private var memories: [WorkerID: Memory] = [:]
    private var positions: [WorkerID: Int] = [:]
    /// When workers were looked at, or the watch began.
    private var lastLook: UInt64

    init(from now: UInt64) { lastLook = now }

    /// - Parameter cores: how many processors the workers may use.
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
            // The number may have been another thread's at the last look, which had used more.
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

    /// How much processor time they have used since the last look.
    private func work(of sights: [Sight]) -> UInt64 {
        sights.reduce(0) { sum, sight in
            guard let time = sight.processorTime, let last = memories[sight.id], time > last.time
            else { return sum }
            return sum + (time - last.time)
        }
    }
}

extension WorkerWatch.Memory {
    /// Whether a thread sleeps of which only the processor time is known.
    ///
    /// One that uses none may also be waiting for a processor. While the workers use nearly all that they may
    /// have, that is likely, and a further one would be of no use; so none is newly taken to be asleep then.
    fileprivate func hasSurelySlept(
        since last: WorkerWatch.Memory, _ isProcessorFree: Bool
    ) -> Bool {
        if quietLooks == 0 { return false }
        return last.isAsleep || (quietLooks > 1 && isProcessorFree)
    }
}
