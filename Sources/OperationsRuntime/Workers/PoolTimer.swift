/// An action that is scheduled to be called at a certain time.
package protocol ScheduledAction: Sendable {
    /// Prevents the call of the action, unless the call has begun.
    func cancel()
}

extension Task: ScheduledAction where Success == Void, Failure == Never {}

/// An action that the pool calls on a worker at a certain time.
///
/// Lists hold the timer. Only the timer holds the action, until the action is called or cancelled.
/// So a thread that only manages lists never releases the objects that a user's action has
/// captured.
///
/// Unchecked: `ticket` is guarded by the timekeeper's lock.
package final class PoolTimer: ScheduledAction, @unchecked Sendable {
    private let action: Locked<(@Sendable () -> Void)?>
    private let timekeeper: Timekeeper
    fileprivate var ticket: Heap<UInt64, PoolTimer>.Ticket?

    init(_ action: @escaping @Sendable () -> Void, of timekeeper: Timekeeper) {
        self.action = Locked(action)
        self.timekeeper = timekeeper
    }

    /// Calls the action, on a worker.
    func fire() { takeAction()?() }

    package func cancel() {
        guard takeAction() != nil else { return }
        timekeeper.remove(self)
    }

    private func takeAction() -> (@Sendable () -> Void)? { action.withLock { $0.take() } }
}

/// The timers of the pool. Any thread adds and cancels timers; the monitor thread submits those
/// that are due.
///
/// Unchecked: `timers` is guarded by `lock`.
final class Timekeeper: @unchecked Sendable {
    private let lock = SpinLock()
    private var timers = TimerList<PoolTimer>()

    /// - Returns: Whether the caller has to wake the monitor thread.
    func add(_ timer: PoolTimer, at moment: UInt64, now: UInt64) -> Bool {
        lock.withLock {
            let (ticket, callsMonitor) = timers.add(timer, at: moment, now: now)
            timer.ticket = ticket
            return callsMonitor
        }
    }

    fileprivate func remove(_ timer: PoolTimer) {
        // The reference leaves the lock with the result, so the lock is not held when the timer is
        // released.
        _ = lock.withLock { timer.ticket.flatMap { timers.remove($0) } }
    }

    // MARK: For the monitor thread

    func takeDue(at now: UInt64) -> [PoolTimer] { lock.withLock { timers.takeDue(at: now) } }

    /// See `TimerList.nextVisit(after:)`.
    func nextVisit(after now: UInt64) -> UInt64? { lock.withLock { timers.nextVisit(after: now) } }
}
