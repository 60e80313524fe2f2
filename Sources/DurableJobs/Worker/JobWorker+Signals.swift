#if DurableJobs
import OperationsRuntime
import Operations

extension JobWorker {
    /// Runs jobs until the process receives a signal, or until ``stop()``.
    ///
    /// The first signal stops the worker gracefully. A second one has its default effect, which
    /// ends the process at once; the jobs that ran start elsewhere when the lease has ended. When
    /// the method returns, the signals have the effect again that they had before.
    ///
    /// The signals arrive at a thread of their own, which nothing in the program can block. If the
    /// process runs a `ServiceGroup` that handles the same signals, run the worker as one of its
    /// services instead.
    ///
    /// - Parameter signals: such as `SIGTERM` and `SIGINT`.
    /// - Throws: as ``run()``.
    public func run(stoppingOn signals: [Int32]) async throws {
        let isStopping = Locked(false)
        let registration = SignalThread.handle(signals) { [weak self] _ in
            let isFirst = isStopping.withLock { isStopping in
                defer { isStopping = true }
                return !isStopping
            }
            guard isFirst, let self else { return false }
            stop()
            return true
        }
        defer { registration?.end() }
        try await run()
    }
}
#endif
