import Operations
import OperationsRuntime

/// Loops over the `idles` of queues. Each turn of each loop is an event.
final class IdleLoops: Sendable {
    private final class State: Sendable {
        let turn = Locked(Latch())
        let isOver = Latch()
    }

    private let loops = Locked([(task: Task<Void, Never>, state: State)]())

    func begin(on queue: OperationQueue) {
        let state = State()
        let task = Task.detached {
            for await _ in queue.idles {
                Heartbeat.beat()
                state.turn.withLock { $0 }.open()
            }
            state.isOver.open()
        }
        loops.withLock { $0.append((task, state)) }
    }

    /// Waits until each loop has had a turn since the call before, or since its beginning.
    func awaitTurns() {
        for (_, state) in loops.withLock({ $0 }) {
            let turn = state.turn.withLock { $0 }
            turn.wait()
            state.turn.replace(with: Latch())
        }
    }

    /// Cancels the loops, and waits until they have ended.
    func end() {
        for (task, state) in loops.withLock({ $0 }) {
            task.cancel()
            state.isOver.wait()
        }
        loops.withLock { $0 = [] }
    }
}
