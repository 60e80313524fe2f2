#if DurableJobs
import Dispatch
import OperationsRuntime
import Operations

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

extension JobWorker {
    /// Runs jobs until the process receives a signal, or until ``stop()``.
    ///
    /// The first signal stops the worker gracefully. A second one ends the process at once; the
    /// jobs that ran start elsewhere when the lease has ended. When the method returns, signals
    /// have their default effect again.
    ///
    /// - Parameter signals: such as `SIGTERM` and `SIGINT`.
    /// - Throws: as ``run()``.
    public func run(stoppingOn signals: [Int32]) async throws {
        let count = Locked(0)
        let sources = signals.map { number in
            // The default effect would come first.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { [weak self] in
                let isFirst = count.withLock { count in
                    count += 1
                    return count == 1
                }
                guard isFirst else {
                    signal(number, SIG_DFL)
                    kill(getpid(), number)
                    return
                }
                self?.stop()
            }
            source.activate()
            return source
        }
        defer {
            for (source, number) in zip(sources, signals) {
                source.cancel()
                signal(number, SIG_DFL)
            }
        }
        try await run()
    }
}
#endif
