import OperationsRuntime
import Synchronization

/// The bodies that wait for the main actor, while the main thread may wait for them.
///
/// A body counts itself and then asks whether the main thread is blocked; the main thread says that
/// it blocks and then asks whether bodies wait. All four accesses are sequentially consistent, so
/// at least one of the two finds the other, and reports. The main thread waits for one thing at a
/// time, and a wait is reported once by bodies.
enum MainActorBodies {
    private static let waiting = Atomic<Int>(0)
    private static let isBlocked = Atomic<Bool>(false)
    /// What the main thread waits for; nil once that was reported.
    private static let target = Locked<String?>(nil)

    /// The calling body is about to wait for the main actor.
    static func bodyWaits() {
        waiting.add(1, ordering: .sequentiallyConsistent)
        guard isBlocked.load(ordering: .sequentiallyConsistent),
            let name = target.withLock({ $0.take() })
        else { return }
        OperationsDiagnostics.handler(.mainThreadWait(name))
    }

    /// The body runs on the main actor now.
    static func bodyBegins() { waiting.subtract(1, ordering: .relaxed) }

    /// The calling thread, which is the main thread, is about to block. Returns whether bodies wait
    /// for it.
    static func mainThreadBlocks(for name: @autoclosure () -> String) -> Bool {
        target.replace(with: name())
        isBlocked.store(true, ordering: .sequentiallyConsistent)
        guard waiting.load(ordering: .sequentiallyConsistent) > 0 else { return false }
        // Otherwise a body reports it.
        return target.withLock { $0.take() } != nil
    }

    static func mainThreadGoesOn() {
        isBlocked.store(false, ordering: .relaxed)
        target.replace(with: nil)
    }
}
