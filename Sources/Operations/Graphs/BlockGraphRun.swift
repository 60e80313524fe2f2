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
/// Unchecked because its superclass is. Only `init` sets the variable.
final class BlockGraphRun: TypedOperation<BlockGraph.Results>, @unchecked Sendable {
    let graph: SealedGraph
    let results: NodeResults
    /// The mistake in the graph with which the run fails.
    let mistake: OperationGraphError?
    /// The nodes as blocks. Only `init` sets it.
    @exclusivity(unchecked)
    private var nodes: BlockNodes?
    fileprivate let operations = Locked(NodeOperations())
    /// The number of nodes that have not ended, if they run as operations.
    private let unfinishedOperations = Atomic<Int>(0)

    /// - Parameter error: the mistake in the graph; nil if there is none.
    init(_ graph: SealedGraph, failingWith error: OperationGraphError? = nil) {
        let results = NodeResults(graph)
        let body: @Sendable () throws -> BlockGraph.Results = {
            if let error { throw error }
            return try results.conclude()
        }
        (self.graph, self.results, mistake) = (graph, results, error)
        super.init(body: body)
        nodes = BlockNodes(of: self)
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

    // MARK: Beginning

    override func runBeyondClaim(_ claim: Claim, in queue: OperationQueue) -> Entry? {
        // As soon as the nodes are in the queue, other threads may run them all, and end the run.
        // The queue then gives its reference to the run up, which may be the last one.
        let reference = Unmanaged.passRetained(self)
        defer { Self.performOutside { reference.release() } }
        var beginning = QueueState.GraphBeginning.asOperations
        if let nodes, !graph.needsOperations {
            beginning = queue.begin(nodes, of: claim, with: nodes.prepare())
        } else {
            queue.detachRun(from: claim)
        }
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
            own.returnSlot(of: self)
        }
        runAsOperations(in: own, behind: self)
    }

    override func cancel() {
        super.cancel()
        guard isCancelled else { return }
        let operations = operations.withLock { Array($0.running.values) }
        if !operations.isEmpty {
            let reason = reasonForNodes
            ThreadContext.nesting { Operation.cancel(operations, because: reason) }
        }
        let isOver = retainedQueue()?.eventOffering { state in
            nodes.map { state.ends($0) } ?? false
        }
        if isOver == true { endOutside() }
    }

    fileprivate var reasonForNodes: CancellationReason {
        .message("\(label), which it is a node of, was cancelled: \(reasonAndFailures.reason)")
    }

    // MARK: Ending

    /// Ends the operation, whose nodes have all ended. The calling thread is inside no operation
    /// and holds no slot.
    func end() {
        // Nodes that run as operations may be cancelled together with the run, and all end before
        // the thread that cancels them comes to the run. The run was cancelled nevertheless; it did
        // not fail because of them.
        if status.has(.cancellationPending) { markCancelled() }
        if !status.has(.cancelled) { runBlock() }
        bodyReturned()
    }

    /// Ends the operation once the calling thread is inside no operation and holds no slot. A
    /// driver decides by itself when it does what.
    private func endOutside() {
        if retainedQueue()?.driver != nil { end() } else { Self.performOutside { self.end() } }
    }

    // MARK: Explaining

    /// The unfinished operations of the nodes, if the nodes run as operations.
    override var nodesAsOperations: [Operation] {
        guard unfinishedOperations.load(ordering: .acquiring) > 0 else { return [] }
        return operations.withLock { $0.running.sorted { $0.key < $1.key }.map(\.value) }
    }

    /// A number that changes when a node begins or ends.
    func nodesMark(in state: borrowing QueueState) -> UInt64 {
        guard let nodes else { return 0 }
        return state.mark(of: nodes) &+ UInt64(unfinishedOperations.load(ordering: .relaxed))
    }

    /// The nodes that run as blocks now.
    func runningNodes(in state: borrowing QueueState) -> [UInt32] {
        nodes.map { state.runningNodes(of: $0).map(\.node) } ?? []
    }

    /// The claim in which a node runs as a block; nil if it does not.
    func claim(ofNode node: UInt32, in state: borrowing QueueState) -> Claim? {
        nodes.flatMap { state.runningNodes(of: $0).first { $0.node == node }?.claim }
    }

    /// The operation that was made for a node which runs; nil if there is none.
    func operation(ofNode node: UInt32) -> Operation? {
        operations.withLock { $0.running[node] }
    }

    /// What the nodes do; nil if they do not run as blocks.
    func nodesReason(in queue: OperationQueue) -> OperationExplanation.Reason? {
        let found = queue.eventOffering { state in nodes.flatMap { state.nodes(of: $0) } }
        return found.map { nodes in
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
            for successor in graph.rows.successors(of: UInt32(node)) {
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

/// The nodes of a run, as blocks.
///
/// Unchecked because its superclass is.
private final class BlockNodes: NodeRun, @unchecked Sendable {
    private unowned(unsafe) let block: BlockGraphRun
    // These are the run's. Reading them there would retain and release the run for each node.
    private let graph: SealedGraph
    private let results: NodeResults

    init(of run: BlockGraphRun) {
        (block, graph, results) = (run, run.graph, run.results)
        super.init(of: run, run.graph.rows)
    }

    override func run(_ node: UInt32) -> Bool {
        let error = graph.bodies.withUnsafeBufferPointer { bodies in
            NodeBody.run(at: bodies.baseAddress.unsafelyUnwrapped + Int(node), results)
        }
        guard let error else { return true }
        results.record(.failed(error), of: node)
        return false
    }

    override func outcome(of node: UInt32) -> LifecycleState.Outcome {
        results.outcome(of: node)
    }

    override func recordRejection(
        of node: UInt32, after other: UInt32, on condition: DependencyCondition
    ) {
        results.record(results.reason(after: other, on: condition), of: node)
    }

    override func recordHandling(of node: UInt32) { results.recordHandling(of: node) }

    override func end() { block.end() }

    /// Makes the operation of a node that the calling thread runs, retained.
    override func makeOperation(of node: UInt32, in queue: OperationQueue) -> Unmanaged<Operation> {
        let operation = Operation()
        operation.useFastPath()
        operation.name = graph.name(of: node) ?? graph.label(of: node)
        _ = operation.exchange { $0.enqueued() }
        _ = operation.exchange { $0.begunOnFastPath() }
        // It counts as one that holds the slot of the claim, and leaves no queue.
        _ = operation.exchange { $0.detachedFromClaim(holdsSlot: true) }
        operation.queueReference.store(.passUnretained(queue), ordering: .releasing)
        return .passRetained(operation)
    }

    override func hasEntered(_ operation: Operation, of node: UInt32) {
        block.operations.withLock { $0.running[node] = operation }
        // A thread that cancels the run from here on finds the operation.
        if isCancelled { operation.cancel(because: block.reasonForNodes) }
    }

    /// Ends the operation that was made for a node, which has run. Returns how the node has ended.
    override func endOperation(
        _ operation: Operation, of node: UInt32, _ outcome: LifecycleState.Outcome
    ) -> LifecycleState.Outcome {
        block.operations.withLock { _ = $0.running.removeValue(forKey: node) }
        if outcome == .failed, case .failed(let error) = results.failure(of: node) {
            operation.fail(error)
            operation.failureRecord?.observe()
        }
        let wasCancelled = operation.status.has(.cancelled)
        operation.finish()
        guard outcome == .succeeded, wasCancelled else { return outcome }
        results.record(
            .cancelled(because: operation.cancellationReason ?? .requested, cause: nil), of: node)
        return .cancelled
    }
}

extension NodeBody {
    /// Runs a block. Returns the error that it throws.
    ///
    /// The bits of the block are copied, and no reference is counted: the graph keeps the block.
    @inline(__always)
    fileprivate static func run(
        at place: UnsafePointer<NodeBody>, _ results: NodeResults
    ) -> (any Error)? {
        withUnsafeTemporaryAllocation(of: NodeBody.self, capacity: 1) { buffer in
            let memory = buffer.baseAddress.unsafelyUnwrapped
            UnsafeMutableRawPointer(memory).copyMemory(
                from: place, byteCount: MemoryLayout<NodeBody>.size)
            let body = memory.move()
            let error = body.run(results)
            memory.initialize(to: body)
            return error
        }
    }

    /// Not inlined: inside its caller, the call would retain and release the closure.
    @inline(never)
    private func run(_ results: NodeResults) -> (any Error)? {
        do {
            switch self {
            case .plain(let body): try body()
            case .typed(let body): try body(results)
            // A graph with such a node runs as operations.
            case .asynchronous: break
            }
            return nil
        } catch {
            return error
        }
    }
}
