import OperationsRuntime
import Synchronization

/// The nodes of one run of a graph of blocks, if they run as blocks. See GraphsOfBlocks.md.
///
/// This class knows how many nodes come before each, and who has a ready one. A subclass knows what
/// the nodes do, and how they fail.
///
/// Unchecked: `progress` is guarded by the lock of the queue; the words are atomics, and their
/// memory is allocated before other threads see the run.
class NodeRun: EntrySource, @unchecked Sendable {
    final let rows: NodeRows
    /// What the queue knows about the run.
    @exclusivity(unchecked)
    final var progress = GraphProgress()
    /// For each node, the number of nodes before it that have not ended, and ``rejected``; once it
    /// is ready, the next node of the list that it is in.
    @exclusivity(unchecked)
    private final var words: UnsafeMutablePointer<Atomic<UInt32>>?

    /// Set in the word of a node that does not run, because a condition is not met.
    private static var rejected: UInt32 { 1 << 31 }

    init(of operation: Operation, _ rows: NodeRows) {
        self.rows = rows
        super.init(of: operation)
    }

    deinit {
        if let words { Memory.deallocate(words) }
    }

    /// Counts the nodes before each node. Returns the nodes that come after none.
    final func prepare() -> NodeList {
        let words = Memory.allocate(of: Atomic<UInt32>.self, count: rows.count)
        self.words = words
        rows.copyCounts(to: UnsafeMutableRawPointer(words).assumingMemoryBound(to: UInt32.self))
        var roots = NodeList()
        for node in 0..<UInt32(rows.count) where !rows.hasDependencies(node) {
            append(node, to: &roots)
        }
        return roots
    }

    final var isCancelled: Bool {
        @inline(__always) get { operation.status.has(.cancelled) }
    }

    // MARK: What a subclass knows

    /// Runs the block of a node, and records the error if it throws one. Returns whether it has
    /// succeeded.
    func run(_ node: UInt32) -> Bool { true }

    /// How a node has ended that did not succeed.
    func outcome(of node: UInt32) -> LifecycleState.Outcome { .cancelled }

    /// Records that a node does not run, because another one has not ended as the condition says.
    func recordRejection(
        of node: UInt32, after other: UInt32, on condition: DependencyCondition
    ) {}

    /// Records that a node runs because of the failure of this one.
    func recordHandling(of node: UInt32) {}

    /// Makes the operation of a node that the calling thread runs, retained. The method does
    /// nothing that asks what the thread is inside: the thread enters the operation only after it.
    func makeOperation(of node: UInt32, in queue: OperationQueue) -> Unmanaged<Operation> {
        .passRetained(operation)
    }

    /// The calling thread is inside the operation that was made for a node. Cancels the operation
    /// with the run from here on, and at once if the run was cancelled before.
    func hasEntered(_ operation: Operation, of node: UInt32) {}

    /// Ends the operation that was made for a node, which has run. Returns how the node has ended.
    func endOperation(
        _ operation: Operation, of node: UInt32, _ outcome: LifecycleState.Outcome
    ) -> LifecycleState.Outcome { outcome }

    // MARK: Claims

    override final func fill(
        _ filling: inout Claim.Filling, in state: inout QueueState, cores: Int
    ) {
        let size = state.claimSize(of: progress.ready.count, cores: cores)
        for _ in 0..<min(size, progress.ready.count) {
            let node = progress.ready.first
            progress.ready.first = next(after: node)
            progress.ready.count -= 1
            filling.append(number: node)
        }
        if progress.ready.isEmpty { state.ready.sources.remove(self) }
        progress.claimCount += 1
    }

    override final func takeBack(from claim: Claim, in state: inout QueueState) {
        state.insertKept(by: claim, of: self)
        var rest = NodeList()
        claim.reclaimRest { entry, _ in
            if let node = entry.number { append(node, to: &rest) }
        }
        state.insert(rest, of: self)
    }

    override final func retired(_ claim: Claim, in state: inout QueueState) -> Bool {
        state.insertKept(by: claim, of: self)
        progress.unfinished -= claim.sourceWords.endedCount
        progress.claimCount -= 1
        return state.ends(self)
    }

    override final func run(_ claim: Claim, in queue: OperationQueue, context: ThreadContext) {
        queue.runNodes(of: claim, self, context: context)
    }

    override final func enterOperation(
        of claim: Claim, in queue: OperationQueue, context: ThreadContext
    ) {
        let node = claim.sourceWords.running.load(ordering: .relaxed)
        let operation = makeOperation(of: node, in: queue)
        context.enterEntry(operation)
        // This may cancel the operation, which asks what the thread is inside.
        operation._withUnsafeGuaranteedRef { hasEntered($0, of: node) }
    }

    /// Makes a claim keep nodes that have become ready.
    @inline(__always)
    final func keep(_ list: NodeList, in claim: Claim) {
        var first = claim.sourceWords.kept.load(ordering: .acquiring)
        while true {
            link(list.last, before: first)
            let (exchanged, original) = claim.sourceWords.kept.compareExchange(
                expected: first, desired: list.first, ordering: .acquiringAndReleasing)
            if exchanged { return }
            first = original
        }
    }

    /// Takes the ready nodes that a claim keeps. The queue's lock is held.
    final func takeKept(by claim: Claim) -> NodeList {
        let kept = NodeList.none
        guard claim.sourceWords.kept.load(ordering: .relaxed) != kept else { return NodeList() }
        let first = claim.sourceWords.kept.exchange(kept, ordering: .acquiringAndReleasing)
        return first == kept ? NodeList() : list(from: first)
    }

    // MARK: The list of ready nodes

    @inline(__always)
    private final func word(_ node: UInt32) -> UnsafeMutablePointer<Atomic<UInt32>> {
        words.unsafelyUnwrapped + Int(node)
    }

    /// Puts a ready node at the end of a list.
    @inline(__always)
    final func append(_ node: UInt32, to list: inout NodeList) {
        word(node).pointee.store(NodeList.none, ordering: .relaxed)
        if list.isEmpty {
            list.first = node
        } else {
            word(list.last).pointee.store(node, ordering: .relaxed)
        }
        list.last = node
        list.count &+= 1
    }

    /// Makes a node the one before another one in a list.
    @inline(__always)
    final func link(_ node: UInt32, before next: UInt32) {
        word(node).pointee.store(next, ordering: .relaxed)
    }

    /// Returns the node after another one in a list; ``NodeList/none`` at the end.
    @inline(__always)
    final func next(after node: UInt32) -> UInt32 { word(node).pointee.load(ordering: .relaxed) }

    /// Returns a list whose first node and links are known.
    final func list(from first: UInt32) -> NodeList {
        var list = NodeList(first: first, last: first, count: 1)
        while next(after: list.last) != NodeList.none {
            list.last = next(after: list.last)
            list.count &+= 1
        }
        return list
    }

    // MARK: Ends of nodes

    /// What the end of a node leads to.
    struct Following {
        /// The first node that has become ready.
        var first: UInt32?
        /// The other nodes that have become ready.
        var others = NodeList()
        /// The number of nodes that have ended without running, because a condition is not met.
        var skippedCount = 0
    }

    /// Lowers the counts of the nodes that come after a node, which has ended.
    @inline(__always)
    final func follow(_ node: UInt32, _ outcome: LifecycleState.Outcome) -> Following {
        var following = Following()
        guard outcome == .succeeded, !rows.hasHandlers else {
            followByConditions(node, outcome, &following)
            return following
        }
        for successor in rows.successors(of: node) {
            switch dependencyEnded(before: successor.index) {
            case .waits: break
            case .isReady: add(successor.index, to: &following)
            case .isRejected: skip(successor.index, &following)
            }
        }
        return following
    }

    @inline(__always)
    private final func add(_ node: UInt32, to following: inout Following) {
        if following.first == nil {
            following.first = node
        } else {
            append(node, to: &following.others)
        }
    }

    private enum Standing { case waits, isReady, isRejected }

    /// Lowers the count of a node by one.
    @inline(__always)
    private final func dependencyEnded(before node: UInt32) -> Standing {
        let word = word(node)
        // Nobody else lowers the count of a node that comes after one unfinished node, and nobody
        // else reads it.
        if word.pointee.load(ordering: .acquiring) == 1 { return .isReady }
        let left = word.pointee.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
        if left == 0 { return .isReady }
        return left == Self.rejected ? .isRejected : .waits
    }

    /// Does what ``follow(_:_:)`` does, for any outcome and any conditions.
    @inline(never)
    private final func followByConditions(
        _ node: UInt32, _ outcome: LifecycleState.Outcome, _ following: inout Following
    ) {
        var ended = [(node: node, outcome: outcome)]
        while let (node, outcome) = ended.popLast() {
            for successor in rows.successors(of: node) {
                let condition = successor.condition
                if !condition.isMet(by: outcome) {
                    reject(successor.index, after: node, on: condition)
                } else if condition == .failure {
                    recordHandling(of: node)
                }
                switch dependencyEnded(before: successor.index) {
                case .waits: break
                case .isReady: add(successor.index, to: &following)
                case .isRejected:
                    following.skippedCount += 1
                    ended.append((successor.index, self.outcome(of: successor.index)))
                }
            }
        }
    }

    @inline(never)
    private final func skip(_ node: UInt32, _ following: inout Following) {
        following.skippedCount += 1
        followByConditions(node, outcome(of: node), &following)
    }

    /// Keeps a node from running, because a condition is not met. The node ends once all nodes
    /// before it have.
    private final func reject(
        _ node: UInt32, after other: UInt32, on condition: DependencyCondition
    ) {
        let before = word(node).pointee.bitwiseOr(
            Self.rejected, ordering: .acquiringAndReleasing
        ).oldValue
        // The thread that lowers the count to zero finds the record made here.
        guard before & Self.rejected == 0 else { return }
        recordRejection(of: node, after: other, on: condition)
    }
}
