/// Something that is to be called at a certain moment.
package protocol ScheduledAction: Sendable {
    /// Keeps it from being called, unless that has begun.
    func cancel()
}

extension Task: ScheduledAction where Success == Void, Failure == Never {}

/// An action that the pool calls on a worker at a certain moment.
///
/// Lists have the timer, and the timer alone has the action, until it is called or cancelled. So no thread that
/// only keeps lists ever releases what a user's action has captured.
///
/// Unchecked: `ticket` is guarded by the timekeeper's lock.
final class PoolTimer: ScheduledAction, @unchecked Sendable {
    private let action: Locked<(@Sendable () -> Void)?>
    private let timekeeper: Timekeeper
    fileprivate var ticket: TimerHeap<PoolTimer>.Ticket?

    init(_ action: @escaping @Sendable () -> Void, of timekeeper: Timekeeper) {
        self.action = Locked(action)
        self.timekeeper = timekeeper
    }

    /// To be called on a worker.
    func fire() { takeAction()?() }

    func cancel() {
        guard takeAction() != nil else { return }
        timekeeper.remove(self)
    }

    private func takeAction() -> (@Sendable () -> Void)? { action.withLock { $0.take() } }
}

/// The timers of the pool: added and cancelled by any thread, and looked after by the foreman.
///
/// Unchecked: `timers` is guarded by `lock`.
final class Timekeeper: @unchecked Sendable {
    private let lock = SpinLock()
    private var timers = TimerList<PoolTimer>()

    /// How many have been neither due nor cancelled.
    var count: Int { lock.withLock { timers.count } }

    /// - Returns: whether the foreman has to be called.
    func add(_ timer: PoolTimer, at moment: UInt64, now: UInt64) -> Bool {
        lock.withLock {
            let (ticket, callsMonitor) = timers.add(timer, at: moment, now: now)
            timer.ticket = ticket
            return callsMonitor
        }
    }

    fileprivate func remove(_ timer: PoolTimer) {
        // The reference comes out of the lock with the result.
        _ = lock.withLock { timer.ticket.flatMap { timers.remove($0) } }
    }

    // MARK: For the foreman

    func takeDue(at now: UInt64) -> [PoolTimer] { lock.withLock { timers.takeDue(at: now) } }

    /// See `TimerList.nextVisit(after:)`.
    func nextVisit(after now: UInt64) -> UInt64? { lock.withLock { timers.nextVisit(after: now) } }
}
