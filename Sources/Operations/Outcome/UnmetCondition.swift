/// A dependent that does not start, because a dependency did not end as its condition requires.
///
/// Made under the dependency's lock, carried out without it. Until then the dependent counts the
/// dependency as unfinished, so only its cancellation can make it ready.
struct UnmetCondition {
    let dependent: Operation
    let dependency: Operation
    let state: LifecycleState
    let condition: DependencyCondition

    init(dependent: Operation, by dependency: Operation, on condition: DependencyCondition) {
        self.dependent = dependent
        self.dependency = dependency
        self.state = dependency.status
        self.condition = condition
    }

    func cancelDependent() {
        dependent.cancel(becauseOf: dependency, state: state, on: condition)
        dependent.transition { $0.dependencyFinished() }
    }
}

extension Operation {
    /// Cancels the operation, because a dependency did not end as its condition requires.
    ///
    /// An operation at work had begun before the edge existed. The edge came too late, and changes
    /// nothing.
    func cancel(
        becauseOf dependency: Operation, state: LifecycleState, on condition: DependencyCondition
    ) {
        guard !status.isAtWork else { return }
        let (reason, failure) = dependency.reasonForDependents(state, condition)
        forceCancel(because: reason, failure: failure)
    }

    private func reasonForDependents(
        _ state: LifecycleState, _ condition: DependencyCondition
    ) -> (CancellationReason, FailureRecord?) {
        guard condition != .failure else { return (.dependencyDidNotFail(operation: label), nil) }
        let extras = existingExtras == nil ? nil : withExtras { $0.ending }
        if state.outcome == .failed, let failure = extras?.failure {
            return (.dependencyFailed(operation: failure.operation, error: failure.error), failure)
        }
        let reason = CancellationReason.ofDependents(of: label, cancelledBecause: extras?.reason)
        if case .dependencyFailed = reason { return (reason, extras?.upstream) }
        return (reason, nil)
    }
}

extension OperationExtras {
    /// The failure and the cancellation reasons with which the operation ended.
    fileprivate var ending:
        (failure: FailureRecord?, reason: CancellationReason?, upstream: FailureRecord?)
    { (failure, cancellationReason, upstreamFailure) }
}
