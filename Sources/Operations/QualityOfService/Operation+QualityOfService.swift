import Synchronization

/// That an operation is to be promoted.
struct Promotion {
    let operation: Operation
    let rank: Int
}

extension Operation {
    /// How much the work matters by all that is known: the highest of
    ///
    /// - ``qualityOfService``, if it was set; otherwise what was in force where the operation was made: the
    ///   effective quality of the operation that made it, or `userInitiated` on the main thread;
    /// - the quality of its queue, at the time it was added and afterwards;
    /// - the effective qualities of operations that were added to the queue behind it, or were promoted
    ///   there;
    /// - those of operations that depend on it;
    /// - those of operations that wait for it, or for its queue, to finish; if the main thread waits,
    ///   `userInteractive`.
    ///
    /// `default` never counts; it is the answer if nothing else is left. A promotion is never taken back, but
    /// what came from its place in the queue is only known here until the operation has finished. The rules
    /// are those of Foundation's release notes for OS X 10.10. There is one difference in what threads
    /// do: an operation that only others have promoted, to `utility` or `background`, runs as before;
    /// a promotion makes nothing slower.
    ///
    /// For what this does to threads see ``QualityOfService``. The main queue leaves its thread as it
    /// is. An ``AsyncOperation`` passes it on as the priority of its task.
    public final var effectiveQualityOfService: QualityOfService {
        QualityOfService(rank: effectiveQualityRank)
    }

    var effectiveQualityRank: Int {
        let word = status
        guard word.phase != .created, let queue = retainedQueue() else {
            return word.quality.effectiveRank
        }
        return queue.snapshot { $0.quality(of: self) }.effectiveRank
    }

    /// For `init`: nobody else knows the operation.
    @inline(__always)
    final func inferQualityOfService() {
        let rank = ThreadContext.inferredQualityRank
        if rank == 0 { return }
        var word = LifecycleState()
        word.quality = QualityOfServiceState(inferred: rank)
        self.word.store(word.bits, ordering: .relaxed)
    }

    final func setQualityOfService(_ quality: QualityOfService) {
        QualityOfServiceUse.begins(rank: quality.rank)
        var rest: [Promotion] = []
        if let change = update({ $0.qualityEvent { $0.set(quality) } }) {
            passOn(change, into: &rest)
        }
        Self.perform(rest)
    }

    // MARK: Promotions

    /// Promotes operations, and what they promote in turn.
    ///
    /// In a loop, not by recursion. It ends, and costs little: each operation can be promoted four times.
    static func perform(_ promotions: [Promotion]) {
        var rest = promotions
        while let next = rest.popLast() {
            let change = next.operation.update { word in
                word.phase != .finished && word.qualityEvent { $0.promote(to: next.rank) }
            }
            if let change { next.operation.passOn(change, into: &rest) }
        }
    }

    /// A change of the operation's quality concerns its thread, its dependencies and those before it.
    private func passOn(_ change: Change, into rest: inout [Promotion]) {
        let rank = change.after.quality.effectiveRank
        guard rank > change.before.quality.effectiveRank else { return }
        if change.after.unfinishedDependencies > 0 { promoteDependencies(to: rank, into: &rest) }
        guard change.after.phase != .created, let queue = retainedQueue() else { return }
        rest += queue.promoteAhead(of: self, to: rank)
        switch change.after.phase {
        case .starting, .executing: promoteThread(in: queue)
        case .created, .waiting, .checkingReadiness, .queued, .finished: break
        }
    }

    private func promoteDependencies(to rank: Int, into rest: inout [Promotion]) {
        for dependency in listedDependencies where dependency.status.phase != .finished {
            rest.append(Promotion(operation: dependency, rank: rank))
        }
    }

    private func promoteThread(in queue: OperationQueue) {
        guard QualityOfServiceUse.isOn, queue.changesThreads else { return }
        guard runsOnItsThread else { return promoteTask() }
        let niceness = niceness(usual: ThreadNiceness.usual.load(ordering: .relaxed))
        if status.has(.fastPath), !status.has(.claimedAlone) {
            queue.renice(for: self, to: niceness)
        } else {
            WorkerPool.shared.renice(for: self, to: niceness)
        }
    }

    /// The edge from `dependency` was made, when the operation had `word`.
    @inline(__always)
    func promote(dependency: Operation, at word: LifecycleState) {
        let isPlaced = word.phase != .created && QualityOfServiceUse.isOn
        let rank = isPlaced ? effectiveQualityRank : word.quality.effectiveRank
        guard rank > dependency.status.quality.effectiveRank else { return }
        Self.perform([Promotion(operation: dependency, rank: rank)])
    }

    /// It was added to a queue that has a quality of its own.
    func promoteDependenciesAfterAdding() {
        var rest: [Promotion] = []
        promoteDependencies(to: status.quality.effectiveRank, into: &rest)
        Self.perform(rest)
    }

    // MARK: Waits

    /// The calling thread is about to wait for it.
    func promoteForWait() {
        let rank = Self.rankOfWaitingThread
        if rank > 0 { Self.perform([Promotion(operation: self, rank: rank)]) }
    }

    func promote(byWaitOf operation: Operation) {
        let rank = operation.effectiveQualityRank
        if rank > 0 { Self.perform([Promotion(operation: self, rank: rank)]) }
    }

    /// The rank that a wait on the calling thread gives to what is waited for.
    static var rankOfWaitingThread: Int {
        if MainThread.isCurrent { return QualityOfService.userInteractive.rank }
        guard let operation = ThreadContext.existing?.operation else { return 0 }
        return operation._withUnsafeGuaranteedRef { $0.effectiveQualityRank }
    }
}
