import OperationsRuntime
import Synchronization

extension Operation {
    /// Runs `work` of an operation that is started by hand. If ``threadPriority`` is not the
    /// default, the thread's niceness is set from it meanwhile.
    ///
    /// A worker keeps its niceness: a process without the right to lower niceness could not restore
    /// it.
    func withThreadPriority(_ work: () -> Void) {
        let priority = threadPriority
        guard priority != 0.5, ThreadContext.current.activeWorker == nil else { return work() }
        let usual = currentNiceness()
        guard setNiceness(Self.niceness(for: priority)) else { return work() }
        work()
        _ = setNiceness(usual)
    }

    /// Returns the niceness for a priority: 0.0 → 19, 0.5 → 0, 1.0 → -20. An override of
    /// ``threadPriority`` may return any number.
    static func niceness(for priority: Double) -> Int32 {
        let priority = clampedThreadPriority(priority)
        let range = priority < 0.5 ? 38.0 : 40.0
        return Int32(((0.5 - priority) * range).rounded())
    }

    /// Returns the nearest priority between 0 and 1, or the default if `priority` is not a number.
    static func clampedThreadPriority(_ priority: Double) -> Double {
        priority.isNaN ? 0.5 : min(max(priority, 0), 1)
    }
}

extension Operation {
    /// The niceness of the thread that has to be made for the operation; nil if the thread that
    /// claimed the operation runs it.
    func ownNiceness(in queue: OperationQueue) -> Int32? {
        guard queue.runsOnWorkers.load(ordering: .relaxed), runsOnItsThread else { return nil }
        let priority = threadPriority
        return priority == 0.5 ? nil : Self.niceness(for: priority)
    }
}
