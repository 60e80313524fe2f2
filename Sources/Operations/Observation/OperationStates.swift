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

/// The states of an operation, one after the other, for `for await`.
///
/// The first element is the state at the moment when the loop begins. Each state that follows comes
/// next, and the loop ends after `finished`. The loop ends early when its task is cancelled. No
/// state is left out: states that the loop has not reached yet are kept, and an operation has few
/// of them. Several loops do not disturb each other. A loop keeps the operation; all that the loop
/// needs is released when it ends.
public struct OperationStates: AsyncSequence, Sendable {
    /// The element of the loop.
    public typealias Element = OperationState
    /// The sequence does not fail.
    public typealias Failure = Never

    let operation: Operation

    /// Begins to observe the operation.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: StateStream.of(operation).makeAsyncIterator(), operation: operation)
    }

    /// The iterator of the loop.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<OperationState>.Iterator
        let operation: Operation

        /// Returns the next state; nil after the last one, or when the task is cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async -> OperationState? {
            await base.next(isolation: actor)
        }
    }
}

extension KeyValueObserving where Self: Operation {
    /// The states that the operation is in from now on; see ``OperationStates``.
    public var states: OperationStates { OperationStates(operation: self) }
}

/// Combines the four properties that make a state, and yields each new state to a stream.
private final class StateStream: Sendable {
    private struct Seen {
        var isCancelled = false
        var isReady = false
        var hasExecuted = false
        var isFinished = false
        /// False while the properties are not all known.
        var isComplete = false
        var latest: OperationState?
        /// States on their way into the stream, and whether a thread is yielding them.
        var outgoing = FIFO<OperationState>()
        var isYielding = false

        var state: OperationState {
            if isFinished { return .finished(isCancelled: isCancelled) }
            // `isExecuting` becomes false a moment before `isFinished` becomes true.
            if hasExecuted { return .executing }
            return isReady ? .ready : .waiting
        }
    }

    private let seen = Locked(Seen())
    private let continuation: AsyncStream<OperationState>.Continuation

    private init(_ continuation: AsyncStream<OperationState>.Continuation) {
        self.continuation = continuation
    }

    static func of(_ operation: Operation) -> AsyncStream<OperationState> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: OperationState.self, bufferingPolicy: .unbounded)
        let states = StateStream(continuation)
        let observations = [
            states.follow(\.isCancelled, of: operation) { $0.isCancelled = $1 },
            states.follow(\.isReady, of: operation) { $0.isReady = $1 },
            states.follow(\.isExecuting, of: operation) { if $1 { $0.hasExecuted = true } },
            states.follow(\.isFinished, of: operation) { $0.isFinished = $1 },
        ]
        continuation.onTermination = { _ in
            for observation in observations { observation.invalidate() }
        }
        states.change { $0.isComplete = true }
        return stream
    }

    private func follow(
        _ keyPath: KeyPath<Operation, Bool>, of operation: Operation,
        _ store: @escaping @Sendable (inout Seen, Bool) -> Void
    ) -> KeyValueObservation {
        let isReadiness = keyPath == \.isReady
        return operation.observe(keyPath, options: [.initial, .new]) { [self] operation, change in
            let value = change.newValue ?? false
            // A subclass that keeps one state for everything announces that it is no longer ready
            // just before it announces what it is instead.
            if isReadiness, !value, operation.isExecuting || operation.isFinished { return }
            self.change { store(&$0, value) }
        }
    }

    private func change(_ body: (inout Seen) -> Void) {
        let isOurs = seen.withLock { seen in
            body(&seen)
            // No state follows the end.
            guard seen.isComplete, seen.latest?.isFinished != true else { return false }
            let state = seen.state
            if state != seen.latest {
                seen.latest = state
                seen.outgoing.append(state)
            }
            guard !seen.isYielding, !seen.outgoing.isEmpty else { return false }
            seen.isYielding = true
            return true
        }
        if isOurs { yield() }
    }

    private func yield() {
        while let state = next() {
            continuation.yield(state)
            if state.isFinished { continuation.finish() }
        }
    }

    private func next() -> OperationState? {
        seen.withLock { seen in
            let next = seen.outgoing.popFirst()
            if next == nil { seen.isYielding = false }
            return next
        }
    }
}
