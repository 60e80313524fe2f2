import Dispatch
import Synchronization

/// What one operation is doing, and which operations it waits for.
struct Diagnosis {
    typealias Reason = OperationExplanation.Reason

    private(set) var reasons: [Reason] = []
    private(set) var next: [Operation] = []

    init(_ operation: Operation) {
        let state = operation.status
        if operation.isSilent(state) {
            reasons = [.finishedUnannounced]
            return
        }
        // A subclass that keeps its own state may have been started by hand.
        if state.phase == .created, operation.isExecuting {
            reasons = [.executing(atMost: nil, queue: nil)]
            return
        }
        add(operation.blockers(in: state, .everything), of: operation)
        if state.isAtWork {
            if reasons.isEmpty { reasons = [Self.activity(of: operation, state)] }
            if state.isCancelled {
                // An explanation does not mark the failure as observed.
                reasons.append(
                    .cancellationRequested(because: "\(operation.reasonAndFailures.reason)"))
            }
        } else if state.phase == .created, state.isCancelled {
            reasons = [.cancelledButNotStarted]
        } else if state.isKeptByOverride, !reasons.isEmpty {
            reasons.append(.cancelled(because: "\(operation.reasonAndFailures.reason)"))
        } else if reasons.isEmpty {
            reasons = [Self.standing(of: operation, state)]
        }
    }

    /// Adds the reasons that the blockers give.
    private mutating func add(_ blockers: [Blocker], of operation: Operation) {
        var waitsInBody: [String] = []
        var isBehindAnother = false
        for blocker in blockers {
            var others = blocker.operations
            switch blocker.kind {
            case .wait(let target):
                waitsInBody += target.labels
                next += others
                continue
            // A budget counts while the operation waits in its line. Its holders are not followed.
            case .permits(let need) where need.isShort: others = []
            case .permits, .permitLine: continue
            // Only the oldest operation is given.
            case .barrier: others = Array(others.prefix(1))
            case .strictOrder: isBehindAnother = true
            // The reason that keeps the other one from starting is given with that one.
            case .slots where isBehindAnother: continue
            // While the operation changes its state, its `isReady` may be true.
            case .readiness where operation.isReady: continue
            case .dependencies, .group, .slots, .hold, .turn, .notStarted, .readiness,
                .suspension, .zeroWidth:
                break
            }
            next += others
            reasons.append(blocker.reason(Self.names(of: others, in: blocker, operation)))
        }
        if !waitsInBody.isEmpty { reasons.append(.waitingInBody(for: waitsInBody)) }
    }

    /// Returns the names of some operations of a blocker. Dependencies and holders of slots get
    /// their state, if a message shows them.
    private static func names(
        of others: [Operation], in blocker: Blocker, _ operation: Operation
    ) -> [String] {
        let conditions: [ObjectIdentifier: DependencyCondition]
        switch blocker.kind {
        case .dependencies: conditions = operation.conditions
        case .slots: conditions = [:]
        default: return others.map(\.label)
        }
        return others.enumerated().map { index, other in
            index < 5 ? other.labelWithState(conditions[ObjectIdentifier(other)]) : other.label
        }
    }

    // MARK: Nothing holds the operation back

    /// Returns what an operation does that has begun.
    private static func activity(of operation: Operation, _ state: LifecycleState) -> Reason {
        if state.has(.returned) { return .mainReturned }
        let queue = operation.retainedQueue()
        if let run = operation as? BlockGraphRun, let queue,
            let reason = run.nodesReason(in: queue)
        {
            return reason
        }
        return .executing(atMost: operation.runningTime(in: queue), queue: queue?.label)
    }

    /// Returns how an operation has ended, or what it is about to do.
    private static func standing(of operation: Operation, _ state: LifecycleState) -> Reason {
        // Without a queue, the operation has finished meanwhile.
        guard state.phase != .finished, let queue = operation.retainedQueue() else {
            return end(of: operation)
        }
        let label = queue.label
        if state.isStopped, !operation.needsSlotToLeave(state) { return .leaving(queue: label) }
        let (executor, readyCount) = queue.snapshot { ($0.executor, $0.ready.count) }
        switch executor {
        case .workers: return .ready(queue: label, othersReady: max(0, readyCount - 1))
        case .mainThread: return .waitingForMainThread
        case .driver: return .waitingForTestScheduler(queue: label)
        case .dispatch(let underlying):
            return .waitingForUnderlyingQueue(queue: label, underlying: underlying.label)
        }
    }

    /// Returns how the operation ended, without marking its failure as observed.
    private static func end(of operation: Operation) -> Reason {
        let state = operation.status
        let extras = operation.existingExtras
        if state.outcome == .failed, let failure = extras?.failure {
            return .failed(error: "\(failure.error)")
        }
        if state.isCancelled, let reason = operation.withExtras({ $0.cancellationReason }) {
            return .cancelled(because: "\(reason)")
        }
        return .finished(wasCancelled: state.isCancelled)
    }
}

extension Operation {
    /// The conditions of the dependencies that have one, by the dependency's identity.
    package final var conditions: [ObjectIdentifier: DependencyCondition] {
        var conditions: [ObjectIdentifier: DependencyCondition] = [:]
        withLock {
            guard let edges = edges.load(ordering: .relaxed) else { return }
            Edges.forEach(edges) { edge in
                guard let dependency = edge.dependency, edge.condition != .always
                else { return }
                conditions[ObjectIdentifier(dependency.takeUnretainedValue())] =
                    edge.condition
            }
        }
        return conditions
    }

    /// Whether the operation reports that it is finished, and nothing announced that: it is in no
    /// queue, or its queue has called all that it calls.
    ///
    /// - Parameter state: The state that was read before.
    fileprivate func isSilent(_ state: LifecycleState) -> Bool {
        // An operation may be about to finish; so the phase is read again.
        (state.phase == .created || state.awaitsAnnouncement) && isFinished
            && status.phase != .finished
    }

    /// Returns the name and, in parentheses, what the operation is doing and how it has to end.
    fileprivate func labelWithState(_ condition: DependencyCondition? = nil) -> String {
        let state = status
        let activity: String? =
            switch state.phase {
            case .starting, .executing: Diagnosis(self).reasons.first?.state
            case .created where isSilent(state): Diagnosis.Reason.finishedUnannounced.state
            case .created where isExecuting: "executing"
            case .created where state.isCancelled: "cancelled, but in no queue and not started"
            case .created where group != nil: "waiting"
            case .created: "in no queue and not started"
            case .waiting, .checkingReadiness: "waiting"
            case .queued: state.isStopped ? "cancelled" : "ready"
            case .finished: nil
            }
        let demand: String? =
            switch condition {
            case .success: "must succeed"
            case .failure: "must fail"
            case .always, nil: nil
            }
        let remarks = [activity, demand].compactMap { $0 }
        return remarks.isEmpty ? label : "\(label) (\(remarks.joined(separator: "; ")))"
    }
}
