import OperationsRuntime
import Synchronization

/// Looks for operations whose overridden `isFinished` is true, and which never announced it: their
/// queues wait for the announcement.
///
/// On Apple's systems, key-value observing announces a change of an `@objc dynamic` property by
/// itself. A class that relies on this falls silent here. Nothing tells the library that such an
/// operation has ended, so the watch asks from time to time: as long as there are operations whose
/// `start()`, or `main()`, has returned, and which go on.
enum SilenceWatch {
    /// An operation goes on after its `start()`, or its `main()`, has returned.
    static func suspect() {
        if suspicion.raise() { schedule() }
    }

    /// Something waits for an operation that is in no queue, and that may have been started by
    /// hand. No queue leads the watch to it.
    static func suspect(_ operation: Operation) {
        memory.withLock { memory in
            guard memory.outside.count < visitLimit else { return }
            memory.outside.append(Weak(operation: operation))
        }
        suspect()
    }

    /// For how many nanoseconds an operation may be silent before it is reported, and how long a
    /// look waits for the next one; changed by tests.
    static let patience = Atomic<Int64>(1_000_000_000)

    private static let suspicion = Suspicion()

    private static func schedule() {
        let pause = Duration.nanoseconds(patience.load(ordering: .relaxed))
        let wait = max(pause, memory.withLock { $0.nextLook } - TimeSource.continuous.now())
        _ = TimeSource.continuous.schedule(after: wait) { look() }
    }

    // MARK: Looks

    /// The most entries of one queue, and of all queues, that a look visits. The operation that is
    /// silent becomes the oldest of its queue one day.
    private static let visitLimitOfQueue = 1_000
    private static let visitLimit = 10_000
    /// The share of the time in which the watch looks is at most one part of this.
    private static let timesOfPause = 20

    private static func look() {
        suspicion.lookBegins()
        let start = TimeSource.continuous.now()
        let running = runningOperations()
        // User code, called without a lock.
        let silent = running.filter { $0.isFinished && $0.status.phase != .finished }
        let found = memory.withLock { $0.isSilent(silent, at: start) }
        for operation in found {
            OperationsDiagnostics.handler(.unannouncedEnd(operation: operation.label))
        }
        let end = TimeSource.continuous.now()
        memory.withLock { $0.nextLook = end + (end - start) * timesOfPause }
        if suspicion.lookEnds(isOver: running.isEmpty) { schedule() }
    }

    /// Returns operations of which only their own announcement is missing.
    private static func runningOperations() -> [Operation] {
        // The references to the operations are made, and released, without the lock.
        let outside = memory.withLock { memory in
            defer { memory.outside = [] }
            return memory.outside
        }
        var seen: Set<ObjectIdentifier> = []
        var found = outside.compactMap(\.operation).filter { operation in
            let state = operation.status
            return (state.phase == .created || state.awaitsAnnouncement)
                && seen.insert(ObjectIdentifier(operation)).inserted
        }
        let left = found.map { Weak(operation: $0) }
        memory.withLock { $0.outside += left }
        var places = visitLimit
        for (queue, _) in QueueRegistry.unfinished where places > 0 {
            let (operations, visited) = queue.snapshot { state in
                state.operations(inFirst: min(places, visitLimitOfQueue)) { $0.awaitsAnnouncement }
            }
            found += operations.filter { seen.insert(ObjectIdentifier($0)).inserted }
            places -= visited
        }
        return found
    }

    // MARK: Memory

    private struct Weak {
        weak var operation: Operation?
    }

    private struct Silent {
        weak var operation: Operation?
        let since: Duration
        var isReported = false
    }

    /// What the watch keeps from one look to the next. The lock is never held where an operation
    /// may be released.
    ///
    /// Unchecked: the references are weak, and read under the lock.
    private struct Memory: @unchecked Sendable {
        var outside: [Weak] = []
        var silent: [ObjectIdentifier: Silent] = [:]
        var nextLook = Duration.zero

        /// Records which operations were silent at a look, in place of those of the look before.
        /// Returns those that have been silent for long and were not reported.
        mutating func isSilent(_ operations: [Operation], at time: Duration) -> [Operation] {
            var due: [Operation] = []
            var now: [ObjectIdentifier: Silent] = [:]
            let patience = Duration.nanoseconds(patience.load(ordering: .relaxed))
            for operation in operations {
                let id = ObjectIdentifier(operation)
                var entry = Silent(operation: operation, since: time)
                // Another operation may have had the address.
                if let earlier = silent[id], earlier.operation === operation { entry = earlier }
                if !entry.isReported, time - entry.since >= patience {
                    entry.isReported = true
                    due.append(operation)
                }
                now[id] = entry
            }
            silent = now
            return due
        }
    }

    private static let memory = Locked(Memory())
}
