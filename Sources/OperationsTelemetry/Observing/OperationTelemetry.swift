#if Telemetry
import OperationsRuntime
import Operations
import Tracing

/// Reports one operation.
///
/// Each event is decided under the lock and reported without it. Events after the end of the
/// operation, or after the end of the reports, are not reported. If these two ends come at the same
/// moment, exactly one of them ends the span.
final class OperationTelemetry: OperationObserver {
    private struct State {
        enum Phase {
            case pending
            case executing
            case over
        }

        var phase = Phase.pending
        var attempts = 0
        /// How long the operation has waited for its turn, before it had to wait for permits.
        var waiting = Duration.zero
        var span: OperationSpan?
        /// The context of the span, kept after the span has ended.
        var lastContext: ServiceContext?
    }

    let telemetry: QueueTelemetry
    private let metrics: OperationMetrics?
    /// The parent of the span; nil if spans are not reported.
    private let parent: ServiceContext?
    private let added: ContinuousClock.Instant?
    /// The task-local values of the one who has added the operation, for a body that does not
    /// await; nil if spans are not reported. An async body has the values by itself.
    private let values: TaskLocalValues?
    private let state = Locked(State())

    init(
        _ telemetry: QueueTelemetry, metrics: OperationMetrics?, parent: ServiceContext?,
        values: TaskLocalValues?
    ) {
        (self.telemetry, self.metrics, self.parent) = (telemetry, metrics, parent)
        self.values = values
        added = parent == nil ? nil : .now
    }

    deinit {
        // The end of the operation may not have been reported.
        state.withLock { $0.span.take() }?.abandon()
    }

    /// The context of the operation's current or last span; nil if it had none.
    var lastContext: ServiceContext? { state.withLock { $0.lastContext } }

    // MARK: Events

    func operationAdded() { if !isLate { metrics?.operationAdded() } }

    func operationStarted(_ operation: Operation, waiting: Duration?) {
        if isLate { return }
        let before: Duration? = state.withLock { state in
            guard state.phase == .pending else { return nil }
            state.phase = .executing
            state.attempts += 1
            defer { state.waiting = .zero }
            return state.waiting
        }
        guard let before else { return }
        let waiting = waiting.map { $0 + before }
        metrics?.attemptBegan(waiting: waiting)
        beginSpan(of: operation, waiting: waiting)
    }

    /// Begins a span, unless a previous attempt has left one open.
    private func beginSpan(of operation: Operation, waiting: Duration?) {
        guard let tracer = telemetry.tracer, let parent, let added, !telemetry.hasEnded,
            state.withLock({ $0.span == nil })
        else { return }
        let span = OperationSpan(
            of: operation, in: telemetry.queue, by: tracer, parent: parent,
            queued: added.duration(to: .now), waiting: waiting)
        let isInTime = state.withLock { state in
            guard state.phase == .executing else { return false }
            (state.span, state.lastContext) = (span, span.context)
            return true
        }
        if !isInTime { span.abandon() }
    }

    func operationWaited(for wait: QueueWait, _ time: Duration) {
        if isLate { return }
        switch wait {
        case .others: break
        case .slot: state.withLock { $0.waiting += time }
        case .permits: metrics?.permitsCame(after: time, areTokens: false)
        case .tokens: metrics?.permitsCame(after: time, areTokens: true)
        }
    }

    func operationRanOutOfTime(_ operation: Operation, _ error: any Error) {
        if isLate { return }
        guard state.withLock({ $0.phase != .over }) else { return }
        inContext { telemetry.log?.ranOutOfTime(operation, error) }
        state.withLock { $0.span }?.ranOutOfTime()
    }

    func operationReturned(_ operation: Operation, _ attempt: OperationAttempt) {
        if isLate { return }
        let isRetried = attempt.error != nil
        let returned: (number: Int, ended: OperationSpan?)? = state.withLock { state in
            guard state.phase == .executing else { return nil }
            state.phase = .pending
            let number = state.attempts
            if isRetried { return (number, nil) }
            // The next run of a periodic operation is separate work, with a span of its own.
            state.attempts = 0
            return (number, state.span.take())
        }
        guard let returned else { return }
        metrics?.attemptEnded(isRetried ? .retried : .finished, running: attempt.running)
        if isRetried {
            inContext { telemetry.log?.returned(operation, attempt, number: returned.number) }
            state.withLock { $0.span }?.retried(attempt, number: returned.number)
        } else {
            returned.ended?.end(.finished, nil, attempts: returned.number)
        }
    }

    func operationEnded(_ operation: Operation, _ end: OperationEnd) {
        if isLate { return }
        let last: State? = state.withLock { state in
            guard state.phase != .over else { return nil }
            defer { (state.phase, state.span) = (.over, nil) }
            return state
        }
        guard let last else { return }
        let outcome = OperationMetrics.Outcome(end)
        metrics?.operationEnded(
            outcome, running: end.running, hadBegun: last.phase == .executing)
        if case .displaced = end.reason, metrics != nil { telemetry.metrics?.operationDropped() }
        if end.outcome != .finished {
            telemetry.logEnd(of: operation, end, in: parent.map { lastContext ?? $0 })
        }
        last.span?.end(outcome, end, attempts: last.attempts)
    }

    /// Ends the reports of the operation; later events are not reported.
    func end() {
        let span = state.withLock { state in
            state.phase = .over
            return state.span.take()
        }
        span?.abandon()
    }

    /// Whether the reports have ended; ends those of this operation if so. The thread that ended
    /// them did not find the operation in the queue if it was being added at that moment.
    private var isLate: Bool {
        guard telemetry.hasEnded else { return false }
        end()
        return true
    }

    // MARK: Around the body

    func perform(_ body: () -> Void) {
        guard let values else { return performInSpan(body) }
        values.run { performInSpan(body) }
    }

    private func performInSpan(_ body: () -> Void) {
        guard parent != nil, let context = state.withLock({ $0.span?.context }) else {
            return body()
        }
        ServiceContext.withValue(context, operation: body)
    }

    func perform(_ body: @Sendable () async -> Void) async {
        guard parent != nil, let context = state.withLock({ $0.span?.context }) else {
            return await body()
        }
        await ServiceContext.withValue(context, isolation: nil) { await body() }
    }

    /// Calls the log in a context in which its metadata providers find the span, or else the
    /// context in which the operation was added.
    private func inContext(_ report: () -> Void) {
        guard let parent else { return report() }
        ServiceContext.withValue(lastContext ?? parent, operation: report)
    }
}
#endif
