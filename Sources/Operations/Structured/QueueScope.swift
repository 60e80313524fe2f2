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
/// handled if an operation runs because of it (``FailureRecord/isHandled``), or will: then the
/// edge of that operation is found from the operations that the failure had reached when it came.
/// An edge is marked as handling in the same hold of the lock in which it disappears. So each
/// handler is found in one of the two ways.
final class QueueScope: QueueCompanion {
    private struct Undecided {
        let failure: FailureRecord
        /// The operation that failed, and those that are cancelled because of it.
        let reached: [Operation]

        var isHandled: Bool { failure.isHandled || Operation.handling(reached).isFound }
    }

    private struct State {
        var end: EarlyEnd?
        /// The number of additions that have been announced and are not complete.
        var additions = 0
        /// The failures of which nobody knows yet whether they are handled.
        var undecided: [Undecided] = []
        /// The number of waits of the body.
        var waits = 0
        var hasBodyReturned = false
        var isOver = false
    }

    private let state = Locked(State())
    private let policy: OperationFailurePolicy

    init(_ policy: OperationFailurePolicy) { self.policy = policy }

    // MARK: Additions

    func willAdd(_ operations: [Operation]) throws(OperationMisuse) {
        let (isOver, end) = state.withLock { state in
            if !state.isOver { state.additions += 1 }
            return (state.isOver, state.end)
        }
        if isOver, let first = operations.first { throw .adding(afterScope: first) }
        guard let end else { return }
        // The operation never begins.
        for operation in operations where operation.status.phase == .created {
            operation.forceCancel(because: end.reason)
        }
    }

    func didAdd(_ operations: [Operation], to queue: OperationQueue) {
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
        if failure.isHandled { return }
        let (isHandled, reached) = Operation.handling([operation])
        // The scope learns of a failure when the work reports it, and once more at the end.
        if isHandled || !failure.take() { return }
        let isUndecided = state.withLock { state in
            guard policy == .collect || !(state.hasBodyReturned || state.waits > 0) else {
                return false
            }
            state.undecided.append(Undecided(failure: failure, reached: reached))
            return true
        }
        if !isUndecided { unhandled(failure, of: operation, in: queue) }
    }

    private func unhandled(
        _ failure: FailureRecord, of operation: Operation?, in queue: OperationQueue
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
        for each in takeUndecided() where !each.isHandled {
            unhandled(each.failure, of: each.reached.first, in: queue)
        }
    }

    private func takeUndecided() -> [Undecided] {
        state.withLock { state in
            defer { state.undecided = [] }
            return state.undecided
        }
    }

    /// The failures that were collected and not handled. The scope has been closed.
    func collected() -> CollectedErrors? {
        let failures = takeUndecided().filter { !$0.isHandled }.map { each in
            each.failure.observe()
            return CollectedErrors.Failure(
                operation: each.failure.operation, error: each.failure.error)
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

extension Operation {
    /// Whether the operation is in that queue, or was and has left.
    fileprivate func wasAdded(to queue: OperationQueue) -> Bool {
        queueReference.load(ordering: .acquiring)?.toOpaque()
            == Unmanaged.passUnretained(queue).toOpaque()
    }

    /// Whether an operation handles this failure; see ``handling(_:)``.
    var isFailureHandled: Bool { Self.handling([self]).isFound }

    /// Looks for an operation that handles the failure of operations: a dependent that is not
    /// cancelled runs on the failure of one of them, or on that of an operation that is cancelled
    /// because of it.
    ///
    /// - Returns: whether there is one, and the operations that were looked at.
    /// - Complexity: O(operations that are cancelled because of it, and their edges).
    static func handling(_ failed: [Operation]) -> (isFound: Bool, reached: [Operation]) {
        var reached = failed
        var seen = Set(failed.map(ObjectIdentifier.init))
        // One of these references may be the last, and must not be released under a lock.
        var kept: [Operation] = []
        var isFound = false
        var next = 0
        while next < reached.count, !isFound {
            let operation = reached[next]
            next += 1
            guard operation.status.has(.hasConditions) else { continue }
            operation.withLock {
                guard let edges = operation.edges.load(ordering: .relaxed) else { return }
                Edges.forEachSuccessor(edges) { edge in
                    let condition = edge.condition
                    guard condition != .always,
                        let dependent = Self.reference(toDependent: edge.dependent)
                    else { return }
                    kept.append(dependent)
                    if dependent.status.isStopped { return }
                    if condition == .failure {
                        isFound = true
                    } else if seen.insert(ObjectIdentifier(dependent)).inserted {
                        reached.append(dependent)
                    }
                }
            }
        }
        return (isFound, reached)
    }
}
