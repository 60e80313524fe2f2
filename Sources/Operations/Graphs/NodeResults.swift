import OperationsRuntime
import Synchronization

extension BlockGraph {
    /// What the nodes have returned in one run of a graph.
    ///
    /// The results of all nodes are kept until the last copy of this value is gone.
    public struct Results: Sendable {
        let all: NodeResults

        /// The result of a node.
        ///
        /// - Throws: the error of the node; ``OperationCancellation`` if the node did not run,
        ///   because an earlier node did not end as the condition of their edge requires.
        /// - Precondition: the node belongs to the graph that was run.
        public subscript<Output>(node: Node<Output>) -> Output {
            get throws { try all.result(of: node) }
        }
    }
}

/// How a node has ended that did not succeed.
enum NodeFailure: Sendable {
    case failed(any Error)
    /// - Parameter cause: the node whose failure is the reason; nil if there is none.
    case cancelled(because: CancellationReason, cause: UInt32?)
}

/// The results of the nodes of one run.
///
/// Unchecked: a node stores its result once, before the nodes after it can run and before the run
/// is over. Others read it only then.
final class NodeResults: @unchecked Sendable {
    private struct State {
        var failures: [UInt32: NodeFailure] = [:]
        /// The failed nodes in the order in which they failed.
        var failed: [UInt32] = []
        /// The failed nodes whose failure another node handles.
        var handled: Set<UInt32> = []
    }

    let graph: SealedGraph
    private let values: UnsafeMutablePointer<(any Sendable)?>
    private let state = Locked(State())

    init(_ graph: SealedGraph) {
        self.graph = graph
        values = .allocate(capacity: max(1, graph.slotCount))
        values.initialize(repeating: nil, count: graph.slotCount)
    }

    deinit {
        let slots = 0..<graph.slotCount
        ThreadContext.releasing {
            for slot in slots { values[slot] = nil }
        } later: {
            slots.compactMap { values[$0].take() }
        }
        values.deinitialize(count: graph.slotCount)
        values.deallocate()
    }

    // MARK: Results

    func set<Output: Sendable>(_ value: Output, in slot: UInt32) {
        if slot != noSlot { values[Int(slot)] = value }
    }

    func result<Output>(of node: BlockGraph.Node<Output>) throws -> Output {
        guard node.id.graph == graph.identity, node.index < graph.count else {
            misuse("a node of another graph was given to the results of \(graph.label)")
        }
        if node.slot == noSlot {
            if let failure = failure(of: node.index) { throw error(failure, of: node.index) }
            if let nothing = () as? Output { return nothing }
        } else if node.slot < graph.slotCount, let value = values[Int(node.slot)] as? Output {
            return value
        }
        guard let failure = failure(of: node.index) else {
            throw OperationResultError.noOutput(operation: graph.label(of: node.index))
        }
        throw error(failure, of: node.index)
    }

    private func error(_ failure: NodeFailure, of node: UInt32) -> any Error {
        switch failure {
        case .failed(let error): error
        case .cancelled(let reason, _):
            OperationCancellation(operation: graph.label(of: node), reason: reason)
        }
    }

    // MARK: Failures

    func failure(of node: UInt32) -> NodeFailure? { state.withLock { $0.failures[node] } }

    /// How a node has ended that did not succeed.
    func outcome(of node: UInt32) -> LifecycleState.Outcome {
        switch failure(of: node) {
        case .failed: .failed
        case .cancelled(_, cause: _?): .failedUpstream
        case .cancelled(_, nil), nil: .cancelled
        }
    }

    /// Records how a node has ended that did not succeed.
    func record(_ failure: NodeFailure, of node: UInt32) {
        state.withLock { state in
            state.failures[node] = failure
            if case .failed = failure { state.failed.append(node) }
        }
    }

    /// Records that a node runs only after a failure of this node, or of the one that it was
    /// cancelled for.
    func recordHandling(of node: UInt32) {
        state.withLock { state in
            switch state.failures[node] {
            case .failed: state.handled.insert(node)
            case .cancelled(_, let cause?): state.handled.insert(cause)
            case .cancelled(_, nil), nil: break
            }
        }
    }

    /// Returns why a node does not run that comes after this one, which has failed or was
    /// cancelled.
    func reason(after node: UInt32, on condition: DependencyCondition) -> NodeFailure {
        let label = graph.label(of: node)
        guard condition != .failure else {
            return .cancelled(because: .dependencyDidNotFail(operation: label), cause: nil)
        }
        let (reason, cause): (CancellationReason?, UInt32?)
        switch failure(of: node) {
        case .failed(let error):
            return .cancelled(
                because: .dependencyFailed(operation: label, error: error), cause: node)
        case .cancelled(let itsReason, let itsCause): (reason, cause) = (itsReason, itsCause)
        case nil: (reason, cause) = (nil, nil)
        }
        return .cancelled(
            because: .ofDependents(of: label, cancelledBecause: reason), cause: cause)
    }

    /// Throws the first error that no node handles.
    func conclude() throws -> BlockGraph.Results {
        let failure: (node: UInt32, failure: NodeFailure)? = state.withLock { state in
            guard let first = state.failed.first(where: { !state.handled.contains($0) }) else {
                // A node that was cancelled by itself, and not because of another one.
                let cancelled = state.failures.keys.sorted().first { node in
                    guard case .cancelled(let reason, nil) = state.failures[node] else {
                        return false
                    }
                    if case .dependencyDidNotFail = reason { return false }
                    return true
                }
                return cancelled.flatMap { node in state.failures[node].map { (node, $0) } }
            }
            return state.failures[first].map { (first, $0) }
        }
        if let failure { throw error(failure.failure, of: failure.node) }
        return BlockGraph.Results(all: self)
    }

    /// Forgets all results, because the graph is about to run again.
    func removeAll() {
        for slot in 0..<graph.slotCount { values[slot] = nil }
        state.replace(with: State())
    }
}
