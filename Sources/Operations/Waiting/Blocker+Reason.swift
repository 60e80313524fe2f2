extension Blocker {
    typealias Reason = OperationExplanation.Reason

    /// Returns the blocker as a reason, the words of which all messages use.
    ///
    /// - Parameter names: What the message calls the blocker's operations.
    func reason(_ names: [String]) -> Reason {
        let first = names.first ?? ""
        return switch kind {
        case .dependencies: threshold > 1 ? .firstSuccess(of: names) : .dependencies(names)
        case .wait(let target): .waitingInBody(for: target.labels)
        case .group: .waitingForGroup(first)
        case .permits(let need), .permitLine(let need): need.reason
        case .barrier(let queue): .barrier(queue: queue.label, behind: first)
        case .strictOrder(let queue): .strictOrder(queue: queue.label, behind: first)
        case .slots(let queue, let width): .slotsTaken(width: width, by: names, queue: queue.label)
        case .hold(let hold): hold.reason
        case .turn(let group, let count): .waitingForTurn(of: group, groups: count)
        case .notStarted: .notStarted
        case .readiness: .isReadyOverride
        case .suspension(let queue): .queueSuspended(queue: queue.label)
        case .zeroWidth(let queue): .queueWidthIsZero(queue: queue.label)
        }
    }
}

extension PermitRequest.Need {
    fileprivate var reason: Blocker.Reason {
        if let wait {
            return .waitingForTokens(
                permits, of: budget.name, available: wait.tokens, burst: wait.burst,
                next: wait.time, isClosed: wait.isClosed, ahead: ahead)
        }
        return budget.isOfKey
            ? .waitingForKey(budget.name, limit: budget.permits, ahead: ahead)
            : .waitingForPermits(permits, of: budget.name, available: free, ahead: ahead)
    }
}

extension AttemptController.RemainingHold {
    fileprivate var reason: Blocker.Reason {
        switch cause {
        case .delay: .delayed(time)
        case .period: .waitingForNextRun(time)
        case .retry(let attempt, let error):
            .waitingToRetry(attempt: attempt, of: attemptLimit, delay: time, error: "\(error)")
        }
    }
}
