import OperationsRuntime
import Synchronization

/// Lets a thread wait until everybody who has come in has gone out.
final class Rendezvous: Sendable {
    /// The thread that waits counts until it waits.
    private let inside = Atomic<Int>(1)
    private let isOver = Latch()

    func enter() { inside.add(1, ordering: .relaxed) }

    func leave() {
        if inside.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { isOver.open() }
    }

    /// Called once.
    func wait() {
        leave()
        isOver.wait()
    }

    var count: Int { inside.load(ordering: .relaxed) }
}
