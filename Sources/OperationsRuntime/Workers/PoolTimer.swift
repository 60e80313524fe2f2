import Synchronization

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
/// Unchecked: `ticket` is guarded by the timekeeper's lock, and so is `moment` until the timer is
/// due.
package final class PoolTimer: ScheduledAction, @unchecked Sendable {
    private let action: Locked<(@Sendable () -> Void)?>
    private let timekeeper: Timekeeper
    fileprivate var ticket: Heap<UInt64, PoolTimer>.Ticket?
    /// When the action is to be called; 0 if that is at once.
    fileprivate var moment: UInt64 = 0

    init(_ action: @escaping @Sendable () -> Void, of timekeeper: Timekeeper) {
        self.action = Locked(action)
        self.timekeeper = timekeeper
    }

    /// Calls the action, on a worker.
    func fire() {
        guard let action = takeAction() else { return }
        if moment > 0 { timekeeper.willCall(dueAt: moment) }
        action()
    }

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
    private let handler = Locked<(@Sendable (UInt64) -> Void)?>(nil)
    private let hasHandler = Atomic<Bool>(false)

    var latenessHandler: (@Sendable (UInt64) -> Void)? {
        get { handler.withLock { $0 } }
        set {
            // The former handler is released without the lock.
            _ = handler.withLock { handler in
                hasHandler.store(newValue != nil, ordering: .relaxed)
                defer { handler = newValue }
                return handler
            }
        }
    }

    /// Reports by how much a timer is late whose action is called next.
    fileprivate func willCall(dueAt moment: UInt64) {
        guard hasHandler.load(ordering: .relaxed), let handler = latenessHandler else { return }
        let now = continuousNanoseconds()
        handler(now > moment ? now - moment : 0)
    }

    /// - Returns: Whether the caller has to wake the monitor thread.
    func add(_ timer: PoolTimer, at moment: UInt64, now: UInt64) -> Bool {
        lock.withLock {
            let (ticket, callsMonitor) = timers.add(timer, at: moment, now: now)
            (timer.ticket, timer.moment) = (ticket, moment)
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
