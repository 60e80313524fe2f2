#if DurableJobs
import OperationsRuntime
import Operations

/// Wakes one loop, which waits for an event or for a time. A signal before the wait counts.
package final class AutoResetEvent: Sendable {
    private struct State {
        var isSignaled = false
        /// Tells the timer of an earlier wait from that of the present one.
        var serial = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    package init() {}

    /// Ends the present wait, or the next one at once.
    package func signal() {
        let waiter = state.withLock { state in
            guard let waiter = state.waiter.take() else {
                state.isSignaled = true
                return nil as CheckedContinuation<Void, Never>?
            }
            return waiter
        }
        waiter?.resume()
    }

    /// Waits for a signal, at most for the given time. Only one task may wait at a time; its
    /// cancellation has no effect.
    package func wait(atMost duration: Duration?) async {
        if let duration, duration <= .zero {
            state.withLock { $0.isSignaled = false }
            return
        }
        let serial = state.withLock { state in
            state.serial += 1
            return state.serial
        }
        let timer = duration.map { duration in
            TimeSource.continuous.schedule(after: duration) { [weak self] in self?.timeOut(serial) }
        }
        await withCheckedContinuation { continuation in
            let isDue = state.withLock { state in
                if state.isSignaled || state.serial != serial {
                    state.isSignaled = false
                    return true
                }
                state.waiter = continuation
                return false
            }
            if isDue { continuation.resume() }
        }
        timer?.cancel()
    }

    private func timeOut(_ serial: Int) {
        let waiter = state.withLock { state in
            guard state.serial == serial else { return nil as CheckedContinuation<Void, Never>? }
            // The wait may not have begun yet.
            state.serial += 1
            return state.waiter.take()
        }
        waiter?.resume()
    }
}
#endif
