#if ServiceLifecycle
public import Operations
public import ServiceLifecycle
public import UnixSignals

/// An operation queue as a service of a `ServiceGroup`: when the group shuts down, the queue does.
///
/// ```swift
/// let pictures = OperationQueue(name: "pictures", width: 4)
/// let group = ServiceGroup(
///     services: [QueueService(pictures, grace: .seconds(20)), server],
///     gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// A group shuts its services down in the reverse order. So put the queue before the server that
/// adds to it: the queue then shuts down when no more requests come.
///
/// When the shutdown begins, the queue refuses operations, and lets the others end for the grace
/// period; then it cancels them. The details are those of `OperationQueue.shutDown(grace:)`. A
/// further signal, or a cancellation of the service's task, ends the grace period at once.
public struct QueueService: Service, CustomStringConvertible {
    private let queue: OperationQueue
    private let grace: Duration
    private let signals: [UnixSignal]

    /// Makes a service, which does nothing until the group shuts down.
    ///
    /// - Parameters:
    ///   - queue: the queue; not the main one.
    ///   - grace: for how long operations may go on. If it is longer than the time that the system
    ///     gives the process, or than `maximumGracefulShutdownDuration` of the group, the process
    ///     ends before.
    ///   - signals: the signals that end the grace period. During the shutdown they have no other
    ///     effect on the process.
    public init(
        _ queue: OperationQueue, grace: Duration = .seconds(20),
        endingGraceOn signals: [UnixSignal] = [.sigterm, .sigint]
    ) {
        (self.queue, self.grace, self.signals) = (queue, grace, signals)
    }

    /// The queue, in log messages of the group.
    public var description: String { "QueueService(\(queue.description))" }

    /// Waits for the shutdown of the group, and shuts the queue down; called by the group.
    public func run() async throws {
        // Throws if the task is cancelled, which is a shutdown without a grace period.
        try? await gracefulShutdown()
        await withTaskGroup(of: Void.self) { group in
            let queue = queue
            let (grace, signals) = (grace, signals)
            group.addTask {
                for await _ in await UnixSignalsSequence(trapping: signals) {
                    await queue.shutDown(grace: .zero)
                }
            }
            await queue.shutDown(grace: grace)
            group.cancelAll()
        }
    }
}
#endif
