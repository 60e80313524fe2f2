/// A stage in the life of an operation.
public enum OperationState: Sendable, Hashable {
    /// The operation cannot start yet: it waits for dependencies.
    case waiting
    /// The operation can start.
    case ready
    /// The operation's body is running.
    case executing
    /// The operation has finished.
    case finished(isCancelled: Bool)

    /// Whether the operation has finished, in whatever way.
    public var isFinished: Bool {
        switch self {
        case .finished: true
        case .waiting, .ready, .executing: false
        }
    }
}

extension KeyValueObserving where Self: Operation {
    /// The states that the operation is in from now on, one after the other, for `for await`.
    ///
    /// The first element is the state at the moment when the loop begins. Each state that follows
    /// comes next, and the loop ends after `finished`. The loop ends early when its task is
    /// cancelled. No state is left out: states that the loop has not reached yet are kept, and an
    /// operation has few of them. Several loops do not disturb each other. A loop keeps the
    /// operation; all that the loop needs is released when it ends.
    public var states: ObservedSequence<OperationState> {
        ObservedSequence<OperationState> {
            var next = Optional(
                self.values(of: OperationProperties.state, buffering: .unbounded))
            var last: OperationState?
            return {
                while let state = await next?() {
                    // An operation that has begun to execute may pause between attempts, or may no
                    // longer execute and not have announced its end. It counts as executing.
                    guard let state, state != last, last != .executing || state.isFinished
                    else { continue }
                    last = state
                    if state.isFinished { next = nil }
                    return state
                }
                next = nil
                return nil
            }
        }
    }
}

extension Operation {
    /// The state as the four properties that make it say, which a subclass may override; nil while
    /// the operation says that it has finished and has not announced it.
    var observedState: OperationState? {
        let status = status
        if status.phase == .finished { return .finished(isCancelled: isCancelled) }
        if isExecuting || status.has(.returned) { return .executing }
        if isFinished { return nil }
        return isReady ? .ready : .waiting
    }
}

extension LifecycleState {
    /// The state if no subclass overrides it.
    var observedState: OperationState {
        switch phase {
        case .finished: .finished(isCancelled: isCancelled)
        case .executing: .executing
        case .created, .waiting, .checkingReadiness, .queued, .starting:
            isReady ? .ready : .waiting
        }
    }
}
