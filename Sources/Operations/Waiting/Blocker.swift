import OperationsRuntime

/// Something that keeps an operation from starting, or from ending.
///
/// `Operation.blockers(_:)` makes the only list of these. The explanation of an operation, the
/// search for waits that can never end, the snapshot of a graph and the report on stuck queues all
/// use that list, so they agree.
struct Blocker {
    enum Kind {
        // MARK: Other operations

        /// The operation depends on other operations.
        case dependencies
        /// The operation's body waits.
        case wait(BlockedWait.Target)
        /// The group of which the operation is a member has not begun.
        case group
        /// Other operations hold too many of the permits.
        case permits(PermitRequest.Need)
        /// Another operation precedes this one in the line for permits.
        case permitLine(PermitRequest.Need)
        case barrier(OperationQueue)
        /// A strict order requires another operation to start first.
        case strictOrder(OperationQueue)
        /// Other operations hold all slots.
        case slots(OperationQueue, width: Int)

        // MARK: Circumstances

        case hold(AttemptController.RemainingHold)
        /// All slots are taken, and the group of the operation takes turns with others.
        case turn(of: String, groups: Int)
        /// The operation is in no queue and was not started.
        case notStarted
        /// The operation waits for its own `isReady`, or is about to be ready.
        case readiness
        case suspension(OperationQueue)
        case zeroWidth(OperationQueue)
    }

    /// Which operations the blockers of an operation list.
    enum Scope {
        /// All. This takes O(n) for a queue in which the operation is ready and held back, or for
        /// which it waits, and makes operations for the blocks of that queue.
        case everything
        /// Of the operations that run, only those that contain a wait: only they may be stuck. The
        /// blocks of a queue that have no operation are left out, if that makes no difference to
        /// what is stuck.
        case waiting
        /// What other operations have to do before this one can go on, whether or not it is ready
        /// otherwise; no circumstances. Of the operations of a queue, only those that precede this
        /// one directly.
        case standing
    }

    let kind: Kind
    /// The operations that have to end, start or release something; none for a circumstance.
    let operations: [Operation]
    /// The weight of each operation.
    let weights: [Int]
    /// The total weight of operations that can never continue at which the blocker is never
    /// removed.
    let threshold: Int

    /// - Parameters:
    ///   - weights: The weight of each operation; 1 by default.
    ///   - threshold: By default, one operation that can never continue is enough.
    init(
        _ kind: Kind, _ operations: [Operation] = [], weights: [Int]? = nil,
        atLeast threshold: Int = 1
    ) {
        self.kind = kind
        self.operations = operations
        self.weights = weights ?? operations.map { _ in 1 }
        self.threshold = threshold
    }

    /// Creates what a wait inside an operation's body is.
    init(waitFor target: BlockedWait.Target, _ scope: Scope) {
        switch target {
        case .operation(let operation): self.init(.wait(target), [operation].unfinished)
        case .operations(let operations): self.init(.wait(target), operations.unfinished)
        case .queue(let queue, let end):
            let operations =
                scope == .everything
                ? queue.allOperations(includingBarriers: true)
                : queue.snapshot { state in
                    state.operations(includingBarriers: true).filter { $0.place < end }
                }
            self.init(.wait(target), operations)
        case .capacity(let queue, let limit):
            // With fewer operations the queue has capacity, or will have it when a reservation is
            // released.
            self.init(.wait(target), queue.allOperations(), atLeast: limit)
        }
    }
}

extension Operation {
    /// Returns what keeps the operation from starting, or from ending; nothing if the operation has
    /// finished, or can continue.
    ///
    /// This function calls no code of the user.
    ///
    /// - Parameter state: The state that the list is for.
    final func blockers(in state: LifecycleState, _ scope: Blocker.Scope) -> [Blocker] {
        if scope == .standing { return standingBlockers(in: state) }
        switch state.phase {
        case .finished: return []
        case .starting, .executing:
            let nodes = nodesAsOperations
            let targets =
                BlockedWait.targets(in: self) + (nodes.isEmpty ? [] : [.operations(nodes)])
            return targets.filter { !$0.isOver }.map { Blocker(waitFor: $0, scope) }
        case .created: return blockersOutsideQueue(state)
        case .waiting, .checkingReadiness, .queued:
            // Without a queue, the operation has finished meanwhile.
            guard let queue = retainedQueue() else { return [] }
            if state.isKeptByOverride { return [Blocker(.readiness)] }
            if state.isStopped, !(state.has(.cancelled) && needsSlotToLeave(state)) { return [] }
            if state.phase == .queued {
                return blockersBeforeReady(state) + blockers(in: queue, scope)
            }
            let isHeld = state.has(.onHold) || state.unfinishedDependencies > 0
            return blockersBeforeReady(state) + (isHeld ? [] : [Blocker(.readiness)])
        }
    }

    private func standingBlockers(in state: LifecycleState) -> [Blocker] {
        switch state.phase {
        case .finished: return []
        case .starting, .executing:
            return BlockedWait.targets(in: self).compactMap { target in
                switch target {
                case .operation, .operations: Blocker(waitFor: target, .standing)
                // These would be everything in a queue, for each such wait.
                case .queue, .capacity: nil
                }
            }
        case .created:
            if state.isCancelled { return [] }
            return blockersOutsideQueue(state).filter { $0.kind.isGroup }
                + unfinishedDependencies(state)
        case .waiting, .checkingReadiness, .queued:
            guard !state.isStopped || needsSlotToLeave(state), let queue = retainedQueue() else {
                return []
            }
            let (barrier, earlier) = queue.snapshot { state in
                (state.precedingByBarrier(self), state.lastStrictly(before: place))
            }
            return (state.isStopped ? [] : unfinishedDependencies(state))
                + (barrier.isEmpty ? [] : [Blocker(.barrier(queue), barrier)])
                + (earlier.map { [Blocker(.strictOrder(queue), [$0])] } ?? [])
        }
    }

    private func blockersOutsideQueue(_ state: LifecycleState) -> [Blocker] {
        if state.isCancelled { return [Blocker(.notStarted)] }
        if let group = existingExtras == nil ? nil : withExtras({ $0.group }),
            group.status.phase != .finished
        {
            return [Blocker(.group, [group])]
        }
        return [Blocker(.notStarted)] + unfinishedDependencies(state)
    }

    /// The unfinished dependencies, unless an override of `isReady` ignores them.
    private func unfinishedDependencies(_ state: LifecycleState) -> [Blocker] {
        guard state.unfinishedDependencies > 0, !state.has(.forced) else { return [] }
        let dependencies = listedDependencies.unfinished
        let threshold = needsOneDependency ? max(dependencies.count, 1) : 1
        return [Blocker(.dependencies, dependencies, atLeast: threshold)]
    }

    /// What an operation of a queue needs besides its queue.
    private func blockersBeforeReady(_ state: LifecycleState) -> [Blocker] {
        if state.isStopped { return [] }
        let dependencies = unfinishedDependencies(state)
        guard let controller = attemptController else { return dependencies }
        var blockers: [Blocker] = []
        if state.has(.onHold), let hold = controller.remainingHold {
            blockers.append(Blocker(.hold(hold)))
        }
        for need in controller.permitRequest?.needs ?? [] { blockers += need.blockers }
        return blockers + dependencies
    }

    /// What keeps a ready operation from starting.
    private func blockers(in queue: OperationQueue, _ scope: Blocker.Scope) -> [Blocker] {
        // Usually there is no blocker, and then the operations, which may be many, need not be
        // listed.
        guard queue.snapshot({ $0.mayHoldBackReadyOperations }) else { return [] }
        let isExplained = scope == .everything
        let candidates = isExplained ? [] : BlockedWait.operations(in: queue)
        var found: [Blocker] = []
        var (width, running) = (-1, 0)
        queue.eventOffering { state in
            guard status.phase == .queued else { return }
            (width, running) = (state.slots.width, state.slots.taken)
            if state.slots.isSuspended { found.append(Blocker(.suspension(queue))) }
            if width == 0 { found.append(Blocker(.zeroWidth(queue))) }
            let barrier = state.barrierPlace
            if barrier <= place {
                // The oldest operation comes first, also if it does not run.
                let oldest = state.operation(at: state.ring.head, isMade: isExplained)
                let others = candidates.filter { $0.place <= barrier }
                let before = ([oldest].compactMap { $0 } + others).filter { $0 !== self }
                if !before.isEmpty { found.append(Blocker(.barrier(queue), before)) }
            }
            if let first = state.firstStrictly(before: place),
                let before = state.operation(at: first, isMade: true)
            {
                found.append(Blocker(.strictOrder(queue), [before]))
            }
        }
        if width > 0, running >= width {
            // An operation that contained a wait before `running` was read, and still executes,
            // held its slot at that moment. For an explanation, a moment more or less does not
            // matter.
            let holders = (isExplained ? queue.operationsAtWork() : candidates)
                .filter { $0 !== self && $0.status.holdsOrUsesSlot }
            // A worker may hold a slot between two operations.
            if !holders.isEmpty {
                found.append(Blocker(.slots(queue, width: width), holders, atLeast: running))
            }
            if isExplained, let (label, groups) = queue.snapshot({ $0.turn(of: self) }) {
                found.append(Blocker(.turn(of: label, groups: groups)))
            }
        }
        return found
    }
}

extension Blocker.Kind {
    fileprivate var isGroup: Bool { if case .group = self { true } else { false } }
}

extension PermitRequest.Need {
    /// The operations that hold permits and wait, and the operation that is first in line.
    fileprivate var blockers: [Blocker] {
        guard let mostHeldByOthers else { return [Blocker(.permits(self))] }
        let requests = BlockedWait.allOperations.compactMap { operation in
            operation.attemptController?.permitRequest.map { (operation, $0) }
        }
        let held = PermitRequest.permits(of: budget, heldBy: requests.map(\.1))
        let holders = zip(requests.map(\.0), held).filter { $1 > 0 }
        let permits = Blocker(
            .permits(self), holders.map(\.0), weights: holders.map(\.1),
            atLeast: mostHeldByOthers + 1)
        return [permits] + (first.map { [Blocker(.permitLine(self), [$0])] } ?? [])
    }
}

extension [Operation] {
    fileprivate var unfinished: [Operation] { filter { $0.status.phase != .finished } }
}

extension LifecycleState {
    /// Whether the operation was cancelled and has not left the queue, because its override of
    /// `isReady` keeps it, or is being asked.
    var isKeptByOverride: Bool {
        has(.cancelled) && !has(.fastPath) && (phase == .waiting || phase == .checkingReadiness)
    }

    /// Whether the operation runs and counts towards its queue's width, either by itself or as the
    /// running operation of its claim. The run of a graph does not; its nodes do.
    fileprivate var holdsOrUsesSlot: Bool {
        isAtWork && (has(.holdsSlot) || (has(.fastPath) && !has(.claimedAlone)))
    }
}

extension QueueState {
    /// The label of a ready operation's group, and the number of groups that wait for a turn among
    /// operations of its priority; nil if there is no other.
    fileprivate func turn(of operation: Operation) -> (label: String, groups: Int)? {
        guard ready.order.sharesFairly, operation.status.phase == .queued,
            let share = ready.rescheduled.share(operation.place)
        else { return nil }
        let groups = ready.rescheduled.waitingGroupCount(operation.status.lane)
        return groups > 1 ? (share.group.label, groups) : nil
    }

    /// Returns the operation at a place; nil if there is none.
    ///
    /// - Parameter isMade: whether the operation of a block is made if there is none: of a pending
    ///   block, or of one that is running.
    fileprivate mutating func operation(at place: Int, isMade: Bool) -> Operation? {
        if isMade, ring[place]?.isBlock == true {
            if ring.isReady(place, lane: PriorityLanes.normal) {
                _ = materialize(place)
            } else {
                materializeRunning()
            }
        }
        return ring[place]?.operation?.takeUnretainedValue()
    }

    fileprivate var mayHoldBackReadyOperations: Bool {
        slots.isSuspended || ordersStarts || !slots.hasFree
    }
}
