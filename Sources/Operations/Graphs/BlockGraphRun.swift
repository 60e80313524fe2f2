import OperationsRuntime
import Synchronization

/// The operations of nodes.
private struct NodeOperations {
    /// The operations that have not ended.
    var running: [UInt32: Operation] = [:]
    /// The nodes that have failed as operations.
    var failed: [ObjectIdentifier: UInt32] = [:]
}

/// One run of a graph of blocks, as an operation. See GraphsOfBlocks.md.
///
/// The operation begins in a claim, like any other. Its nodes then run in claims of their own, or
/// as operations. The operation ends when no node is left.
///
/// Unchecked because its superclass is. `progress` is guarded by the lock of the queue. The words
/// are atomics; their memory is allocated when the run begins.
final class BlockGraphRun: TypedOperation<BlockGraph.Results>, @unchecked Sendable {
    let graph: SealedGraph
    let results: NodeResults
    /// The mistake in the graph with which the run fails.
    let mistake: OperationGraphError?
    /// What the queue knows about the run, if its nodes run as blocks.
    @exclusivity(unchecked)
    var progress = GraphProgress()
    /// For each node, the number of nodes before it that have not ended, and ``rejected``; once it
    /// is ready, the next node of the list that it is in.
    @exclusivity(unchecked)
    private var words: UnsafeMutablePointer<Atomic<UInt32>>?
    private let operations = Locked(NodeOperations())
    /// The number of nodes that have not ended, if they run as operations.
    private let unfinishedOperations = Atomic<Int>(0)

    /// Set in the word of a node that does not run, because a condition is not met.
    private static var rejected: UInt32 { 1 << 31 }

    /// - Parameter error: the mistake in the graph; nil if there is none.
    init(_ graph: SealedGraph, failingWith error: OperationGraphError? = nil) {
        let results = NodeResults(graph)
        let body: @Sendable () throws -> BlockGraph.Results = {
            if let error { throw error }
            return try results.conclude()
        }
        (self.graph, self.results, mistake) = (graph, results, error)
        super.init(body: body)
        if let name = graph.name { self.name = name }
        useFastPath(.asynchronous)
    }

    /// Makes a run that fails if the graph has a mistake.
    convenience init(unchecked graph: BlockGraph) {
        do throws(OperationGraphError) {
            self.init(try graph.sealed())
        } catch {
            self.init(SealedGraph.empty(like: graph), failingWith: error)
        }
    }

    deinit {
        if let words { Memory.deallocate(words) }
    }

    // MARK: Beginning

    override func runBeyondClaim(_ claim: Claim, in queue: OperationQueue) -> Entry? {
        let roots = graph.needsOperations ? NodeList() : prepare()
        let beginning = queue.begin(self, of: claim, with: roots)
        if queue.isObserved { queue.recordStart(of: self) }
        switch beginning {
        case .asBlocks: break
        case .asOperations: runAsOperations(in: queue, behind: self)
        case .withoutNodes: endOutside()
        }
        return nil
    }

    /// A queue calls this method if it claims the operation by itself. So may a program, and then
    /// the nodes run on a queue of their own.
    override func start() {
        guard beginExecuting() else { return }
        guard let own = retainedQueue() else {
            return runAsOperations(in: OperationQueue(), behind: nil)
        }
        // The nodes need the slot.
        if let change = exchange({ $0.slotGivenUp() }), change.actions.contains(.returnSlot) {
            own.returnSlot()
        }
        runAsOperations(in: own, behind: self)
    }

    /// Counts the nodes before each node. Returns the nodes that come after none.
    private func prepare() -> NodeList {
        let words = Memory.allocate(of: Atomic<UInt32>.self, count: graph.count)
        self.words = words
        graph.copyCounts(to: UnsafeMutableRawPointer(words).assumingMemoryBound(to: UInt32.self))
        var roots = NodeList()
        for node in 0..<UInt32(graph.count) where !graph.hasDependencies(node) {
            append(node, to: &roots)
        }
        return roots
    }

    override func cancel() {
        super.cancel()
        guard isCancelled else { return }
        let operations = operations.withLock { Array($0.running.values) }
        if !operations.isEmpty {
            let reason = reasonForNodes
            ThreadContext.nesting { Operation.cancel(operations, because: reason) }
        }
        if retainedQueue()?.cancelNodes(of: self) == true { endOutside() }
    }

    private var reasonForNodes: CancellationReason {
        .message("\(label), which it is a node of, was cancelled: \(reasonAndFailures.reason)")
    }

    // MARK: Ending

    /// Ends the operation, whose nodes have all ended. The calling thread is inside no operation
    /// and holds no slot.
    func end() {
        if !status.has(.cancelled) { runBlock() }
        bodyReturned()
    }

    /// Ends the operation once the calling thread is inside no operation and holds no slot. A
    /// driver decides by itself when it does what.
    private func endOutside() {
        if retainedQueue()?.driver != nil { end() } else { Self.performOutside { self.end() } }
    }

    // MARK: The list of ready nodes

    @inline(__always)
    private func word(_ node: UInt32) -> UnsafeMutablePointer<Atomic<UInt32>> {
        words.unsafelyUnwrapped + Int(node)
    }

    /// Puts a ready node at the end of a list.
    @inline(__always)
    func append(_ node: UInt32, to list: inout NodeList) {
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
    func link(_ node: UInt32, before next: UInt32) {
        word(node).pointee.store(next, ordering: .relaxed)
    }

    /// Returns the node after another one in a list; ``NodeList/none`` at the end.
    @inline(__always)
    func next(after node: UInt32) -> UInt32 { word(node).pointee.load(ordering: .relaxed) }

    /// Returns a list whose first node and links are known.
    func list(from first: UInt32) -> NodeList {
        var list = NodeList(first: first, last: first, count: 1)
        while next(after: list.last) != NodeList.none {
            list.last = next(after: list.last)
            list.count &+= 1
        }
        return list
    }

    // MARK: Nodes as blocks

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
    func follow(_ node: UInt32, _ outcome: LifecycleState.Outcome) -> Following {
        var following = Following()
        guard outcome == .succeeded, !graph.hasHandlers else {
            followByConditions(node, outcome, &following)
            return following
        }
        for successor in graph.successors(of: node) {
            switch dependencyEnded(before: successor.index) {
            case .waits: break
            case .isReady: add(successor.index, to: &following)
            case .isRejected: skip(successor.index, &following)
            }
        }
        return following
    }

    @inline(__always)
    private func add(_ node: UInt32, to following: inout Following) {
        if following.first == nil {
            following.first = node
        } else {
            append(node, to: &following.others)
        }
    }

    private enum Standing { case waits, isReady, isRejected }

    /// Lowers the count of a node by one.
    @inline(__always)
    private func dependencyEnded(before node: UInt32) -> Standing {
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
    private func followByConditions(
        _ node: UInt32, _ outcome: LifecycleState.Outcome, _ following: inout Following
    ) {
        var ended = [(node: node, outcome: outcome)]
        while let (node, outcome) = ended.popLast() {
            for successor in graph.successors(of: node) {
                let condition = successor.condition
                if !condition.isMet(by: outcome) {
                    reject(successor.index, after: node, on: condition)
                } else if condition == .failure {
                    results.recordHandling(of: node)
                }
                switch dependencyEnded(before: successor.index) {
                case .waits: break
                case .isReady: add(successor.index, to: &following)
                case .isRejected:
                    following.skippedCount += 1
                    ended.append((successor.index, results.outcome(of: successor.index)))
                }
            }
        }
    }

    @inline(never)
    private func skip(_ node: UInt32, _ following: inout Following) {
        following.skippedCount += 1
        followByConditions(node, results.outcome(of: node), &following)
    }

    /// Keeps a node from running, because a condition is not met. The node ends once all nodes
    /// before it have.
    private func reject(_ node: UInt32, after other: UInt32, on condition: DependencyCondition) {
        let before = word(node).pointee.bitwiseOr(
            Self.rejected, ordering: .acquiringAndReleasing
        ).oldValue
        // Whoever lowers the count to zero comes after this record.
        guard before & Self.rejected == 0 else { return }
        results.record(results.reason(after: other, on: condition), of: node)
    }

    // MARK: Operations of nodes that run as blocks

    /// Makes the operation of a node that the calling thread runs, retained.
    func makeOperation(of node: UInt32, in queue: OperationQueue) -> Unmanaged<Operation> {
        let operation = Operation()
        operation.useFastPath()
        operation.name = graph.name(of: node) ?? graph.label(of: node)
        _ = operation.exchange { $0.enqueued() }
        _ = operation.exchange { $0.begunOnFastPath() }
        // It counts as one that holds the slot of the claim, and leaves no queue.
        _ = operation.exchange { $0.detachedFromBatch(holdsSlot: true) }
        operation.queueReference.store(.passUnretained(queue), ordering: .releasing)
        operations.withLock { $0.running[node] = operation }
        // A thread that cancels the run from here on finds the operation.
        if status.has(.cancelled) { operation.cancel(because: reasonForNodes) }
        return .passRetained(operation)
    }

    /// Ends the operation that was made for a node, which has run. Returns how the node has ended.
    func endOperation(
        _ operation: Operation, of node: UInt32, _ outcome: LifecycleState.Outcome
    ) -> LifecycleState.Outcome {
        operations.withLock { _ = $0.running.removeValue(forKey: node) }
        if outcome == .failed, case .failed(let error) = results.failure(of: node) {
            operation.fail(error)
            operation.failureRecord?.observe()
        }
        let isCancelled = operation.status.has(.cancelled)
        operation.finish()
        guard outcome == .succeeded, isCancelled else { return outcome }
        results.record(
            .cancelled(because: operation.cancellationReason ?? .requested, cause: nil), of: node)
        return .cancelled
    }

    // MARK: Explaining

    /// The unfinished operations of the nodes, if the nodes run as operations.
    var nodesAsOperations: [Operation] {
        guard unfinishedOperations.load(ordering: .acquiring) > 0 else { return [] }
        return operations.withLock { $0.running.sorted { $0.key < $1.key }.map(\.value) }
    }

    /// What the nodes do; nil if they do not run as blocks.
    func nodesReason(in queue: OperationQueue) -> OperationExplanation.Reason? {
        let nodes = queue.eventOffering { $0.nodes(of: self) }
        return nodes.map { nodes in
            .runningNodes(
                ended: graph.count - nodes.unfinished, of: graph.count,
                running: nodes.running.sorted().map { graph.label(of: $0) }, ready: nodes.ready,
                queue: queue.label)
        }
    }

    // MARK: Nodes as operations

    /// Makes an operation of each node, and adds them to a queue, with the turn of the run. So a
    /// barrier that was added after the run waits for the nodes, and does not hold them back.
    private func runAsOperations(in queue: OperationQueue, behind leader: Operation?) {
        results.removeAll()
        guard graph.count > 0 else { return endOutside() }
        let made = (0..<UInt32(graph.count)).map { makeOperation(of: $0, for: queue) }
        for (node, operation) in made.enumerated() {
            for successor in graph.successors(of: UInt32(node)) {
                _ = made[Int(successor.index)].connect(
                    to: operation, on: successor.condition, isOfGraph: true)
            }
        }
        unfinishedOperations.store(made.count, ordering: .relaxed)
        operations.withLock { operations in
            for (node, operation) in made.enumerated() {
                operations.running[UInt32(node)] = operation
            }
        }
        for (node, operation) in made.enumerated() {
            let isWaiting = operation.addWaiter(
                .handler { [unowned operation] in self.ended(operation, of: UInt32(node)) })
            if !isWaiting { ended(operation, of: UInt32(node)) }
        }
        queue.add(made, behind: leader)
        if isCancelled { Operation.cancel(made, because: reasonForNodes) }
    }

    private func makeOperation(
        of node: UInt32, for queue: OperationQueue
    ) -> TypedOperation<Void> {
        let results = results
        let operation: TypedOperation<Void>
        switch graph.bodies[Int(node)] {
        case .plain(let body): operation = queue.made(body)
        case .typed(let body): operation = queue.made { try body(results) }
        case .asynchronous(let body): operation = TypedOperation { try await body(results) }
        }
        operation.queuePriority = queuePriority
        operation.name = graph.label(of: node)
        if let traits = graph.traits[node] { operation.apply(traits) }
        return operation
    }

    /// Records how a node has ended that ran as an operation.
    private func ended(_ operation: Operation, of node: UInt32) {
        switch operation.status.outcome {
        case .succeeded: break
        case .failed:
            let failure = operation.failureRecord
            failure?.observe()
            if let failure {
                operations.withLock { $0.failed[ObjectIdentifier(failure)] = node }
                results.record(.failed(failure.error), of: node)
            }
            if operation.isFailureHandled { results.recordHandling(of: node) }
        case .failedUpstream, .cancelled:
            let (reason, failures) = operation.reasonAndFailures
            let cause = failures.first.flatMap { failure in
                operations.withLock { $0.failed[ObjectIdentifier(failure)] }
            }
            results.record(.cancelled(because: reason, cause: cause), of: node)
        }
        operations.withLock { _ = $0.running.removeValue(forKey: node) }
        let left = unfinishedOperations.wrappingSubtract(
            1, ordering: .acquiringAndReleasing
        ).newValue
        if left == 0 { endOutside() }
    }
}
