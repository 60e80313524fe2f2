public import Operations
import OperationsRuntime

/// A snapshot of a queue's operations and of those that they wait for; made by
/// ``Operations/OperationQueue/graph``.
///
/// ```swift
/// print(queue.graph.mermaid)
/// ```
///
/// The snapshot contains the unfinished operations of the queue and everything they wait for, in
/// any queue: at most 10,000 operations. Each part was true when it was read, but not all parts at
/// one instant.
public struct OperationGraphSnapshot: Sendable {
    /// What an operation is doing.
    public enum State: Sendable, Equatable {
        /// The operation is in no queue and has not been started.
        case notStarted
        /// The operation waits for other operations, or for its own `isReady`.
        case waiting
        /// Only its queue holds the operation back.
        case ready
        /// The operation runs, at most for the given time, if that is known. See
        /// `OperationExplanation.Reason`.
        case executing(atMost: Duration?)
        /// The operation has finished.
        case finished
        /// The operation was cancelled, whether or not it has left its queue.
        case cancelled
    }

    /// Why an arrow exists.
    public enum EdgeKind: Sendable, Equatable {
        /// One operation depends on the other, and on its outcome.
        case dependency(DependencyCondition)
        /// The code of one operation waits for the other.
        case wait
        /// One of the operations is a barrier of their queue, so the other one begins before it and
        /// has to end first, or comes after it. Operations on both sides of a barrier have no arrow
        /// of their own.
        case barrier
        /// The order of the queue is strict: one operation starts only after the other one, the one
        /// before it, has started.
        case order
    }

    /// One operation.
    public struct Node: Sendable {
        /// The operation's name, or its class.
        public let label: String
        /// What the operation is doing.
        public let state: State
        /// The number of the operation's queue in ``OperationGraphSnapshot/queues``; nil if it is
        /// in no queue.
        public let queue: Int?
        /// Whether the operation is a barrier block.
        public let isBarrier: Bool
        /// Whether the node is part of ``OperationGraphSnapshot/criticalPath``.
        public internal(set) var isCritical = false
    }

    /// An arrow from an operation to another one that waits for it.
    public struct Edge: Sendable {
        /// The number of the node that the other node waits for.
        public let from: Int
        /// The number of the node that waits.
        public let to: Int
        /// Why the node waits.
        public let kind: EdgeKind
        /// Whether the arrow is part of ``OperationGraphSnapshot/criticalPath``.
        public internal(set) var isCritical = false
    }

    /// The labels of the queues, as in messages; the first is that of the queue of which the
    /// snapshot was made.
    public let queues: [String]
    /// The operations: first those of the queue, in their order.
    public private(set) var nodes: [Node]
    /// The arrows between operations that wait and what they wait for.
    public private(set) var edges: [Edge]
    /// The longest chain of unfinished operations in which each waits for the one before it, as
    /// numbers in ``nodes``.
    ///
    /// All operations count the same: how long an operation that has not run will take is unknown.
    /// If several chains are longest, this is one of them. Cycles are cut at an arbitrary point.
    public let criticalPath: [Int]
    /// How many operations were left out. Further operations may lie behind these.
    public let omittedCount: Int

    /// - Parameter limit: the largest number of operations in the snapshot.
    init(of queue: OperationQueue, limit: Int = GraphCollector.limit) {
        let collector = GraphCollector(of: queue, limit: limit)
        var queues = [queue]
        var numbers = [ObjectIdentifier(queue): 0]
        nodes = collector.found.map { found in
            if let queue = found.queue, numbers[ObjectIdentifier(queue)] == nil {
                numbers[ObjectIdentifier(queue)] = queues.count
                queues.append(queue)
            }
            return Node(
                label: found.operation.displayName, state: found.shownState,
                queue: found.queue.flatMap { numbers[ObjectIdentifier($0)] },
                isBarrier: found.isBarrier)
        }
        self.queues = queues.map(\.label)
        omittedCount = collector.omitted
        edges = collector.found.enumerated().flatMap { index, found in
            let conditions = found.dependencies.isEmpty ? [:] : found.operation.conditions
            let others: [(Operation, EdgeKind)] =
                found.dependencies.map {
                    ($0, .dependency(conditions[ObjectIdentifier($0)] ?? .always))
                } + found.waits.map { ($0, .wait) } + found.barriers.map { ($0, .barrier) }
                + found.predecessors.map { ($0, .order) }
            return others.compactMap { other, kind in
                collector.place(of: other).map { Edge(from: $0, to: index, kind: kind) }
            }
        }
        let isOver = collector.found.map { $0.phase == .finished }
        // By an order, the one after need not wait for the end of the one before.
        criticalPath = Self.longestChain(
            edges.filter { $0.kind != .order }, among: isOver.map { !$0 })
        markCriticalPath()
    }

    private mutating func markCriticalPath() {
        // A single operation is not a path.
        guard criticalPath.count > 1 else { return }
        var next: [Int: Int] = [:]
        for (from, to) in zip(criticalPath, criticalPath.dropFirst()) { next[from] = to }
        for node in criticalPath { nodes[node].isCritical = true }
        for index in edges.indices
        where edges[index].kind != .order && next[edges[index].from] == edges[index].to {
            edges[index].isCritical = true
        }
    }

    /// Returns the longest chain along edges between nodes that count, beginning with the node that
    /// must finish first.
    static func longestChain(_ edges: [Edge], among counts: [Bool]) -> [Int] {
        var before = [[Int]](repeating: [], count: counts.count)
        for edge in edges where counts[edge.from] && counts[edge.to] {
            before[edge.to].append(edge.from)
        }
        let candidates = counts.indices.filter { counts[$0] }
        var lengths = [Int](repeating: 1, count: counts.count)
        var previous = [Int?](repeating: nil, count: counts.count)
        var walk = DepthFirstWalk(from: candidates, id: \.self)
        while let step = walk.next() {
            switch step {
            case .entered(let node): walk.follow(before[node])
            case .cycle: break
            case .left(let node):
                // An operation may wait for itself.
                for other in before[node]
                where other != node && walk.hasLeft(other) && lengths[other] >= lengths[node] {
                    lengths[node] = lengths[other] + 1
                    previous[node] = other
                }
            }
        }
        guard let end = candidates.max(by: { lengths[$0] < lengths[$1] }) else { return [] }
        return Array(sequence(first: end) { previous[$0] }).reversed()
    }
}

extension OperationQueue {
    /// A snapshot of the queue's unfinished operations and of those that they wait for.
    ///
    /// - Complexity: O(n log n) for n operations and their dependencies.
    public final var graph: OperationGraphSnapshot { OperationGraphSnapshot(of: self) }
}

extension GraphCollector.Found {
    fileprivate var shownState: OperationGraphSnapshot.State {
        if isCancelled { return .cancelled }
        return switch phase {
        case .created: operation.isExecuting ? .executing(atMost: nil) : .notStarted
        case .waiting, .checkingReadiness: .waiting
        case .queued: .ready
        case .starting, .executing: .executing(atMost: operation.runningTime(in: queue))
        case .finished: .finished
        }
    }
}

extension OperationGraphSnapshot.State {
    /// The state as text in a drawing.
    var text: String {
        switch self {
        case .notStarted: "in no queue"
        case .executing(let time?): "executing for \(time.text)"
        case .executing, .waiting, .ready, .finished, .cancelled: kind.rawValue
        }
    }

    /// The state as a color: states that mean the same activity share one.
    enum Kind: String, CaseIterable {
        case idle, waiting, ready, executing, finished, cancelled

        /// The colors, chosen so that color-blind people can tell them apart, together with the
        /// text.
        var colors: (fill: String, line: String) {
            switch self {
            case .idle: ("#ffffff", "#999999")
            case .waiting: ("#fff3c4", "#b38600")
            case .ready: ("#cfe8fc", "#1b6ca8")
            case .executing: ("#c8f0cf", "#1e7b34")
            case .finished: ("#e6e6e6", "#777777")
            case .cancelled: ("#f8d0d0", "#a33333")
            }
        }
    }

    var kind: Kind {
        switch self {
        case .notStarted: .idle
        case .waiting: .waiting
        case .ready: .ready
        case .executing: .executing
        case .finished: .finished
        case .cancelled: .cancelled
        }
    }
}
