import OperationsRuntime
import Synchronization

/// Looks for operations that wait for each other in a circle, from the operations that wait in
/// queues, some time after a circle may have been closed. Cycles.md describes the protocol.
///
/// The looks follow blockers, and are in the folder `Waiting`.
enum CycleWatch {
    /// An operation was linked, or has entered a queue, or the order of a queue was changed, so
    /// that there may be a circle. The lock of the operation, or of the queue, has been held and is
    /// free again.
    static func suspect() {
        if suspicion.raise() { schedule() }
    }

    /// An edge was linked that may close a circle.
    static func suspect(_ dependency: Operation, before dependent: Operation) {
        if checksEachEdge { checkEdge(dependency, before: dependent) }
        // When a circle is broken, another one may show.
        suspect()
    }

    /// Whether a suspicious edge is searched at once.
    private static let checksEachEdge = environmentVariable("OPERATIONS_CHECK_CYCLES") == "1"

    static let suspicion = Suspicion()

    private static let firstDelay = Duration.milliseconds(100)

    /// Schedules the next look, as ``Suspicion`` has asked for.
    static func schedule() {
        let wait = max(firstDelay, nextLook.withLock { $0 } - TimeSource.continuous.now())
        _ = TimeSource.continuous.schedule(after: wait) { look() }
    }

    /// When the next look may begin.
    static let nextLook = Locked(Duration.zero)
}
