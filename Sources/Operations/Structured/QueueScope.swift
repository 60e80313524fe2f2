import OperationsRuntime
import Synchronization

/// What a scope does when an operation fails; see
/// ``withOperationQueue(name:width:onFailure:isolation:_:)``.
public enum OperationFailurePolicy: Sendable, Hashable {
    /// The scope cancels the other operations, and throws the error.
    case cancel
    /// The other operations go on, and the scope throws all failures together, as
    /// ``CollectedErrors``.
    case collect
}

/// The failures of a scope that collects them.
public struct CollectedErrors: Error, Sendable, CustomStringConvertible {
    /// A failure of one operation.
    public struct Failure: Sendable, CustomStringConvertible {
        /// The operation, as messages name it.
        public let operation: String
        /// What its work threw.
        public let error: any Error

        /// The operation and the error.
        public var description: String { "\(operation) failed: \(error)" }
    }

    /// The failures in their order in time; not empty.
    public let failures: [Failure]

    /// All failures, one to a line.
    public var description: String {
        guard failures.count > 1 else { return failures.first?.description ?? "" }
        return "\(failures.count) operations failed:\n"
            + failures.map { "  \($0)" }.joined(separator: "\n")
    }
}

/// The end of a scope, and the additions to its queue; see
/// ``withOperationQueue(name:width:onFailure:isolation:_:)``.
///
/// A scope has at most one early end: the first event (a failure, an error of the body, or a
/// cancellation) decides which error the scope throws, and cancels the operations in its queue. An
/// addition announces itself before it adds, and checks afterwards whether the scope has ended
/// meanwhile. So for an operation that is added at that moment, either the thread that cancels all
/// operations sees it, or its addition sees the end.
///
/// While the body of the scope runs, it may still add an operation that handles a failure. So a
/// failure stays undecided until the body has returned, or waits for operations of the queue. It is
/// handled if an operation runs because of it, or waits to do so (``FailureRecord/isHandled``):
///
/// - The thread of the failure first makes the failure known as undecided, and then looks for
///   handlers, from the operation that failed along the edges to its dependents.
/// - A thread that adds a handler has first made the handler's edges, and then, if failures are
///   undecided, looks for them from the handler's dependencies along the edges to their
///   dependencies. An operation that a failure has cancelled keeps that failure.
///
/// Both read under the locks under which the other writes. So at least one of the two finds the
/// other, whatever has ended in between. A thread that decides looks for handlers once more, in
/// case the thread of the failure has not done so yet: that operation still has its edges.
final class QueueScope: QueueCompanion {
    private struct State {
        var end: EarlyEnd?
        /// The number of additions that have been announced and are not complete.
        var additions = 0
        /// The failures of which nobody knows yet whether they are handled.
        var undecided: [(failure: FailureRecord, operation: Operation)] = []
        /// The number of waits of the body.
        var waits = 0
        var hasBodyReturned = false
        var isOver = false
    }

    private let state = Locked(State())
    private let policy: OperationFailurePolicy

    init(_ policy: OperationFailurePolicy) { self.policy = policy }

    // MARK: Additions

    var turn: AdditionTurn { .scope }
    var isBeforeReserving: Bool { true }

    func add(
        _ addition: Addition, to queue: OperationQueue, next: Next
    ) throws(OperationMisuse) {
        try willAdd(addition.operations)
        defer { didAdd(addition.operations, to: queue) }
        try next(addition)
    }

    private func willAdd(_ operations: [Operation]) throws(OperationMisuse) {
        let (isOver, end, mayHandle) = state.withLock { state in
            if !state.isOver { state.additions += 1 }
            return (state.isOver, state.end, !state.undecided.isEmpty)
        }
        if isOver, let first = operations.first { throw .adding(afterScope: first) }
        if mayHandle {
            for operation in operations where !operation.status.isStopped {
                operation.markHandledFailures()
            }
        }
        guard let end else { return }
        // The operation never begins.
        for operation in operations where operation.status.phase == .created {
            operation.forceCancel(because: end.reason)
        }
    }

    private func didAdd(_ operations: [Operation], to queue: OperationQueue) {
        let end = state.withLock { state in
            state.additions -= 1
            return state.end
        }
        guard let end else { return }
        for operation in operations where operation.wasAdded(to: queue) {
            operation.forceCancel(because: end.reason)
        }
    }

    // MARK: The end

    /// The work of an operation has met an error, and is about to end.
    func operationFailed(_ operation: Operation, _ failure: FailureRecord, in queue: OperationQueue)
    {
        // The scope learns of a failure when the work reports it, and once more at the end.
        if failure.isHandled || !failure.take(in: queue) { return }
        let isUndecided = state.withLock { state in
            guard policy == .collect || !(state.hasBodyReturned || state.waits > 0) else {
                return false
            }
            state.undecided.append((failure, operation))
            return true
        }
        if operation.isFailureHandled { return failure.handle() }
        if !isUndecided { unhandled(failure, of: operation, in: queue) }
    }

    private func unhandled(
        _ failure: FailureRecord, of operation: Operation, in queue: OperationQueue
    ) {
        // The scope throws one of several errors, as a task group does.
        failure.observe()
        end(.operationFailed(failure.operation, failure.error), of: queue, except: operation)
    }

    func waitBegins(in queue: OperationQueue) {
        state.withLock { $0.waits += 1 }
        decide(in: queue)
    }

    func waitEnded() { state.withLock { $0.waits -= 1 } }

    /// The body has returned, and can add no handler any more.
    func bodyReturned(_ queue: OperationQueue) {
        state.withLock { $0.hasBodyReturned = true }
        decide(in: queue)
    }

    /// Ends the scope if a failure is not handled. Later failures are decided when they come.
    private func decide(in queue: OperationQueue) {
        guard policy == .cancel else { return }
        // The thread of the failure may still be looking for handlers. The flag is read last: the
        // operation may end in between, and its edges are then gone.
        for (failure, operation) in takeUndecided()
        where !operation.isFailureHandled && !failure.isHandled {
            unhandled(failure, of: operation, in: queue)
        }
    }

    private func takeUndecided() -> [(failure: FailureRecord, operation: Operation)] {
        state.withLock { state in
            defer { state.undecided = [] }
            return state.undecided
        }
    }

    /// The failures that were collected and not handled. The scope has been closed.
    func collected() -> CollectedErrors? {
        let failures = takeUndecided().map(\.failure).filter { !$0.isHandled }.map { failure in
            failure.observe()
            return CollectedErrors.Failure(operation: failure.operation, error: failure.error)
        }
        return failures.isEmpty ? nil : CollectedErrors(failures: failures)
    }

    func end(_ end: EarlyEnd, of queue: OperationQueue, except operation: Operation? = nil) {
        let isFirst = state.withLock { state in
            guard state.end == nil, !state.isOver else { return false }
            state.end = end
            return true
        }
        if isFirst { queue.cancelAll(because: end.reason, except: operation) }
    }

    /// Suspends the calling task until the queue is empty and no addition to it is under way.
    func close(_ queue: OperationQueue) async {
        while true {
            await queue.waitUntilAllOperationsAreFinished()
            let isOver = state.withLock { state in
                state.isOver = state.additions == 0 && queue.snapshot { $0.isEmpty }
                return state.isOver
            }
            if isOver { return }
            await Task.yield()
        }
    }

    /// The early end, if there was one. The scope has been closed.
    var earlyEnd: EarlyEnd? { state.withLock { $0.end } }
}

extension AdditionTurn {
    /// The scope refuses the addition before anything else has happened.
    static var scope: AdditionTurn { AdditionTurn(rank: 10) }
}

extension Operation {
    /// Whether an operation handles this failure: a dependent that is not cancelled runs on the
    /// failure of this operation, or on that of an operation that is cancelled because of it. So
    /// does a dependent that one success is enough for: it fails itself if there is none.
    ///
    /// - Complexity: O(operations that are cancelled because of it, and their edges).
    var isFailureHandled: Bool {
        var isHandled = false
        visit { operation, found in
            guard !isHandled, operation.status.has(.hasConditions),
                let edges = operation.edges.load(ordering: .relaxed)
            else { return }
            Edges.forEachSuccessor(edges) { edge in
                let condition = edge.condition
                guard let dependent = Self.reference(toDependent: edge.dependent) else { return }
                let isStopped = dependent.status.isStopped
                let handles = condition == .failure || dependent.needsOneDependency
                if handles, !isStopped { isHandled = true }
                found(dependent, condition == .success && !isStopped)
            }
        }
        return isHandled
    }

    /// Marks the failures that this operation handles, although its dependencies may not have
    /// ended: those of its dependencies, and those because of which these are cancelled.
    ///
    /// - Complexity: O(operations before its dependencies, and their edges).
    fileprivate func markHandledFailures() {
        visit { operation, found in
            guard operation.status.has(.hasDependencies),
                let edges = operation.edges.load(ordering: .relaxed)
            else { return }
            let handling = needsOneDependency ? DependencyCondition.always : .failure
            let wanted = operation === self ? handling : .success
            Edges.forEach(edges) { edge in
                guard edge.condition == wanted, let dependency = edge.dependency else { return }
                found(dependency.takeUnretainedValue(), true)
            }
        } each: { operation in
            guard operation !== self, operation.existingExtras != nil else { return }
            for failure in operation.withExtras({ [$0.failure, $0.upstreamFailure] }) {
                failure?.handle()
            }
        }
    }

    /// Visits this operation and all that are found from it, each once.
    ///
    /// - Parameters:
    ///   - search: called with an operation whose lock is held; calls its second parameter with
    ///     each operation it has found, and whether to visit that one.
    ///   - each: called with an operation, and no lock held, before its search.
    private func visit(
        _ search: (Operation, (Operation, Bool) -> Void) -> Void,
        each: (Operation) -> Void = { _ in }
    ) {
        var visited = [self]
        var seen: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
        // One of these references may be the last, and must not be released under a lock.
        var kept: [Operation] = []
        var next = 0
        while next < visited.count {
            let operation = visited[next]
            next += 1
            each(operation)
            operation.withLock {
                search(operation) { found, isVisited in
                    kept.append(found)
                    if isVisited, seen.insert(ObjectIdentifier(found)).inserted {
                        visited.append(found)
                    }
                }
            }
        }
    }
}
