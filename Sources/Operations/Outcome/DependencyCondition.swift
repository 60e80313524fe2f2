/// How a dependency must have ended for its dependent to run; the dependent waits for the end in any case.
public enum DependencyCondition: UInt, Sendable, Hashable, CaseIterable {
    /// Run however it ended; what ``Operation/addDependency(_:)`` means.
    case always = 0
    /// Run only if it succeeded. If it failed or was cancelled, the dependent is cancelled too, at once, with
    /// the reason.
    case success = 1
    /// Run only if it failed, or was cancelled because of a failure before it. If it succeeded, or was
    /// cancelled otherwise, there is nothing to make up for, and the dependent is cancelled.
    case failure = 2

    func isMet(by outcome: LifecycleState.Outcome) -> Bool {
        switch self {
        case .always: true
        case .success: outcome == .succeeded
        case .failure: outcome == .failed || outcome == .failedUpstream
        }
    }
}
