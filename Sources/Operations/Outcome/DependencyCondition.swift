/// How a dependency must end for its dependent to run; the dependent waits for the end in any case.
public enum DependencyCondition: UInt, Sendable, Hashable, CaseIterable {
    /// Run however the dependency ended; the meaning of ``Operation/addDependency(_:)``.
    case always = 0
    /// Run only if the dependency succeeded.
    ///
    /// If the dependency failed or was cancelled, the dependent is cancelled too, at once, with the
    /// reason.
    case success = 1
    /// Run only if the dependency failed, or was cancelled because of a failure before it.
    ///
    /// If the dependency succeeded, or was cancelled for another reason, there is no failure to
    /// handle, and the dependent is cancelled.
    case failure = 2

    func isMet(by outcome: LifecycleState.Outcome) -> Bool {
        switch self {
        case .always: true
        case .success: outcome == .succeeded
        case .failure: outcome == .failed || outcome == .failedUpstream
        }
    }
}
