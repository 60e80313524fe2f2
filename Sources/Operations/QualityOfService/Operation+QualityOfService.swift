import OperationsRuntime
import Synchronization

/// A promotion to be applied to an operation.
struct Promotion {
    let operation: Operation
    let rank: Int
    /// Whether the promotion follows from a wait, and not from the quality of another operation or
    /// of a queue.
    var isByWait = false
}

extension Operation {
    /// The importance of the operation, by all that is known: the highest of
    ///
    /// - ``qualityOfService``, if it was set; otherwise the quality that the operation inferred
    ///   when it was created, see below;
    /// - the quality of its queue, at the time of the addition and afterwards;
    /// - the effective qualities of operations that were added to the queue behind this operation,
    ///   or were promoted there;
    /// - the effective qualities of operations that depend on this operation;
    /// - the effective qualities of operations that wait for this operation, or for its queue, to
    ///   finish; `userInteractive` if the main thread waits.
    ///
    /// `default` never counts; it is the result if no other quality applies. A promotion is never
    /// withdrawn, but a promotion that follows from the operation's place in the queue is only
    /// reported until the operation has finished. The rules are those of Foundation's release notes
    /// for OS X 10.10, with one difference in the effect on threads: an operation that was promoted
    /// to `utility` or `background` only because of other operations runs as before. A promotion
    /// makes nothing slower.
    ///
    /// A new operation infers the quality in force of the operation whose body creates it. Outside
    /// of operations, a new operation infers `userInitiated` on the main thread, and nothing on
    /// other threads.
    ///
    /// In two places a quality is inferred only once the process has set a quality that changes a
    /// thread (`userInteractive`, `utility` or `background`) for any operation or queue: in an
    /// `async` body, and on the thread that serves the main actor, if this is not the first thread
    /// of the process. In a program with an `async` main function on Linux, it is another thread.
    /// An operation that was created there earlier has inferred nothing. It runs as `utility`, for
    /// example, if it is then added to a queue of that quality. Set ``qualityOfService`` where that
    /// matters.
    ///
    /// For the effect on threads see ``QualityOfService``. An operation that is promoted while it
    /// runs keeps the niceness of its thread. An async body passes the effective quality on
    /// as the priority of its task.
    public final var effectiveQualityOfService: QualityOfService {
        QualityOfService(rank: effectiveQualityRank)
    }

    var effectiveQualityRank: Int {
        let state = status
        guard state.phase != .created, let queue = retainedQueue() else {
            return state.quality.effectiveRank
        }
        return queue.snapshot { $0.quality(of: self) }.effectiveRank
    }

    /// Infers the quality of a new operation. Called by `init`, while no other code has a reference
    /// to the operation.
    @inline(__always)
    final func inferQualityOfService() {
        let rank = ThreadContext.inferredQualityRank
        if rank == 0 { return }
        lifecycle.initialize { $0.quality = QualityOfServiceState(inferred: rank) }
    }

    final func setQualityOfService(_ quality: QualityOfService) {
        QualityOfServiceUse.begins(rank: quality.rank)
        var rest: [Promotion] = []
        if let change = exchange({ $0.qualityEvent { $0.set(quality) } }) {
            if Urgency(rank: quality.rank) != .usual, change.after.phase != .created {
                retainedQueue()?.qualityWasSet(of: self, to: quality.rank)
            }
            passOn(change, into: &rest)
        }
        Self.perform(rest)
    }

    // MARK: Promotions

    /// Promotes operations, and the operations that these promote in turn.
    ///
    /// The method uses a loop, not recursion. The loop ends and is cheap, because each operation
    /// can be promoted only four times.
    static func perform(_ promotions: [Promotion]) {
        var rest = promotions
        while let next = rest.popLast() {
            let change = next.operation.exchange { state in
                guard state.phase != .finished else { return nil }
                return state.qualityEvent { $0.promote(to: next.rank) }
            }
            if let change {
                next.operation.passOn(change, byWait: next.isByWait, into: &rest)
            }
        }
    }

    /// Applies a change of the operation's quality to its dependencies, the operations ahead of it
    /// in the queue, and the task of its async body.
    private func passOn(
        _ change: Change, byWait isByWait: Bool = false, into rest: inout [Promotion]
    ) {
        let rank = change.after.quality.effectiveRank
        guard rank > change.before.quality.effectiveRank else { return }
        if change.after.unfinishedDependencies > 0 {
            promoteDependencies(to: rank, byWait: isByWait, into: &rest)
        }
        guard change.after.phase != .created, let queue = retainedQueue() else { return }
        rest += queue.promoteAhead(of: self, to: rank, byWait: isByWait)
        switch change.after.phase {
        case .starting, .executing: if queue.promotesTasks { taskBody?.promoteTask() }
        case .created, .waiting, .checkingReadiness, .queued, .finished: break
        }
    }

    private func promoteDependencies(
        to rank: Int, byWait isByWait: Bool = false, into rest: inout [Promotion]
    ) {
        for dependency in listedDependencies where dependency.status.phase != .finished {
            rest.append(Promotion(operation: dependency, rank: rank, isByWait: isByWait))
        }
    }

    /// Promotes a dependency after the edge from it was created, when the operation was in the
    /// given state.
    @inline(__always)
    func promote(dependency: Operation, at state: LifecycleState) {
        let isPlaced = state.phase != .created && QualityOfServiceUse.isInQueues
        let rank = isPlaced ? effectiveQualityRank : state.quality.effectiveRank
        guard rank > dependency.status.quality.effectiveRank else { return }
        Self.perform([Promotion(operation: dependency, rank: rank)])
    }

    /// Promotes the dependencies after the operation was added to a queue that has a quality.
    func promoteDependenciesAfterAdding() {
        var rest: [Promotion] = []
        promoteDependencies(to: status.quality.effectiveRank, into: &rest)
        Self.perform(rest)
    }

    // MARK: Waits

    /// Promotes the operation because the calling thread is about to wait for it.
    func promoteForWait() {
        let rank = Self.rankOfWaitingThread
        if rank > 0 { Self.perform([Promotion(operation: self, rank: rank, isByWait: true)]) }
    }

    func promote(byWaitOf operation: Operation) {
        let rank = operation.effectiveQualityRank
        if rank > 0 { Self.perform([Promotion(operation: self, rank: rank, isByWait: true)]) }
    }

    /// Performs a wait of the current task for the operation. If the priority of the task is raised
    /// meanwhile, the operation is promoted.
    nonisolated(nonsending) func promotingWhenRaised(
        _ wait: nonisolated(nonsending) () async -> Void
    ) async {
        // While no code uses qualities, all operations are equally urgent.
        guard QualityOfServiceUse.isInQueues || status.quality.isUnusual,
            #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
        else { return await wait() }
        await withTaskPriorityEscalationHandler {
            await wait()
        } onPriorityEscalated: { _, priority in
            guard let quality = QualityOfService(JobPriority(priority)) else { return }
            Self.perform([Promotion(operation: self, rank: quality.rank, isByWait: true)])
        }
    }

    /// The rank that a wait on the calling thread gives to the awaited operations.
    static var rankOfWaitingThread: Int {
        if MainThread.isCurrent { return QualityOfService.userInteractive.rank }
        guard let operation = ThreadContext.existing?.materializedOperation else { return 0 }
        return operation._withUnsafeGuaranteedRef { $0.effectiveQualityRank }
    }
}

extension Operation {
    /// The urgency of the operation's work items, according to its lifecycle state. For an
    /// operation that is in a queue and has not been claimed, the queue has more information
    /// (`QueueState.urgency(of:)`).
    final var urgency: Urgency { QualityOfServiceUse.isOn ? status.quality.urgency : .usual }
}

extension ThreadContext {
    /// The rank that an operation inherits if it is created here and now.
    static var inferredQualityRank: Int {
        @inline(__always) get {
            // This property counts no references, because every creation of an operation reads it.
            withCurrent { context in
                if let operation = context.operation {
                    return operation._withUnsafeGuaranteedRef { $0.status.quality.rankInForce }
                }
                if context.isFirst { return QualityOfService.userInitiated.rank }
                return QualityOfServiceUse.isOn
                    ? rankOutsideOfThreads : context.operationState.blockRank
            }
        }
    }

    /// The inherited rank inside the body of an asynchronous operation, or on a thread that serves
    /// the main queue.
    @inline(never)
    private static var rankOutsideOfThreads: Int {
        // This is also read while a queue's lock is held, so that no block can be named here.
        if let existing, existing.operationState.blockClaim != nil {
            return existing.operationState.blockRank
        }
        if let operation = TaskContext.operation { return operation.status.quality.rankInForce }
        return MainThread.isCurrent ? QualityOfService.userInitiated.rank : 0
    }
}
