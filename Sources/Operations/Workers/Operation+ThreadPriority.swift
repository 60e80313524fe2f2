extension Operation {
    /// Runs `work` of an operation that is started by hand, with the thread's niceness set from
    /// ``threadPriority`` if that is not the default.
    func withThreadPriority(_ work: () -> Void) {
        let priority = threadPriority
        guard priority != 0.5 else { return work() }
        let usual = currentNiceness()
        guard setNiceness(Self.niceness(for: priority)) else { return work() }
        work()
        let context = ThreadContext.current
        guard !setNiceness(usual), context.activeWorker != nil else { return }
        // A process without the right to lower niceness cannot go back. Inside of a worker's operation,
        // the worker takes notice.
        context.noticeNiceness()
    }

    /// 0.0 → 19, 0.5 → 0, 1.0 → -20. An override of ``threadPriority`` may return anything.
    static func niceness(for priority: Double) -> Int32 {
        let priority = clampedThreadPriority(priority)
        let range = priority < 0.5 ? 38.0 : 40.0
        return Int32(((0.5 - priority) * range).rounded())
    }

    /// The nearest priority between 0 and 1; the default for what is not a number.
    static func clampedThreadPriority(_ priority: Double) -> Double {
        priority.isNaN ? 0.5 : min(max(priority, 0), 1)
    }
}
