import Synchronization

extension OperationQueue {
    /// Adds all operations of a graph at once, in its order, without waiting; or, if something is wrong with it,
    /// none.
    ///
    /// - Throws: see ``OperationGraph/validate()``.
    public final func add(_ graph: OperationGraph) throws(OperationGraphError) {
        try add(graph, checkedEdges: nil) {}
    }

    /// Adds all operations of a graph at once, in its order, and returns when all have ended.
    ///
    /// An operation that fails holds back what depends on its success; what does not goes on. If the calling
    /// task is cancelled, so are the operations of the graph.
    ///
    /// - Throws: ``OperationGraphError`` before anything has been added, see ``OperationGraph/validate()``.
    ///   The first error of an operation for which nothing is there to run on its failure. Otherwise
    ///   `CancellationError` if the task was cancelled, or ``OperationCancellation`` about the first
    ///   operation that somebody cancelled.
    public final func run(_ graph: OperationGraph) async throws {
        try await run(graph, checkedEdges: nil) { .taskCancelled }
    }

    /// - Parameters:
    ///   - checkedEdges: the dependencies that were known when the graph was last checked, if it was.
    ///   - reason: why the operations are cancelled if the task is.
    final func run(
        _ graph: OperationGraph, checkedEdges: Int?,
        cancelledBecause reason: @escaping @Sendable () -> CancellationReason
    ) async throws {
        let run = GraphRun(graph.operations)
        try await withTaskCancellationHandler {
            // After that they all come to an end.
            try add(graph, checkedEdges: checkedEdges) { run.begin() }
            try await run.end()
        } onCancel: {
            run.cancel(because: reason())
        }
    }

    /// - Parameter begin: called when nothing can go wrong any more, and nothing runs.
    private func add(
        _ graph: OperationGraph, checkedEdges: Int?, begin: () -> Void
    ) throws(OperationGraphError) {
        let edgesSoFar = GraphCheck.edgesSoFar
        if edgesSoFar == nil || checkedEdges != edgesSoFar { try graph.validate() }
        let operations = graph.operations
        do {
            // From here on nobody else can start them, or add them elsewhere.
            try promise(operations)
        } catch {
            try graph.validate()
            throw .alreadyEnqueued(operations.first { $0.status.phase != .created }?.label ?? "it")
        }
        for edge in graph.part.edges {
            let (dependent, dependency) = (edge.dependent, edge.dependency)
            let new = dependent.connect(to: dependency, on: edge.condition, isOfGraph: true)
            if let new { TopologicalOrder.check(new, from: dependency, to: dependent) }
        }
        for case let group as GroupOperation in operations {
            group.checkedEdges.store(edgesSoFar ?? 0, ordering: .releasing)
        }
        begin()
        add(operations, reserved: true)
    }
}

/// The operations of a graph, from when they are added to the end of the last.
private final class GraphRun: Sendable {
    private struct State {
        var left: Int
        var error: (any Error)?
        /// Failures that somebody makes up for.
        var handled: [ObjectIdentifier] = []
        var cancellation: CancellationReason?
        /// Whether all operations are its own.
        var hasBegun = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let operations: [Operation]
    private let state: Locked<State>

    init(_ operations: [Operation]) {
        self.operations = operations
        state = Locked(State(left: operations.count))
    }

    func begin() {
        for operation in operations {
            let handler = Waiter.handler { [unowned operation] in self.ended(operation) }
            // Somebody else may have cancelled it, and it has ended by that.
            if !operation.addWaiter(handler) { ended(operation) }
        }
        let cancellation = state.withLock { state in
            state.hasBegun = true
            return state.cancellation
        }
        if let cancellation { Operation.cancel(operations, because: cancellation) }
    }

    /// Before it has begun the operations may turn out to be somebody else's.
    func cancel(because reason: CancellationReason) {
        let hasBegun = state.withLock { state in
            state.cancellation = reason
            return state.hasBegun
        }
        // Those of a group that is one of them are cancelled inside of that.
        if hasBegun {
            ThreadContext.nesting { [operations] in
                Operation.cancel(operations, because: reason)
            }
        }
    }

    /// What depends on it has not been told yet.
    private func ended(_ operation: Operation) {
        let failure = operation.status.outcome == .failed ? operation.failureRecord : nil
        let isHandled = failure != nil && operation.isFailureHandled
        if !isHandled { failure?.observe() }
        let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
            if let failure {
                if isHandled {
                    state.handled.append(ObjectIdentifier(failure))
                } else if state.error == nil {
                    state.error = failure.error
                }
            }
            state.left -= 1
            guard state.left == 0 else { return nil }
            return state.waiter.take()
        }
        waiter?.resume()
    }

    func end() async throws {
        let wait = BlockedWait.task(.operations(operations))
        defer { wait?.end() }
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.left == 0 { return true }
                state.waiter = continuation
                return false
            }
            if isOver { return continuation.resume() }
            guard let outer = TaskContext.operation else { return }
            for operation in operations { operation.promote(byWaitOf: outer) }
        }
        let (error, isCancelled) = state.withLock { ($0.error, $0.cancellation != nil) }
        if let error { throw error }
        if isCancelled { throw CancellationError() }
        // Failures have been judged when they came; one that took too long counts as cancelled, too.
        for operation in operations
        where operation.isCancelled && operation.status.outcome != .failed {
            if let cancellation = cancellation(of: operation) { throw cancellation }
        }
    }

    /// Nil if it is as the graph wants it.
    private func cancellation(of operation: Operation) -> OperationCancellation? {
        let upstream = operation.upstreamFailureRecord
        if let upstream, state.withLock({ $0.handled.contains(ObjectIdentifier(upstream)) }) {
            return nil
        }
        let reason = operation.cancellationReason ?? .requested
        if case .dependencyDidNotFail = reason { return nil }
        return OperationCancellation(operation: operation.label, reason: reason)
    }
}

extension Operation {
    fileprivate var upstreamFailureRecord: FailureRecord? {
        existingExtras == nil ? nil : withExtras { $0.upstreamFailure }
    }
}
