/// A wait of a task that can end before the awaited event, because its time limit passes or the
/// task is cancelled.
package final class TimedWait: Sendable {
    private enum State {
        case begun
        case suspended(CheckedContinuation<Void, Never>)
        case ended(Bool)
    }

    private let state = Locked(State.begun)

    /// Ends the wait, because the awaited event has happened or the time limit has passed. The
    /// first call decides.
    package func end(inTime: Bool) {
        let continuation: CheckedContinuation<Void, Never>? = state.withLock { state in
            switch state {
            case .begun:
                state = .ended(inTime)
                return nil
            case .suspended(let continuation):
                state = .ended(inTime)
                return continuation
            case .ended: return nil
            }
        }
        continuation?.resume()
    }

    /// Waits for an event. Returns whether the event happened in time.
    ///
    /// - Parameters:
    ///   - endsWithTask: whether the cancellation of the calling task ends the wait, as the limit
    ///     does.
    ///   - enter: Registers the waiter; returns nil if there is nothing to wait for.
    ///   - leave: Removes the waiter.
    package static func wait(
        atMost limit: Duration, by time: TimeSource, endsWithTask: Bool = false,
        enter: (Waiter) -> TicketList<Waiter>.Ticket?, leave: (TicketList<Waiter>.Ticket) -> Void
    ) async -> Bool {
        let wait = TimedWait()
        guard let ticket = enter(.handler { wait.end(inTime: true) }) else { return true }
        let timer = time.schedule(after: limit) { wait.end(inTime: false) }
        let isInTime =
            if endsWithTask {
                await withTaskCancellationHandler {
                    await wait.isInTime()
                } onCancel: {
                    wait.end(inTime: false)
                }
            } else {
                await wait.isInTime()
            }
        timer.cancel()
        if !isInTime { leave(ticket) }
        return isInTime
    }

    /// Waits for an event, or until the task is cancelled.
    ///
    /// - Parameters:
    ///   - enter: Registers the wait; returns nil if there is nothing to wait for.
    ///   - leave: Removes the wait, which would be kept otherwise if the event never happens.
    nonisolated(nonsending) package static func untilCancelled<Ticket>(
        enter: (TimedWait) -> Ticket?, leave: (Ticket) -> Void
    ) async {
        let wait = TimedWait()
        await withTaskCancellationHandler {
            guard let ticket = enter(wait) else { return }
            if await !wait.isInTime() { leave(ticket) }
        } onCancel: {
            wait.end(inTime: false)
        }
    }

    /// Suspends the task until the wait ends. Returns whether the awaited event happened in time.
    nonisolated(nonsending) func isInTime() async -> Bool {
        // As in `PreparedTask`, the continuation carries no value.
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if case .ended = state { return true }
                state = .suspended(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
        return state.withLock { state in
            if case .ended(let isInTime) = state { isInTime } else { false }
        }
    }
}
