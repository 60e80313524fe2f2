#if ServiceLifecycle
public import Logging
public import Operations
public import ServiceLifecycle
public import UnixSignals

/// Operation queues as a service of a `ServiceGroup`: when the group shuts down, the queues do.
///
/// ```swift
/// let pictures = OperationQueue(name: "pictures", width: 4)
/// let mails = OperationQueue(name: "mails", width: 2)
/// let group = ServiceGroup(
///     services: [QueueService([pictures, mails], grace: .seconds(20)), server],
///     gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// A group shuts its services down in the reverse order. So put the queues before the server that
/// adds to them: they then shut down when no more requests come.
///
/// When the shutdown begins, the queues refuse operations, and let the others end for the grace
/// period; then they cancel them. The details are those of `OperationQueue.shutDown(grace:)`.
///
/// **One grace period.** The queues of a service shut down together. A group shuts down one service
/// after the other; if it has several queue services, the grace period of each counts from when the
/// first of them began to shut down. So the whole takes as long as the longest of them, and not the
/// sum. Services whose shutdowns are more than a minute apart do not belong together.
///
/// **A second signal** ends the grace periods of all queue services at once, and those of the
/// services whose turn has not come. Signals count from the shutdown of the group on, if the group
/// was started with them (`gracefulShutdownSignals`), also while another service shuts down first;
/// a signal that the group does not handle counts from the shutdown of the first queue service on.
/// A cancellation of the service's task ends its grace period, too.
///
/// **The log** says every five seconds, and at the end of the grace period, which operations are
/// left and what they do: *3 operations left: …*
///
/// The group waits for its signals, and shuts its services down, in tasks of Swift's own pool. If
/// bodies of tasks block all threads of that pool, the group does not notice SIGTERM, whatever its
/// tasks prefer; with `OperationsDefaultExecutor` installed it does. `OperationQueue.shutDown(on:)`
/// has a thread of its own for signals, and needs no group.
public struct QueueService: Service, CustomStringConvertible {
    private let queues: [OperationQueue]
    private let grace: Duration
    private let signals: [UnixSignal]
    private let logger: Logger

    /// Makes a service, which does nothing until the group shuts down.
    ///
    /// - Parameters:
    ///   - queues: the queues; not the main one.
    ///   - grace: for how long operations may go on. If it is longer than the time that the system
    ///     gives the process, or than `maximumGracefulShutdownDuration` of the group, the process
    ///     ends before.
    ///   - signals: the signals that end the grace period. During the shutdown they have no other
    ///     effect on the process.
    ///   - logger: receives which operations are left: every five seconds at the level `info`, and
    ///     as a warning when the grace period is over.
    public init(
        _ queues: [OperationQueue], grace: Duration = .seconds(20),
        endingGraceOn signals: [UnixSignal] = [.sigterm, .sigint], logger: Logger = .current
    ) {
        (self.queues, self.grace, self.signals) = (queues, grace, signals)
        self.logger = logger
    }

    /// Makes a service of one queue.
    public init(
        _ queue: OperationQueue, grace: Duration = .seconds(20),
        endingGraceOn signals: [UnixSignal] = [.sigterm, .sigint], logger: Logger = .current
    ) {
        self.init([queue], grace: grace, endingGraceOn: signals, logger: logger)
    }

    /// The queues, in log messages of the group.
    public var description: String {
        "QueueService(\(queues.map(\.description).joined(separator: ", ")))"
    }

    /// Waits for the shutdown of the group, and shuts the queues down; called by the group.
    public func run() async throws {
        let numbers = signals.map(\.rawValue)
        SignalCount.shared.serviceBegins(numbers)
        defer { SignalCount.shared.serviceEnds() }
        // Throws if the task is cancelled, which is a shutdown without a grace period.
        try? await gracefulShutdown()
        SignalCount.shared.begin(numbers)
        let rest = ProcessShutdown.shared.begin(grace: grace)
        let log = LeftOperations(queues, logger)
        let listener = SignalCount.shared.listen(to: numbers) { [queues] in
            // On the thread of the signal: the threads of the tasks may be blocked.
            for queue in queues { queue.endGracePeriod() }
            Task { await Self.shutDown(queues, grace: .zero) }
        }
        await withTaskGroup(of: Void.self) { [queues] group in
            group.addTask { await log.report(grace: rest) }
            await Self.shutDown(queues, grace: rest)
            group.cancelAll()
        }
        SignalCount.shared.remove(listener)
        ProcessShutdown.shared.end()
    }

    private static func shutDown(_ queues: [OperationQueue], grace: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            for queue in queues { group.addTask { await queue.shutDown(grace: grace) } }
        }
    }
}

/// Logs which operations are left in queues that shut down.
private struct LeftOperations: Sendable {
    private static let pause: Duration = .seconds(5)

    private let queues: [OperationQueue]
    private let logger: Logger

    init(_ queues: [OperationQueue], _ logger: Logger) {
        (self.queues, self.logger) = (queues, logger)
    }

    /// Reports until the task is cancelled.
    func report(grace: Duration) async {
        let clock = ContinuousClock()
        let end = clock.now + grace
        var next = clock.now
        var isOver = grace <= .zero
        while !Task.isCancelled {
            next = next.advanced(by: Self.pause)
            if !isOver, end < next { next = end }
            do { try await clock.sleep(until: next) } catch { return }
            let isEnd = !isOver && next >= end
            if isEnd { isOver = true }
            log(at: isEnd ? .warning : .info, isEnd: isEnd)
        }
    }

    private func log(at level: Logger.Level, isEnd: Bool) {
        let count = queues.reduce(0) { $0 + $1.operationCount }
        guard count > 0 else { return }
        let explanation = queues.filter { $0.operationCount > 0 }
            .flatMap { "\($0.explain())".split(separator: "\n") }.joined(separator: " ")
        logger.log(
            level: level,
            "\(count) operation\(count == 1 ? "" : "s") left\(isEnd ? " at the end of the grace period" : ""): \(explanation)"
        )
    }
}
#endif
