import Dispatch
import Synchronization

/// What one operation is doing, and which operations it waits for.
struct Diagnosis {
    typealias Reason = OperationExplanation.Reason

    private(set) var reasons: [Reason] = []
    private(set) var next: [Operation] = []

    init(_ operation: Operation) {
        let state = operation.status
        switch state.phase {
        case .finished: reasons = [Self.end(of: operation)]
        case .starting, .executing:
            diagnose(running: operation, state)
            if state.isCancelled {
                // An explanation does not mark the failure as observed.
                reasons.append(
                    .cancellationRequested(because: "\(operation.reasonAndFailures.reason)"))
            }
        case .created, .waiting, .checkingReadiness, .queued:
            if state.isInQueue {
                diagnose(enqueued: operation, state)
            } else {
                diagnose(free: operation, state)
            }
        }
    }

    // MARK: Phases

    private mutating func diagnose(running operation: Operation, _ state: LifecycleState) {
        let targets = BlockedWait.targets(in: operation).filter { !$0.isOver }
        guard targets.isEmpty else {
            reasons = [.waitingInBody(for: targets.flatMap(\.labels))]
            for target in targets {
                switch target {
                case .operation(let other): next.append(other)
                case .operations(let others):
                    next += others.filter { $0.status.phase != .finished }
                case .queue(let queue, _), .capacity(let queue, _): next += queue.operations
                }
            }
            return
        }
        if state.has(.returned) {
            reasons = [.mainReturned]
        } else {
            let queue = operation.retainedQueue()
            let time = operation.runningTime(in: queue)
            reasons = [.executing(atMost: time, queue: queue?.label)]
        }
    }

    /// Diagnoses an operation that is in no queue.
    private mutating func diagnose(free operation: Operation, _ state: LifecycleState) {
        // A subclass that keeps its own state may have been started by hand.
        if operation.isExecuting {
            reasons = [.executing(atMost: nil, queue: nil)]
        } else if state.isCancelled {
            reasons = [.cancelledButNotStarted]
        } else if let group = operation.group, group.status.phase != .finished {
            reasons = [.waitingForGroup(group.label)]
            next.append(group)
        } else {
            reasons = [.notStarted]
            if state.unfinishedDependencies > 0 { diagnoseDependencies(of: operation) }
        }
    }

    private mutating func diagnose(enqueued operation: Operation, _ state: LifecycleState) {
        guard let queue = operation.retainedQueue() else {
            // The operation has finished meanwhile.
            reasons = [Self.end(of: operation)]
            return
        }
        if state.has(.cancelled), operation.needsSlotToLeave(state) {
            diagnose(ready: operation, in: queue)
        } else if state.isStopped {
            reasons = [.leaving(queue: queue.label)]
        } else if state.has(.onHold) {
            diagnose(held: operation)
            if state.unfinishedDependencies > 0 { diagnoseDependencies(of: operation) }
        } else if state.unfinishedDependencies > 0, !state.has(.forced) {
            diagnoseDependencies(of: operation)
        } else if state.phase != .queued, !operation.isReady {
            reasons = [.isReadyOverride]
        } else {
            diagnose(ready: operation, in: queue)
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

    private mutating func diagnoseDependencies(of operation: Operation) {
        let unfinished = operation.listedDependencies.filter { $0.status.phase != .finished }
        next += unfinished
        let conditions = operation.conditions
        // Only the dependencies that are shown get their state.
        let names = unfinished.enumerated().map { index, dependency in
            guard index < 5 else { return dependency.label }
            return dependency.labelWithState(conditions[ObjectIdentifier(dependency)])
        }
        reasons.append(.dependencies(names))
    }

    private mutating func diagnose(held operation: Operation) {
        guard let controller = operation.attemptController else { return }
        if let (cause, time) = controller.remainingHold {
            switch cause {
            case .delay: reasons = [.delayed(time)]
            case .period: reasons = [.waitingForNextRun(time)]
            case .retry(let attempt, let error):
                let retries = controller.plan.retry?.limit ?? 0
                let limit = retries == .max ? retries : retries + 1
                reasons = [
                    .waitingToRetry(
                        attempt: attempt, of: limit, delay: time, error: "\(error)")
                ]
            }
        }
        for shortage in controller.permitRequest?.shortages ?? [] {
            let budget = shortage.budget
            reasons.append(
                budget.isOfKey
                    ? .waitingForKey(budget.name, limit: budget.permits, ahead: shortage.before)
                    : .waitingForPermits(
                        shortage.permits, of: budget.name, available: shortage.free,
                        ahead: shortage.before))
        }
    }

    // MARK: Ready ones

    private mutating func diagnose(ready operation: Operation, in queue: OperationQueue) {
        struct Seen {
            let isSuspended: Bool
            let width: Int
            let running: Int
            let readyCount: Int
            let firstBarrier: Int
            let place: Int
            let operations: [Operation]
            let executor: QueueExecutor
            let predecessor: Operation?
        }
        let seen = queue.eventOffering { state in
            // Blocks may hold the operation back too.
            state.materializeAll()
            return Seen(
                isSuspended: state.isSuspended, width: state.width, running: state.running,
                readyCount: state.readyCount, firstBarrier: state.barrierPlace,
                place: operation.place, operations: state.operations(includingBarriers: true),
                executor: state.executor,
                predecessor: state.firstStrictly(before: operation.place))
        }
        let label = queue.label
        if seen.isSuspended { reasons.append(.queueSuspended(queue: label)) }
        if seen.width == 0 { reasons.append(.queueWidthIsZero(queue: label)) }
        if let oldest = seen.operations.first, oldest !== operation,
            seen.firstBarrier <= seen.place
        {
            reasons.append(.barrier(queue: label, behind: oldest.label))
            next.append(oldest)
        }
        if let predecessor = seen.predecessor {
            // The reason that keeps the predecessor from starting is given with the predecessor.
            reasons.append(.strictOrder(queue: label, behind: predecessor.label))
            next.append(predecessor)
        } else if seen.width > 0, seen.running >= seen.width {
            let holders = seen.operations.filter { $0.status.isAtWork && $0 !== operation }
            let names = holders.enumerated().map { index, holder in
                index < 5 ? holder.labelWithState() : holder.label
            }
            // A worker may hold a slot between two operations.
            if !holders.isEmpty {
                reasons.append(.slotsTaken(width: seen.width, by: names, queue: label))
                next += holders
            }
        }
        guard reasons.isEmpty else { return }
        switch seen.executor {
        case .workers:
            reasons = [.ready(queue: label, othersReady: max(0, seen.readyCount - 1))]
        case .mainThread: reasons = [.waitingForMainThread]
        case .driver: reasons = [.waitingForTestScheduler(queue: label)]
        case .dispatch(let underlying):
            reasons = [.waitingForUnderlyingQueue(queue: label, underlying: underlying.label)]
        }
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

    /// Returns the name and, in parentheses, what the operation is doing and how it has to end.
    fileprivate func labelWithState(_ condition: DependencyCondition? = nil) -> String {
        let state = status
        let activity: String? =
            switch state.phase {
            case .starting, .executing: Diagnosis(self).reasons.first?.state
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
