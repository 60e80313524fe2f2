import OperationsRuntime

/// A shutdown that waits for a signal; it ends with ``end()``.
///
/// The caller need not retain this object.
public final class ShutdownOnSignals: Sendable {
    private let registration: SignalThread.Registration?

    fileprivate init(_ registration: SignalThread.Registration?) {
        self.registration = registration
    }

    /// Gives the signals the effect back that they had before. A shutdown that has begun goes on.
    public func end() { registration?.end() }
}

extension OperationQueue {
    /// Shuts the queue down when the process gets a signal.
    ///
    /// ```swift
    /// let signals = queue.shutDown(on: .sigint, .sigterm, grace: .seconds(2))
    /// await queue.finished()
    /// signals.end()
    /// ```
    ///
    /// The first signal shuts the queue down, with the grace period. A second one ends that period.
    /// From then on, and when the queue is empty, a signal has its default effect again, which ends
    /// the process; so a body that ignores its cancellation does not make Ctrl-C useless. The same
    /// holds if the queue does not exist any more.
    ///
    /// The signals count from the return of this method on. They arrive at a thread of their own,
    /// so the shutdown begins however many threads the program blocks: the workers, those of
    /// Dispatch, and those of Swift's own pool, on which a `ServiceGroup` waits for its signals.
    /// The process ends only if something waits for the queue and then returns from `main`, or
    /// calls `exit`. A second after the grace period, operations that have not heeded their
    /// cancellation are a finding
    /// (``OperationsDiagnostics/Finding/leftAfterShutDown(queue:operations:)``). To end the process
    /// in any case, wait with ``finished(within:)``.
    ///
    /// Several queues may wait for the same signal. Another handler of the signal, by `signal`,
    /// Dispatch or a `ServiceGroup`, does not get along with this one: the later one gets the
    /// signal.
    ///
    /// - Parameters:
    ///   - first: the signal.
    ///   - more: further signals.
    ///   - time: the grace period, as in ``shutDown(grace:cancelsWaiting:)``.
    ///   - cancelsWaiting: whether operations that have not begun are cancelled at once.
    /// - Returns: an object that ends the wait for signals; it need not be retained.
    /// - Precondition: the queue is not ``main``.
    @discardableResult
    public final func shutDown(
        on first: ProcessSignal, _ more: ProcessSignal..., grace time: Duration = .seconds(20),
        cancelsWaiting: Bool = false
    ) -> ShutdownOnSignals {
        if isMain { misuse("the main queue cannot be shut down: it is not the program's own") }
        let entry = QueueRegistry.entry(of: self)
        let count = Locked(0)
        let report = reportOfRest
        let registration = SignalThread.handle(([first] + more).map(\.rawValue)) { _ in
            guard let queue = entry.queue else { return false }
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number > 2 || (number == 2 && queue.isEmptyAfterShutdown) { return false }
            // The task runs on the thread that it makes: all others may be blocked.
            Task.detached(executorPreference: OwnThreadExecutor(named: "Operation-stop")) {
                await queue.shutDown(
                    grace: number == 1 ? time : .zero, cancelsWaiting: cancelsWaiting,
                    reporting: report)
            }
            return true
        }
        return ShutdownOnSignals(registration)
    }

    /// Reports what does not heed its cancellation, once for all signals.
    private var reportOfRest: @Sendable ([Operation]) -> Void {
        let isReported = Latch()
        return { [label] operations in
            guard !operations.isEmpty, !isReported.wait(nanoseconds: 0) else { return }
            isReported.open()
            OperationsDiagnostics.handler(
                .leftAfterShutDown(queue: label, operations: operations.map(\.label)))
        }
    }

    private var isEmptyAfterShutdown: Bool { isShutDown && snapshot { $0.isEmpty } }

    /// Ends the grace period of a shutdown, as a further call of
    /// ``shutDown(grace:cancelsWaiting:)`` does, without a wait.
    package final func endGracePeriod() { if isShutDown { cancelRest() } }
}
