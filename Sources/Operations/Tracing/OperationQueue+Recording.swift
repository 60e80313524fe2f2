import OperationsRuntime
import Synchronization

// Recording of what happens to operations of a queue that is observed. The scheduler calls none of
// this for other queues. Tracing.md lists the events and their order.

extension OperationQueue {
    private var currentInstrumentation: Instrumentation {
        @inline(__always) get {
            Instrumentation(rawValue: instrumentation.load(ordering: .acquiring))
        }
    }

    /// Sends an event to each observer that receives the queue's events.
    private func send(_ event: QueueEvent, of operation: Operation) {
        ThreadContext.withCurrent { send(event, of: operation, on: $0, to: currentInstrumentation) }
    }

    @inline(__always)
    private func send(
        _ event: QueueEvent, of operation: Operation, on thread: ThreadContext,
        to instrumentation: Instrumentation
    ) {
        let kinds = instrumentation.kinds
        guard kinds != 0 else { return }
        observerList?._withUnsafeGuaranteedRef { observers in
            observers.forEach(kinds) { $0.receive(event, of: operation, on: thread) }
        }
    }

    // MARK: Additions and readiness

    /// Records an operation that is about to be added to the queue.
    @inline(never)
    func recordAddition(of operation: Operation) {
        let isReady = recordAddition(of: operation, at: recordTime())
        if !isReady {
            let mark = operation.lastMark
            ThreadContext.withCurrent {
                $0.operationState.lastAdded = (operation.identity, mark.bits)
            }
        }
        announceAddition(of: operation)
    }

    /// Records operations that are about to be added to the queue.
    @inline(never)
    func recordAddition(of operations: UnsafeBufferPointer<Unmanaged<Operation>>) {
        let now = recordTime()
        for operation in operations {
            operation._withUnsafeGuaranteedRef { _ = recordAddition(of: $0, at: now) }
        }
        for operation in operations {
            operation._withUnsafeGuaranteedRef { announceAddition(of: $0) }
        }
    }

    private func announceAddition(of operation: Operation) {
        guard operation.status.phase == .created else { return }
        send(.willBeAdded, of: operation)
    }

    /// Returns whether the addition makes the operation ready.
    private func recordAddition(of operation: Operation, at now: UInt64) -> Bool {
        let state = operation.status
        // An operation that is already in a queue is about to be refused.
        guard state.phase == .created else { return true }
        let isReady = state.has(.fastPath) && state.isReady
        operation.mark(PhaseTimestamp(isReady ? .ready : .added, now))
        return isReady
    }

    /// Records an operation that is about to be put on the ready list.
    @inline(never)
    func recordReady(_ operation: Operation) {
        let mark = operation.lastMark
        var wasJustAdded = false
        ThreadContext.withCurrent { context in
            wasJustAdded =
                context.operationState.lastAdded.map { $0 == (operation.identity, mark.bits) }
                ?? false
            context.operationState.lastAdded = nil
        }
        // The operation became ready as part of its addition: reuse the timestamp of the addition
        // instead of reading the clock again.
        if wasJustAdded {
            operation.mark(PhaseTimestamp(.ready, mark.time))
        } else {
            recordReady(operation, at: recordTime())
        }
    }

    /// Records operations that are about to be put on the ready list.
    @inline(never)
    func recordReady(_ operations: ArraySlice<Unmanaged<Operation>>) {
        let now = recordTime()
        for operation in operations {
            operation._withUnsafeGuaranteedRef { recordReady($0, at: now) }
        }
    }

    private func recordReady(_ operation: Operation, at now: UInt64) {
        let before = operation.lastMark
        operation.mark(PhaseTimestamp(.ready, now))
        guard !before.isNothing else { return }
        recordWait(of: operation, for: .others, from: before.time, until: now)
    }

    /// Records that the operation gets the permits for which it has waited.
    ///
    /// - Parameters:
    ///   - start: when it was refused. From when it was ready until then it has waited for a slot.
    ///   - areTokens: whether it has waited for tokens since, and not only for permits.
    @inline(never)
    func recordPermits(for operation: Operation, since start: UInt64, areTokens: Bool) {
        let (before, now) = (operation.lastMark, recordTime())
        // The operation may have been cancelled, and its end recorded.
        guard !before.isNothing, operation.replaceMark(before, by: PhaseTimestamp(.ready, now))
        else { return }
        // The queue may be observed since a later time than that of the refusal.
        let refusal = min(max(start, before.time), now)
        recordWait(of: operation, for: .slot, from: before.time, until: refusal)
        recordWait(
            of: operation, for: areTokens ? .tokens : .permits, from: refusal, until: now)
    }

    private func recordWait(
        of operation: Operation, for wait: QueueWait, from start: UInt64, until end: UInt64
    ) {
        if end > start { send(.waited(for: wait, from: start, until: end), of: operation) }
    }

    // MARK: Refusals

    /// Records an operation that is not added, because the queue is full.
    @inline(never)
    func recordRefusal(of operation: Operation) { send(.refused, of: operation) }

    // MARK: Running

    /// Records that the body is about to begin on this thread. Another thread may run the rest of
    /// the body.
    ///
    /// - Parameter hasBegun: whether the operation executes, so that its body is called although
    ///   the operation may have been cancelled meanwhile.
    @inline(never)
    func recordStart(of operation: Operation, hasBegun: Bool = false) {
        let state = operation.status
        if !hasBegun, state.has(.cancelled) { return }
        var attempt = OperationTimes(state, operation.lastMark)
        attempt.start = recordTime()
        operation.mark(PhaseTimestamp(.started, attempt.start))
        send(.started(attempt), of: operation)
    }

    /// Records that an attempt has ended and that the operation is held back until the next one.
    func recordReturn(of operation: Operation, error: (any Error)?, delay: Duration) {
        let mark = operation.lastMark
        guard !mark.isNothing else { return }
        var attempt = OperationTimes(operation.status, mark)
        attempt.end = recordTime()
        // Replaces the mark in one step: if the operation is cancelled and ends at this moment, its
        // end finds one mark or the other.
        guard operation.replaceMark(mark, by: PhaseTimestamp(.added, attempt.end)) else { return }
        send(.returned(attempt, error: error, delay: delay), of: operation)
    }

    /// Records that a deadline or timeout of the operation has passed.
    func recordOutOfTime(_ operation: Operation, _ error: any Error) {
        send(.ranOutOfTime(error), of: operation)
    }

    /// Records the end of an operation whose body has ended in a task of its claim, before the
    /// operation finishes.
    func recordEndOfBody(of operation: Operation) {
        let mark = operation.lastMark
        // The queue may not have been observed when the operation began.
        guard mark.kind == .started, !operation.takeMark().isNothing else { return }
        recordEnd(of: operation, since: mark, operation.outcome(operation.status))
    }

    /// Records the end of an operation whose body ran outside of a claim, on any thread, or that
    /// was cancelled before its body began.
    ///
    /// - Parameter state: the state just before the operation finished.
    @inline(never)
    func recordEnd(of operation: Operation, _ state: LifecycleState) {
        let mark = operation.lastMark
        // The end was recorded already, or the queue was not observed when the operation began.
        guard !mark.isNothing else { return }
        guard mark.kind == .started else {
            if state.phase != .executing { recordDropped(operation) }
            return
        }
        guard !operation.takeMark().isNothing else { return }
        recordEnd(of: operation, since: mark, operation.outcome(operation.status))
    }

    /// Records an operation that leaves without having begun, because it was cancelled or its
    /// deadline has passed.
    @inline(never)
    func recordDropped(_ operation: Operation) {
        let mark = operation.takeMark()
        guard !mark.isNothing else { return }
        recordEnd(
            of: operation, since: mark,
            operation.status.outcome == .failed ? .failed : .cancelled)
    }

    private func recordEnd(
        of operation: Operation, since mark: PhaseTimestamp, _ outcome: OperationOutcome
    ) {
        var attempt = OperationTimes(operation.status, mark)
        attempt.end = recordTime()
        send(.ended(attempt, outcome), of: operation)
    }
}

extension OperationQueue {
    /// Runs the body of an operation of a claim, and records its start and its end.
    @inline(never)
    func record(
        _ operation: Operation, _ state: LifecycleState, _ claim: Claim,
        _ instrumentation: Instrumentation, running body: () -> Void
    ) {
        ThreadContext.withCurrent { thread in
            var attempt = OperationTimes(state, operation.lastMark)
            attempt.isInClaim = true
            // Reuse the end of the previous operation: reading the clock is most of the cost here.
            attempt.start = claim.lastEnd > 0 ? claim.lastEnd : recordTime()
            operation.mark(PhaseTimestamp(.started, attempt.start))
            send(.started(attempt), of: operation, on: thread, to: instrumentation)
            body()
            attempt.end = recordTime()
            claim.lastEnd = attempt.end
            operation.mark(PhaseTimestamp(bits: 0))
            let outcome = operation.outcome(operation.status)
            // An observer that began meanwhile has not received the start.
            let rest = instrumentation.intersection(currentInstrumentation)
            send(.ended(attempt, outcome), of: operation, on: thread, to: rest)
        }
    }
}

extension OperationTimes {
    /// Returns what the mark says of the times of an operation.
    @inline(__always)
    fileprivate init(_ state: LifecycleState, _ mark: PhaseTimestamp) {
        lane = UInt8(truncatingIfNeeded: state.lane)
        isBarrier = state.has(.barrier)
        switch mark.kind {
        case .added: added = mark.time
        case .ready: ready = mark.time
        case .started: start = mark.time
        }
    }
}

extension OperationQueue {
    /// Runs code that blocks the thread inside of the operation with the given address, and records
    /// that.
    func recordWait(inside operation: UInt, on thread: ThreadContext, running wait: () -> Void) {
        let start = recordTime()
        wait()
        let end = recordTime()
        let kinds = currentInstrumentation.kinds
        guard kinds != 0 else { return }
        observerList?._withUnsafeGuaranteedRef { observers in
            observers.forEach(kinds) {
                $0.threadWaited(inside: operation, from: start, until: end, on: thread)
            }
        }
    }
}

/// Returns the time with the precision of a `PhaseTimestamp`, which all recorded times share.
@inline(__always)
func recordTime() -> UInt64 { monotonicNanoseconds() & ~3 }
