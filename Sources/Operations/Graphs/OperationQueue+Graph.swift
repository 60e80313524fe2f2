import OperationsRuntime
import Synchronization

extension OperationQueue {
    /// Adds all operations of a graph at once, in its order, without waiting. If the graph has a
    /// mistake, no operation is added.
    ///
    /// - Throws: see ``OperationGraph/validate()``.
    public final func add(_ graph: OperationGraph) throws(OperationGraphError) {
        try add(graph, checkedEdges: nil) {}
    }

    /// Adds all operations of a graph at once, in its order, and returns when all have ended.
    ///
    /// An operation that fails holds back the operations that depend on its success; all others go
    /// on. If the calling task is cancelled, the operations of the graph are cancelled too.
    ///
    /// - Throws: ``OperationGraphError`` before any operation has been added, see
    ///   ``OperationGraph/validate()``. Otherwise the first error of an operation whose failure no
    ///   other operation handles. Otherwise `CancellationError` if the task was cancelled, or
    ///   ``OperationCancellation`` about the first operation that was cancelled; operations that
    ///   were cancelled because of a handled failure, or because their dependency did not fail, do
    ///   not count.
    public final func run(_ graph: OperationGraph) async throws {
        try await run(graph, checkedEdges: nil) { .taskCancelled }
    }

    /// Runs a graph as ``run(_:)`` does.
    ///
    /// - Parameters:
    ///   - checkedEdges: the number of dependencies known when the graph was last checked; nil if
    ///     it was not.
    ///   - reason: why the operations are cancelled if the task is cancelled.
    final func run(
        _ graph: OperationGraph, checkedEdges: Int?,
        cancelledBecause reason: @escaping @Sendable () -> CancellationReason
    ) async throws {
        let run = GraphRun(graph.operations)
        try await withTaskCancellationHandler {
            // Once added, all operations come to an end.
            try add(graph, checkedEdges: checkedEdges) { run.begin() }
            try await run.end()
        } onCancel: {
            run.cancel(because: reason())
        }
    }

    /// Checks a graph and adds its operations.
    ///
    /// - Parameters:
    ///   - checkedEdges: the number of dependencies known when the graph was last checked; nil if
    ///     it was not.
    ///   - begin: called when nothing can fail any more, and before any operation runs.
    private func add(
        _ graph: OperationGraph, checkedEdges: Int?, begin: () -> Void
    ) throws(OperationGraphError) {
        let edgesSoFar = EdgeCount.edgesSoFar
        if edgesSoFar == nil || checkedEdges != edgesSoFar { try graph.validate() }
        let operations = graph.operations
        do {
            // From here on no other thread can start the operations or add them elsewhere.
            try reserve(operations)
        } catch {
            try graph.validate()
            throw .alreadyEnqueued(operations.first { $0.status.phase != .created }?.label ?? "it")
        }
        for edge in graph.part.edges {
            let (dependent, dependency) = (edge.dependent, edge.dependency)
            let new = dependent.connect(to: dependency, on: edge.condition, isOfGraph: true)
            // The check has found no cycle; other code may have linked an edge since.
            if new != nil { CycleWatch.suspect() }
        }
        for case let group as GroupOperation in operations {
            group.checkedEdges.store(edgesSoFar ?? 0, ordering: .releasing)
        }
        begin()
        add(operations, reserved: true)
    }
}

/// One run of a graph, from the addition of its operations to the end of the last one.
private final class GraphRun: Sendable {
    private struct State {
        var left: Int
        var error: (any Error)?
        /// The failures that another operation handles.
        var handled: [ObjectIdentifier] = []
        var cancellation: CancellationReason?
        /// Whether all operations belong to this run.
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
            // The operation may have been cancelled elsewhere, and have ended because of that.
            if !operation.addWaiter(handler) { ended(operation) }
        }
        let cancellation = state.withLock { state in
            state.hasBegun = true
            return state.cancellation
        }
        if let cancellation { Operation.cancel(operations, because: cancellation) }
    }

    /// Cancels the operations, or, before the run has begun, only stores the reason: until then the
    /// operations may turn out to belong to another queue.
    func cancel(because reason: CancellationReason) {
        let hasBegun = state.withLock { state in
            state.cancellation = reason
            return state.hasBegun
        }
        // An operation that is a group cancels its own members inside its `cancel()`.
        if hasBegun {
            ThreadContext.nesting { [operations] in
                Operation.cancel(operations, because: reason)
            }
        }
    }

    /// Records the end of one operation, whose dependents have not been released yet.
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
        let wait = BlockedWait.task(.operations(operations), mustEnd: true)
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
        // Failures were judged when they came; an operation that failed because its time was over
        // counts as cancelled, too.
        for operation in operations
        where operation.isCancelled && operation.status.outcome != .failed {
            if let cancellation = cancellation(of: operation) { throw cancellation }
        }
    }

    /// Returns the cancellation to be thrown for an operation; nil if the operation was cancelled
    /// as the graph provides: because of a handled failure, or because its dependency did not fail.
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
