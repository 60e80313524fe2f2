/// A task that waits for something, but not whatever happens: its time may be up, or it is cancelled.
final class TimedWait: Sendable {
    private enum State {
        case begun
        case suspended(CheckedContinuation<Bool, Never>)
        case ended(Bool)
    }

    private let state = Locked(State.begun)

    /// What was waited for has come, or the time is up; the first call counts.
    func end(inTime: Bool) {
        let continuation: CheckedContinuation<Bool, Never>? = state.withLock { state in
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
        continuation?.resume(returning: inTime)
    }

    /// Whether what was waited for came in time.
    ///
    /// - Parameters:
    ///   - enter: puts the waiter on a list; nil if there is nothing to wait for.
    ///   - leave: takes it off the list again.
    static func wait(
        atMost limit: Duration, by time: TimeSource, enter: (Waiter) -> TicketList<Waiter>.Ticket?,
        leave: (TicketList<Waiter>.Ticket) -> Void
    ) async -> Bool {
        let wait = TimedWait()
        guard let ticket = enter(.timed(wait)) else { return true }
        let timer = time.schedule(after: limit) { wait.end(inTime: false) }
        let isInTime = await wait.isInTime()
        timer.cancel()
        if !isInTime { leave(ticket) }
        return isInTime
    }

    /// Suspends until the end; whether what was waited for came in time.
    func isInTime() async -> Bool {
        await withCheckedContinuation { continuation in
            let ended: Bool? = state.withLock { state in
                if case .ended(let isInTime) = state { return isInTime }
                state = .suspended(continuation)
                return nil
            }
            if let ended { continuation.resume(returning: ended) }
        }
    }
}
