import OperationsRuntime
import Synchronization

/// The end of a scope, and the additions to its queue; see
/// ``withOperationQueue(name:width:isolation:_:)``.
///
/// A scope has at most one early end: the first event (a failure, an error of the body, or a
/// cancellation) decides which error the scope throws, and cancels the operations in its queue. An
/// addition announces itself before it adds, and checks afterwards whether the scope has ended
/// meanwhile. So for an operation that is added at that moment, either the thread that cancels all
/// operations sees it, or its addition sees the end.
final class QueueScope: QueueCompanion {
    private struct State {
        var end: EarlyEnd?
        /// The number of additions that have been announced and are not complete.
        var additions = 0
        var isOver = false
    }

    private let state = Locked(State())

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

    /// Ends the scope unless the failure is handled. The work of an operation has met an error, and
    /// is about to end.
    func operationFailed(_ operation: Operation, _ failure: FailureRecord, in queue: OperationQueue)
    {
        if operation.isFailureHandled { return }
        // The scope throws one of several errors, as a task group does.
        failure.observe()
        end(.operationFailed(failure.operation, failure.error), of: queue, except: operation)
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

    /// Whether an operation handles this failure: a dependent that is not cancelled runs on the
    /// failure of this operation, or on that of an operation that is cancelled because of it.
    ///
    /// - Complexity: O(operations that are cancelled because of it, and their edges).
    var isFailureHandled: Bool {
        var found = [self]
        var seen: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
        // One of these references may be the last, and must not be released under a lock.
        var kept: [Operation] = []
        var isHandled = false
        var next = 0
        while next < found.count, !isHandled {
            let operation = found[next]
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
                        isHandled = true
                    } else if seen.insert(ObjectIdentifier(dependent)).inserted {
                        found.append(dependent)
                    }
                }
            }
        }
        return isHandled
    }
}
