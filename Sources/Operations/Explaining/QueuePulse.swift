package import OperationsRuntime
import Synchronization

/// What a queue holds at a moment, for one who looks from time to time whether the queue goes on.
package struct QueuePulse {
    /// An operation that executes, or a node of one that is a graph and runs its nodes as blocks.
    package struct Working: Sendable {
        /// Tells the operation from all others that were seen to execute.
        package let identity: WorkingIdentity
        /// The node; nil for the operation itself.
        package let node: UInt32?
        /// A number that is another one after the body has begun anew, or was resumed.
        package let mark: UInt64

        package init(identity: WorkingIdentity, node: UInt32? = nil, mark: UInt64) {
            (self.identity, self.node, self.mark) = (identity, node, mark)
        }
    }

    /// The operations that execute. The running nodes of a graph follow it.
    package var working: [Working] = []
    /// The number of operations that wait for nothing but the queue.
    package var readyCount = 0
    /// The time since which the one of these operations has been ready that has been so for the
    /// longest, as `monotonicNanoseconds()`; nil if there is none, or if the queue is not observed.
    package var oldestReady: UInt64?
    /// The number of operations that wait for a point in time, for permits or for tokens.
    package var heldCount = 0
    /// The number of operations that wait for other operations, or for their own `isReady`.
    package var waitingCount = 0

    package init() {}

    /// The number of operations.
    package var count: Int {
        working.count { $0.node == nil } + readyCount + heldCount + waitingCount
    }

    fileprivate mutating func isReady(since mark: PhaseTimestamp) {
        readyCount += 1
        guard !mark.isNothing, mark.kind == .ready else { return }
        oldestReady = min(oldestReady ?? .max, mark.time)
    }
}

/// The identity of an operation that was seen to execute, which is not retained.
///
/// An address alone is not enough: the next operation may have it.
package final class WorkingIdentity: Sendable {
    private struct Weak: @unchecked Sendable {
        weak var operation: Operation?
    }

    private let weak: Weak
    /// The operation's address.
    package let address: UInt

    package init(_ operation: Operation) {
        weak = Weak(operation: operation)
        address = operation.identity
    }

    /// The operation, if it exists.
    package var operation: Operation? { weak.operation }
}

extension OperationQueue {
    /// Returns what the queue holds.
    ///
    /// The lock of the queue is held for moments only. The identities are made with that lock held,
    /// so no reference that is taken here is the last one.
    ///
    /// - Parameter known: the identities of operations that were seen before, by address. Nil if
    ///   the caller does not need to know which operations execute: they are left out then.
    /// - Complexity: O(n).
    package final func pulse(_ known: [UInt: WorkingIdentity]?) -> QueuePulse {
        var pulse = QueuePulse()
        walk {
            pulse = QueuePulse()
        } _: { state, entry, place in
            guard let reference = entry.operation else {
                // Other blocks have ended, or were dropped.
                if state.ring.isReady(place, lane: PriorityLanes.normal) {
                    pulse.isReady(since: PhaseTimestamp(bits: state.records.markOfBlocks))
                }
                return
            }
            reference._withUnsafeGuaranteedRef { operation in
                let status = operation.status
                switch status.phase {
                case .created, .finished: break
                case .queued:
                    let isCounted = !status.has(.barrier)
                    pulse.isReady(since: isCounted ? operation.lastMark : PhaseTimestamp(bits: 0))
                case .waiting, .checkingReadiness:
                    if status.has(.onHold) { pulse.heldCount += 1 } else { pulse.waitingCount += 1 }
                case .starting, .executing:
                    guard let known else { return }
                    let before = known[operation.identity]
                    let isKnown = before.map { $0.operation === operation } ?? false
                    let identity = (isKnown ? before : nil) ?? WorkingIdentity(operation)
                    pulse.working.append(
                        QueuePulse.Working(
                            identity: identity, mark: operation.workMark(in: state)))
                    guard let run = operation as? BlockGraphRun else { return }
                    for node in run.runningNodes(in: state) {
                        // A node runs once.
                        pulse.working.append(
                            QueuePulse.Working(identity: identity, node: node, mark: 0))
                    }
                }
            }
        }
        return pulse
    }

    /// Explains some of the queue's operations.
    package final func explain(_ operations: [Operation]) -> OperationQueueExplanation {
        explanation(of: operations)
    }
}

extension Operation {
    /// A number that changes when the body begins anew, or is resumed. The operation executes, in a
    /// queue whose lock is held.
    fileprivate func workMark(in state: borrowing QueueState) -> UInt64 {
        if let run = self as? BlockGraphRun { return run.nodesMark(in: state) }
        var mark = existingExtras?.startTime.load(ordering: .relaxed) ?? 0
        if let progress = taskBody?.taskProgress { mark &+= progress.pieces &+ progress.start }
        if let group = self as? GroupOperation { mark &+= group.membersMark }
        return mark
    }

    /// What the thread does that runs the operation; nil if no worker runs it, or the system does
    /// not say.
    package final func threadActivity(in queue: OperationQueue) -> ThreadActivity? {
        if let taskBody {
            return taskBody.taskProgress?.thread.flatMap { WorkerPool.activity(ofThread: $0) }
        }
        let address = Unmanaged.passUnretained(self).toOpaque()
        let claim = queue.snapshot { state in
            state.slots.claims.first { $0.isRunning(address) }
                .map { Unmanaged.passUnretained($0).toOpaque() }
        }
        return WorkerPool.activity(ofWorkerWith: claim ?? address)
    }

    /// What messages call a node of the operation, which is a graph; nil if it is none.
    package final func label(ofNode node: UInt32) -> String? {
        (self as? BlockGraphRun)?.graph.label(of: node)
    }

    /// What the thread does that runs a node of the operation; nil if no worker runs it, or the
    /// system does not say.
    package final func threadActivity(
        ofNode node: UInt32, in queue: OperationQueue
    ) -> ThreadActivity? {
        guard let run = self as? BlockGraphRun else { return nil }
        let claim = queue.snapshot { state in
            run.claim(ofNode: node, in: state).map { Unmanaged.passUnretained($0).toOpaque() }
        }
        return claim.flatMap { WorkerPool.activity(ofWorkerWith: $0) }
    }

    /// Whether a node of the operation waits for operations in its body, and these go on.
    package final func waitsForOthersThatGoOn(inNode node: UInt32, limit: Duration) -> Bool {
        (self as? BlockGraphRun)?.operation(ofNode: node)?.waitsForOthersThatGoOn(limit: limit)
            ?? false
    }

    /// Whether the body is async and its task is suspended now.
    package final var isSuspendedInTask: Bool {
        guard let progress = taskBody?.taskProgress else { return false }
        return progress.pieces > 0 && progress.thread == nil
    }
}

extension GroupOperation {
    /// A number that changes when a member, or a member of a member, begins or ends.
    fileprivate var membersMark: UInt64 {
        var mark: UInt64 = 0
        var groups = [self]
        while let group = groups.popLast() {
            for member in group.members {
                mark = mark &* 31 &+ member.status.phase.rawValue
                if let inner = member as? GroupOperation { groups.append(inner) }
            }
        }
        return mark
    }
}

// MARK: What goes on by itself

extension OperationQueue {
    /// Whether what keeps the queue's operations from running may last for ever: it does not go
    /// away by itself, or by work that goes on.
    ///
    /// - Parameter limit: from which duration on an operation that executes counts.
    package final func isHeldBackForGood(beyond limit: Duration) -> Bool {
        Operation.areHeldBackForGood(QueueCensus(of: self).subjects, beyond: limit)
    }
}

extension Operation {
    /// Whether the operation, which executes, waits for other operations in its body, and these go
    /// on.
    package final func waitsForOthersThatGoOn(limit: Duration) -> Bool {
        let waits = Diagnosis(self).reasons.contains {
            if case .waitingInBody = $0 { true } else { false }
        }
        return waits && !Self.areHeldBackForGood([self], beyond: limit)
    }

    private static var mostVisited: Int { 10_000 }

    fileprivate static func areHeldBackForGood(
        _ operations: [Operation], beyond limit: Duration
    ) -> Bool {
        var walk = DepthFirstWalk(from: operations, id: ObjectIdentifier.init)
        var visited = 0
        while visited < mostVisited, let step = walk.next() {
            switch step {
            case .cycle: return true
            case .left: break
            case .entered(let operation):
                visited += 1
                let diagnosis = Diagnosis(operation)
                if diagnosis.reasons.contains(where: { $0.isLasting(beyond: limit) }) {
                    return true
                }
                walk.follow(diagnosis.next)
            }
        }
        return false
    }
}

extension OperationExplanation.Reason {
    /// Whether the reason is one that does not go away by itself, or by work that is going on.
    ///
    /// What waits for a point in time, for permits, or for work that begins or runs elsewhere, goes
    /// on later; the operation that runs there is looked at by itself.
    ///
    /// - Parameter limit: from which duration on an operation that executes counts.
    fileprivate func isLasting(beyond limit: Duration) -> Bool {
        switch self {
        case .cycle, .notStarted, .waitingForGroup, .cancelledButNotStarted, .finishedUnannounced,
            .isReadyOverride, .queueWidthIsZero, .mainReturned:
            true
        case .executing(let time, queue: _): time.map { $0 >= limit } ?? false
        case .waitingForMainThread, .waitingForUnderlyingQueue: true
        case .finished, .failed, .cancelled, .runningNodes, .waitingInBody, .cancellationRequested,
            .dependencies, .firstSuccess, .leaving, .delayed, .waitingToRetry, .waitingForNextRun,
            .waitingForPermits, .waitingForTokens, .waitingForKey, .queueSuspended, .slotsTaken,
            .waitingForTurn, .barrier, .strictOrder, .ready, .waitingForTestScheduler:
            false
        }
    }
}
