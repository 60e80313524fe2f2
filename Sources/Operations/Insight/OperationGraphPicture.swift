/// What a queue's operations are doing and what they wait for, as a picture; made by
/// ``OperationQueue/graph``.
///
/// ```swift
/// print(queue.graph.mermaid)
/// ```
///
/// It has the unfinished operations of the queue and whatever they wait for, in any queue: 10,000 of them at
/// most. Each part was true while it was made; not all at one instant.
public struct OperationGraphPicture: Sendable {
    /// What an operation is doing.
    public enum State: Sendable, Equatable {
        /// It is in no queue, and was not started.
        case notStarted
        /// It waits for others, or for its own `isReady`.
        case waiting
        /// Nothing but its queue holds it back.
        case ready
        /// It runs; for at most so long, if that is known. See ``OperationExplanation/Reason``.
        case executing(atMost: Duration?)
        /// It is over.
        case finished
        /// It was cancelled, whether it has left yet or not.
        case cancelled
    }

    /// Why there is an arrow.
    public enum EdgeKind: Sendable, Equatable {
        /// One depends on the other, and on how that ends.
        case dependency(DependencyCondition)
        /// The code of one waits for the other.
        case wait
    }

    /// One operation.
    public struct Node: Sendable {
        /// Its name, or its class.
        public let label: String
        /// What it is doing.
        public let state: State
        /// The number of its queue in ``OperationGraphPicture/queues``; nil if it is in none any more, or yet.
        public let queue: Int?
        /// Whether it is a barrier block.
        public let isBarrier: Bool
        /// Whether it lies on the longest way to the end; see ``OperationGraphPicture/criticalPath``.
        public internal(set) var isCritical = false
    }

    /// Leads from what is waited for to what waits.
    public struct Edge: Sendable {
        /// The number of the node that is waited for.
        public let from: Int
        /// The number of the node that waits.
        public let to: Int
        /// Why.
        public let kind: EdgeKind
        /// Whether it is part of ``OperationGraphPicture/criticalPath``.
        public internal(set) var isCritical = false
    }

    /// What messages call the queues; the first is the one that was asked.
    public let queues: [String]
    /// The operations: first those of the queue, in their order.
    public private(set) var nodes: [Node]
    /// What waits for what.
    public private(set) var edges: [Edge]
    /// The longest chain of operations that have not finished, of which each waits for the one before it:
    /// their numbers in ``nodes``.
    ///
    /// All operations count the same: how long one that has not run will take is not known. If there are
    /// several it is one of them. Cycles are cut somewhere.
    public let criticalPath: [Int]
    /// How many operations were left out. More may lie behind these.
    public let omittedCount: Int

    /// - Parameter limit: how many operations.
    init(of queue: OperationQueue, limit: Int = GraphCollector.limit) {
        let survey = GraphCollector(of: queue, limit: limit)
        var queues = [queue]
        var numbers = [ObjectIdentifier(queue): 0]
        nodes = survey.found.map { found in
            if let queue = found.queue, numbers[ObjectIdentifier(queue)] == nil {
                numbers[ObjectIdentifier(queue)] = queues.count
                queues.append(queue)
            }
            return Node(
                label: found.operation.pictureName, state: found.state,
                queue: found.queue.flatMap { numbers[ObjectIdentifier($0)] },
                isBarrier: found.word.has(.barrier))
        }
        self.queues = queues.map(\.label)
        omittedCount = survey.omitted
        edges = survey.found.enumerated().flatMap { index, found in
            let conditions = found.dependencies.isEmpty ? [:] : found.operation.conditions
            let others: [(Operation, EdgeKind)] =
                found.dependencies.map {
                    ($0, .dependency(conditions[ObjectIdentifier($0)] ?? .always))
                } + found.waits.map { ($0, .wait) }
            return others.compactMap { other, kind in
                survey.place(of: other).map { Edge(from: $0, to: index, kind: kind) }
            }
        }
        let isOver = survey.found.map { $0.word.phase == .finished }
        criticalPath = Self.longestChain(edges, among: isOver.map { !$0 })
        markCriticalPath()
    }

    private mutating func markCriticalPath() {
        // One operation alone is no way.
        guard criticalPath.count > 1 else { return }
        var next: [Int: Int] = [:]
        for (from, to) in zip(criticalPath, criticalPath.dropFirst()) { next[from] = to }
        for node in criticalPath { nodes[node].isCritical = true }
        for index in edges.indices where next[edges[index].from] == edges[index].to {
            edges[index].isCritical = true
        }
    }

    /// The longest chain along edges between nodes that count, the first to end first.
    static func longestChain(_ edges: [Edge], among counts: [Bool]) -> [Int] {
        var before = [[Int]](repeating: [], count: counts.count)
        for edge in edges where counts[edge.from] && counts[edge.to] {
            before[edge.to].append(edge.from)
        }
        enum Visit { case none, open, done }
        var visits = [Visit](repeating: .none, count: counts.count)
        var lengths = [Int](repeating: 1, count: counts.count)
        var previous = [Int?](repeating: nil, count: counts.count)
        for start in counts.indices where counts[start] && visits[start] == .none {
            visits[start] = .open
            var trail = [(node: start, rest: before[start][...])]
            while let last = trail.indices.last {
                guard let other = trail[last].rest.popFirst() else {
                    let node = trail.removeLast().node
                    for other in before[node]
                    where visits[other] == .done && lengths[other] >= lengths[node] {
                        lengths[node] = lengths[other] + 1
                        previous[node] = other
                    }
                    visits[node] = .done
                    continue
                }
                guard visits[other] == .none else { continue }
                visits[other] = .open
                trail.append((other, before[other][...]))
            }
        }
        let candidates = counts.indices.filter { counts[$0] }
        guard let end = candidates.max(by: { lengths[$0] < lengths[$1] }) else { return [] }
        return Array(sequence(first: end) { previous[$0] }).reversed()
    }
}

extension OperationQueue {
    /// The queue's unfinished operations and what they wait for, to be drawn.
    ///
    /// - Complexity: O(n log n) for n operations and their dependencies.
    public final var graph: OperationGraphPicture { OperationGraphPicture(of: self) }
}

extension Operation {
    /// What pictures call it: its name, or its class.
    var pictureName: String {
        if let name, !name.isEmpty { return name }
        return status.has(.barrier) ? "barrier" : "\(type(of: self))"
    }
}

extension GraphCollector.Found {
    fileprivate var state: OperationGraphPicture.State {
        if word.isCancelled { return .cancelled }
        return switch word.phase {
        case .created: operation.isExecuting ? .executing(atMost: nil) : .notStarted
        case .waiting, .checkingReadiness: .waiting
        case .queued: .ready
        case .starting, .executing: .executing(atMost: operation.runningTime(in: queue))
        case .finished: .finished
        }
    }
}

extension OperationGraphPicture.State {
    /// What a picture says of it.
    var text: String {
        switch self {
        case .notStarted: "in no queue"
        case .waiting: "waiting"
        case .ready: "ready"
        case .executing(let time): time.map { "executing for \($0.text)" } ?? "executing"
        case .finished: "finished"
        case .cancelled: "cancelled"
        }
    }

    /// For the colour: the same for all that are doing the same.
    enum Kind: String, CaseIterable {
        case idle, waiting, ready, executing, finished, cancelled

        /// Chosen to be told apart by people who do not see all colours, together with the text.
        var colours: (fill: String, line: String) {
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
