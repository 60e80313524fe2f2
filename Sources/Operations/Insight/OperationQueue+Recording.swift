import Synchronization

// Recording of what happens to operations of a queue that is watched. The scheduler calls none of
// this for other queues.

extension OperationQueue {
    private var currentInstrumentation: Instrumentation {
        Instrumentation(rawValue: instrumentation.load(ordering: .relaxed))
    }

    /// Calls `body` with the queue's Insight state, which every watched queue has.
    @inline(__always)
    private func withInsight(_ body: (QueueInsight) -> Void) {
        insight.load(ordering: .acquiring)?._withUnsafeGuaranteedRef(body)
    }

    private var queueObserver: (any QueueObserver)? {
        existingInsight?.observer.withLock { $0 }
    }

    // MARK: Additions and readiness

    /// Records an operation that is about to be added to the queue.
    @inline(never)
    func recordAddition(of operation: Operation) {
        let isReady = recordAddition(of: operation, at: recordTime())
        if !isReady {
            let mark = operation.lastMark
            ThreadContext.withCurrent { $0.traceBuffer.lastAdded = (operation.identity, mark) }
        }
        if currentInstrumentation.contains(.observer), let queueObserver {
            addObserver(from: queueObserver, to: operation)
        }
    }

    @inline(never)
    func recordAddition(of operations: UnsafeBufferPointer<Unmanaged<Operation>>) {
        let now = recordTime()
        for operation in operations {
            operation._withUnsafeGuaranteedRef { _ = recordAddition(of: $0, at: now) }
        }
        guard currentInstrumentation.contains(.observer), let queueObserver else { return }
        for operation in operations {
            addObserver(from: queueObserver, to: operation.takeUnretainedValue())
        }
    }

    private func addObserver(from queueObserver: any QueueObserver, to operation: Operation) {
        guard operation.status.phase == .created,
            let observer = queueObserver.observer(of: operation, in: self)
        else { return }
        operation.accept(observer)
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
                context.traceBuffer.lastAdded.map { $0 == (operation.identity, mark) } ?? false
            context.traceBuffer.lastAdded = nil
        }
        // The operation became ready as part of its addition: reuse the timestamp of the addition
        // instead of reading the clock again.
        if wasJustAdded {
            operation.mark(PhaseTimestamp(.ready, mark.time))
        } else {
            recordReady(operation, at: recordTime())
        }
    }

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
        recordWait(of: operation, since: before, until: now)
    }

    /// Records that the operation gets the permits for which it has waited since it was ready.
    @inline(never)
    func recordPermits(for operation: Operation) {
        let (before, now) = (operation.lastMark, recordTime())
        // The operation may have been cancelled, and its end recorded.
        guard !before.isNothing, operation.replaceMark(before, by: PhaseTimestamp(.ready, now))
        else { return }
        recordWait(of: operation, since: before, until: now)
    }

    private func recordWait(
        of operation: Operation, since before: PhaseTimestamp, until now: UInt64
    ) {
        guard !before.isNothing, currentInstrumentation.contains(.timeline), now > before.time
        else { return }
        withInsight { insight in
            insight.record { event in
                event.kind = .waited
                event.operation = operation.identity
                event.first = before.time
                event.second = now
            }
        }
    }

    // MARK: Running

    /// Records that the body is about to begin on this thread, outside of a batch.
    @inline(never)
    func recordStart(of operation: Operation) {
        let state = operation.status
        if state.has(.cancelled) { return }
        let now = recordTime()
        let mark = recordStart(of: operation, at: now)
        let instrumentation = currentInstrumentation
        guard instrumentation.contains(.timeline) else { return }
        let name = operation.name
        let dependencies = operation.identitiesOfDependencies(state)
        let isAsynchronous = !operation.runsOnItsThread || operation.isAsynchronous
        withInsight { insight in
            insight.record(name: name) { event in
                event.kind = isAsynchronous ? .startedTask : .started
                event.describe(operation, state)
                event.dependency = dependencies.first
                (event.first, event.second) = mark.times(before: now)
                event.third = PhaseTimestamp(.started, now).time
            }
            for dependency in dependencies.rest {
                insight.record(dependency: dependency, of: operation, start: now)
            }
        }
    }

    /// Marks the operation as started. Returns its previous mark.
    @inline(__always)
    fileprivate func recordStart(of operation: Operation, at now: UInt64) -> PhaseTimestamp {
        let mark = operation.lastMark
        operation.mark(PhaseTimestamp(.started, now))
        let instrumentation = currentInstrumentation
        if instrumentation.contains(.meter), !operation.status.has(.barrier) {
            withInsight { insight in
                if let waiting = mark.waiting(until: now) { insight.meter.waited(waiting) }
            }
        }
        if instrumentation.contains(.observer), let observer = operation.operationObserver {
            let waiting = mark.waiting(until: now).map { Duration.nanoseconds(Int64($0)) }
            observer.operationStarted(operation, waiting: waiting)
        }
        return mark
    }

    /// Records that an attempt has ended and that the operation is held back until the next one.
    func recordReturn(of operation: Operation, error: (any Error)?, delay: Duration) {
        let mark = operation.lastMark
        guard !mark.isNothing else { return }
        let now = recordTime()
        // Replaces the mark in one step: if the operation is cancelled and ends at this moment, its
        // end finds one mark or the other.
        guard operation.replaceMark(mark, by: PhaseTimestamp(.added, now)) else { return }
        let instrumentation = currentInstrumentation
        if instrumentation.contains(.timeline), mark.kind == .started {
            withInsight { insight in
                insight.record { event in
                    event.kind = .ended
                    event.describe(operation, operation.status)
                    event.outcome = error == nil ? .finished : .failed
                    event.first = mark.time
                    event.second = now
                }
            }
        }
        guard instrumentation.contains(.observer), let observer = operation.operationObserver else {
            return
        }
        let running = mark.kind == .started ? now - min(now, mark.time) : nil
        observer.operationReturned(
            operation,
            OperationAttempt(
                running: running.map { .nanoseconds(Int64($0)) }, error: error, delay: delay))
    }

    /// Records the end of an operation whose body ran outside of a batch, on any thread, or that
    /// was cancelled before its body began.
    ///
    /// - Parameter state: the state just before the operation finished.
    @inline(never)
    func recordEnd(of operation: Operation, _ state: LifecycleState) {
        let mark = operation.lastMark
        // The end was recorded already, or the queue was not watched when the operation began.
        guard !mark.isNothing else { return }
        guard mark.kind == .started else {
            if state.phase != .executing { recordDropped(operation) }
            return
        }
        guard !operation.takeMark().isNothing else { return }
        let now = recordTime()
        let outcome = operation.outcome(operation.status)
        let instrumentation = currentInstrumentation
        if instrumentation.contains(.timeline) {
            withInsight { insight in
                insight.record { event in
                    event.kind = .ended
                    event.describe(operation, state)
                    event.outcome = outcome
                    event.first = mark.time
                    event.second = now
                }
            }
        }
        notifyEnd(
            of: operation, outcome, running: now > mark.time ? now - mark.time : 0, instrumentation)
    }

    /// Records an operation that leaves without having begun, because it was cancelled or its
    /// deadline has passed.
    @inline(never)
    func recordDropped(_ operation: Operation) {
        let mark = operation.takeMark()
        guard !mark.isNothing else { return }
        let now = recordTime()
        let instrumentation = currentInstrumentation
        let outcome: OperationOutcome =
            operation.status.outcome == .failed ? .failed : .cancelled
        if instrumentation.contains(.timeline) {
            let state = operation.status
            let name = operation.nameForTimeline(state)
            withInsight { insight in
                insight.record(name: name) { event in
                    event.kind = .dropped
                    event.describe(operation, state)
                    event.outcome = outcome
                    (event.first, event.second) = mark.times(before: now)
                    event.third = now
                }
            }
        }
        notifyEnd(of: operation, outcome, running: nil, instrumentation)
    }

    private func notifyEnd(
        of operation: Operation, _ outcome: OperationOutcome, running: UInt64?,
        _ instrumentation: Instrumentation
    ) {
        if instrumentation.contains(.meter), !operation.status.has(.barrier) {
            withInsight { $0.meter.ended(outcome, running: running) }
        }
        if instrumentation.contains(.observer), let observer = operation.operationObserver {
            observer.operationEnded(
                operation,
                operation.end(outcome, running: running.map { .nanoseconds(Int64($0)) }))
        }
    }
}

extension Operation {
    /// Runs the block of a fast-path operation of a batch, with the instrumentation of its queue
    /// and the setup that the operation needs.
    ///
    /// - Parameter state: the state, which says that the operation executes.
    @inline(never)
    final func runInstrumented(_ state: LifecycleState, _ batch: Batch, in queue: OperationQueue) {
        let instrumentation = Instrumentation(
            rawValue: queue.instrumentation.load(ordering: .relaxed))
        guard !instrumentation.isDisjoint(with: .watched) else {
            return runUnwatched(state, instrumentation, in: queue)
        }
        // Reuse the end of the previous operation: reading the clock is most of the cost here.
        let start = batch.lastEnd > 0 ? batch.lastEnd : recordTime()
        let mark = queue.recordStart(of: self, at: start)
        if instrumentation.contains(.timeline) { queue.recordThread(of: self, from: start) }
        if instrumentation.contains(.observer), let operationObserver {
            operationObserver.perform { runUnwatched(state, instrumentation, in: queue) }
        } else {
            runUnwatched(state, instrumentation, in: queue)
        }
        let end = recordTime()
        batch.lastEnd = end
        self.mark(PhaseTimestamp(bits: 0))
        let outcome = outcome(status)
        queue.recordRun(
            of: self, outcome, after: mark, from: start, to: end,
            instrumentation.intersection(
                Instrumentation(rawValue: queue.instrumentation.load(ordering: .relaxed))))
    }

    @inline(__always)
    private func runUnwatched(
        _ state: LifecycleState, _ instrumentation: Instrumentation, in queue: OperationQueue
    ) {
        if state.has(.needsSetup) || instrumentation.contains(.progress) {
            _ = ThreadContext.current.prepare(for: self, in: queue)
            runMain()
        } else {
            runBlock()
        }
    }
}

extension OperationQueue {
    /// Lets a timeline that is read before the operation has ended find the thread.
    @inline(__always)
    fileprivate func recordThread(of operation: Operation, from start: UInt64) {
        withInsight {
            $0.recordThread(of: operation.identity, from: PhaseTimestamp(.started, start))
        }
    }

    /// Records that a fast-path operation of a batch has run.
    @inline(__always)
    fileprivate func recordRun(
        of operation: Operation, _ outcome: OperationOutcome, after mark: PhaseTimestamp,
        from start: UInt64, to end: UInt64, _ instrumentation: Instrumentation
    ) {
        if instrumentation.contains(.timeline) {
            let state = operation.status
            let hasMore = state.has(.hasDependencies) || operation.hasExtras
            withInsight { insight in
                if hasMore {
                    insight.record(
                        operation, state, outcome, name: operation.nameForTimeline(state),
                        operation.identitiesOfDependencies(state), after: mark, from: start, to: end
                    )
                } else {
                    insight.record { event in
                        event.describe(operation, state, outcome, after: mark, from: start, to: end)
                    }
                }
            }
        }
        notifyEnd(of: operation, outcome, running: end > start ? end - start : 0, instrumentation)
    }
}

extension QueueInsight {
    fileprivate func record(
        _ operation: Operation, _ state: LifecycleState, _ outcome: OperationOutcome, name: String?,
        _ dependencies: OperationIdentities, after mark: PhaseTimestamp, from start: UInt64,
        to end: UInt64
    ) {
        record(name: name) { event in
            event.describe(operation, state, outcome, after: mark, from: start, to: end)
            event.dependency = dependencies.first
        }
        for dependency in dependencies.rest {
            record(dependency: dependency, of: operation, start: start)
        }
    }

    fileprivate func record(dependency: UInt, of operation: Operation, start: UInt64) {
        record { event in
            event.kind = .edge
            event.operation = operation.identity
            event.dependency = dependency
            event.first = PhaseTimestamp(.started, start).time
        }
    }
}

extension TimelineEvent {
    @inline(__always)
    fileprivate mutating func describe(_ operation: Operation, _ state: LifecycleState) {
        self.operation = operation.identity
        lane = UInt8(truncatingIfNeeded: state.lane)
        isBarrier = state.has(.barrier)
        type = unsafeBitCast(Swift.type(of: operation), to: UInt.self)
    }

    @inline(__always)
    fileprivate mutating func describe(
        _ operation: Operation, _ state: LifecycleState, _ outcome: OperationOutcome,
        after mark: PhaseTimestamp, from start: UInt64, to end: UInt64
    ) {
        kind = .ran
        describe(operation, state)
        self.outcome = outcome
        (first, second) = mark.times(before: start)
        third = PhaseTimestamp(.started, start).time
        fourth = end
    }
}

extension PhaseTimestamp {
    /// Returns how long the operation was ready; nil if that is unknown.
    @inline(__always)
    fileprivate func waiting(until start: UInt64) -> UInt64? {
        switch kind {
        case .ready: start > time ? start - time : 0
        // The operation became ready when the one before it ended, and followed at once.
        case .added: isNothing ? nil : 0
        case .started: nil
        }
    }

    /// Returns when the operation was added and when it became ready, as far as this mark says;
    /// else 0.
    @inline(__always)
    fileprivate func times(before start: UInt64) -> (added: UInt64, ready: UInt64) {
        switch kind {
        case .added: (time, 0)
        case .ready: (0, time)
        case .started: (0, 0)
        }
    }
}

/// Addresses of operations, used only in comparisons. The first address needs no array.
private struct OperationIdentities {
    private(set) var first: UInt = 0
    private(set) var rest: [UInt] = []

    @inline(__always)
    mutating func append(_ identity: UInt) {
        if first == 0 { first = identity } else { rest.append(identity) }
    }
}

extension Operation {
    var identity: UInt { UInt(bitPattern: ObjectIdentifier(self)) }

    fileprivate var hasExtras: Bool {
        @inline(__always) get { extras.load(ordering: .relaxed) != nil }
    }

    /// The operation's name; nil for a fast-path operation without extras, which has none: the
    /// class of a fast-path operation does not override `name`.
    fileprivate func nameForTimeline(_ state: LifecycleState) -> String? {
        state.has(.fastPath) && !hasExtras ? nil : name
    }

    /// Returns the addresses of the operation's dependencies, used only in comparisons. The
    /// dependencies have finished, and the operation retains them until it has finished.
    @inline(__always)
    fileprivate func identitiesOfDependencies(_ state: LifecycleState) -> OperationIdentities {
        var identities = OperationIdentities()
        guard state.has(.hasDependencies) else { return identities }
        withLock {
            guard let edges = edges.load(ordering: .relaxed) else { return }
            Edges.forEach(edges) { edge in
                guard let dependency = edge.pointee.dependency else { return }
                identities.append(UInt(bitPattern: dependency.toOpaque()))
            }
        }
        return identities
    }
}

extension ThreadContext {
    /// Runs code that blocks the thread. A timeline shows the wait if the thread is inside of an
    /// operation.
    func recordWait(_ wait: () -> Void) {
        guard operation != nil, let queue = Self.currentQueue, queue.traces(for: .timeline) else {
            return wait()
        }
        let start = recordTime()
        let operation = operation.map { UInt(bitPattern: $0.toOpaque()) } ?? 0
        wait()
        queue.existingInsight?.record { event in
            event.kind = .blocked
            event.operation = operation
            event.first = start
            event.second = recordTime()
        }
    }
}

/// Returns the time with the precision of a `PhaseTimestamp`, which all times of a timeline share.
@inline(__always)
private func recordTime() -> UInt64 { monotonicNanoseconds() & ~3 }
