/// How far an operation is.
public enum OperationState: Sendable, Hashable {
    /// Something has to happen before it can start: it waits for dependencies.
    case waiting
    /// It can start.
    case ready
    /// Its work is going on.
    case executing
    /// It is over.
    case finished(isCancelled: Bool)

    /// Whether it is over, by whatever way.
    public var isFinished: Bool {
        switch self {
        case .finished: true
        case .waiting, .ready, .executing: false
        }
    }
}

/// The states of an operation, one after the other, for `for await`.
///
/// First comes the state at the moment when the loop begins, then each that follows, and after
/// `finished` the loop ends. It ends early when its task is cancelled. Nothing is left out: states that
/// the loop has not got to yet are kept, and an operation has few. Several loops do not disturb each
/// other. A loop keeps the operation; what it needs goes when it ends.
public struct OperationStates: AsyncSequence, Sendable {
    /// What the loop gets.
    public typealias Element = OperationState
    /// It does not fail.
    public typealias Failure = Never

    let operation: Operation

    /// Begins to observe the operation.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: StateStream.of(operation).makeAsyncIterator(), operation: operation)
    }

    /// Goes from state to state.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<OperationState>.Iterator
        let operation: Operation

        /// The next state; nil after the last, or when the task was cancelled.
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

/// Puts the four properties that make a state together, and brings each new state into a stream.
private final class StateStream: Sendable {
    private struct Seen {
        var isCancelled = false
        var isReady = false
        var hasExecuted = false
        var isFinished = false
        /// False while the properties are not all known.
        var isComplete = false
        var latest: OperationState?
        /// OperationStates on their way into the stream, and whether a thread is bringing them there.
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
            // Subclasses that keep one state for all say that they are not ready any more just before they
            // say what they are instead.
            if isReadiness, !value, operation.isExecuting || operation.isFinished { return }
            self.change { store(&$0, value) }
        }
    }

    private func change(_ body: (inout Seen) -> Void) {
        let isOurs = seen.withLock { seen in
            body(&seen)
            // Nothing follows on the end.
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
