import Synchronization

/// A graph of blocks: work with an order, for which no operation is made.
///
/// ```swift
/// var graph = BlockGraph("tiles")
/// let picture = graph.add("load") { try load(file) }
/// let tiles = (0..<16).map { number in
///     graph.add(after: picture) { picture in filter(picture, number) }
/// }
/// let result = graph.add(after: tiles) { tiles in join(tiles) }
///
/// let results = try await queue.run(graph)
/// show(try results[result])
/// ```
///
/// Each block is a *node*. A node runs once all nodes that it comes after have ended, on a worker
/// thread; its block may block, throw, and return a value, which later nodes receive. A graph is a
/// value, which can be copied, and run as often as you like, also several times at once: each run
/// has its own results.
///
/// To a queue, one run of a graph is one operation, which `queue.add(graph)` returns. The
/// operation has a priority, dependencies and a completion block, it can be cancelled and waited
/// for, and the queue counts it as one. Its nodes run under the queue's width and suspension, each
/// in a slot of its own. Once the graph has begun, its nodes go before operations of the same
/// priority that have not begun.
///
/// ## Blocks, graphs of blocks, and operations
///
/// A node takes 28 bytes and 12 for each edge, beside its closure, and tens of nanoseconds. An
/// ``Operation`` takes hundreds of bytes and nanoseconds, and can do more: its dependencies may
/// change while it waits, and may be in other queues. Use an ``OperationGraph`` for such
/// operations. A node that has a trait other than a name, or an async block, is made into an
/// operation when the graph begins. So are all nodes if the queue has an observer, a driver, an
/// order, a quality of service, or a scope.
public struct BlockGraph: Sendable, CustomStringConvertible {
    /// A node of a graph, by which later nodes name it, and by which its result is found.
    ///
    /// A node belongs to the graph that it was added to, and to copies of that graph.
    public struct Node<Output: Sendable>: Sendable, Hashable {
        @usableFromInline let id: NodeID
        /// The number of the node's result among the results of a run; ``noSlot`` for `Void`.
        let slot: UInt32

        var index: UInt32 { id.index }
    }

    /// A name for messages, and the name of the operations that run the graph.
    public var name: String? { didSet { willChange() } }
    private(set) var bodies: ContiguousArray<NodeBody> = []
    private(set) var edges: ContiguousArray<NodeEdge> = []
    private(set) var traits: [UInt32: [any OperationTraitOrName]] = [:]
    private(set) var slotCount: UInt32 = 0
    /// Whether an edge leads from a node to one that was added before, so that there may be a
    /// cycle.
    private(set) var hasBackwardEdges = false
    /// Tells the graph and its copies from others.
    let identity: UInt32
    /// The graph as it runs, once it has run in its present form.
    private var cache = SealedGraph.Cache()

    /// Makes a graph without nodes.
    public init(_ name: String? = nil) {
        self.name = name
        identity = lastIdentity.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// The number of nodes.
    public var count: Int { bodies.count }

    /// The name and the number of nodes.
    public var description: String { "\(label) (\(count) node\(count == 1 ? "" : "s"))" }

    /// The graph's name in messages.
    var label: String { name.map { "graph '\($0)'" } ?? "a graph without a name" }

    /// Reserves memory for nodes and edges that will be added.
    public mutating func reserveCapacity(nodes: Int, edges: Int = 0) {
        bodies.reserveCapacity(nodes)
        self.edges.reserveCapacity(edges)
    }

    /// Makes one node run after another one.
    ///
    /// `add(after:)` does the same for a new node. If the condition turns out not to be met, the
    /// node does not run, and counts as cancelled for the nodes after it.
    ///
    /// - Parameters:
    ///   - dependency: the node that runs first.
    ///   - dependent: the node that runs after it.
    ///   - condition: how the first node must end for the other one to run.
    /// - Precondition: both are nodes of this graph, and not the same one.
    @inlinable
    public mutating func connect<First, Second>(
        _ dependency: Node<First>, before dependent: Node<Second>,
        on condition: DependencyCondition = .success
    ) {
        // Without generic code, which the compiler would not specialize in another module.
        connect(dependency.id, before: dependent.id, on: condition)
    }

    /// Checks the graph.
    ///
    /// - Throws: ``OperationGraphError/cycle(_:)`` if nodes would wait for each other. Only
    ///   ``connect(_:before:on:)`` can make such an edge.
    /// - Complexity: O(nodes and edges), once for each change of the graph.
    public func validate() throws(OperationGraphError) { _ = try sealed() }

    // MARK: Building

    mutating func append<Output>(
        _ body: consuming NodeBody, _ traits: [any OperationTraitOrName], slot: UInt32 = noSlot
    ) -> Node<Output> {
        let index = UInt32(truncatingIfNeeded: bodies.count)
        guard index < NodeEdge.limit else { misuse("\(label) has too many nodes: at most 2^30") }
        willChange()
        bodies.append(body)
        if !traits.isEmpty { self.traits[index] = traits }
        return Node(id: NodeID(index: index, graph: identity), slot: slot)
    }

    mutating func newSlot<Output>(for type: Output.Type) -> UInt32 {
        if type == Void.self { return noSlot }
        defer { slotCount += 1 }
        return slotCount
    }

    @usableFromInline
    mutating func connect(
        _ dependency: NodeID, before dependent: NodeID, on condition: DependencyCondition
    ) {
        if dependency.index >= dependent.index {
            guard dependency != dependent else {
                misuse("a node of \(label) was told to wait for itself")
            }
            hasBackwardEdges = true
        }
        guard isMember(dependency), isMember(dependent) else {
            misuse(
                "a node of another graph was given to \(label): use the nodes that its add returns")
        }
        willChange()
        edges.append(NodeEdge(from: dependency.index, to: dependent.index, on: condition))
    }

    private func isMember(_ node: NodeID) -> Bool {
        node.graph == identity && node.index < bodies.count
    }

    /// Gives up what is known about the graph in its present form. Copies keep it.
    @inline(__always)
    private mutating func willChange() {
        // In this order: only a cache that no copy has any more stays unused.
        if !isKnownUniquelyReferenced(&cache) || cache.isUsed { cache = SealedGraph.Cache() }
    }

    // MARK: Running

    /// Returns the graph in the form in which it runs.
    func sealed() throws(OperationGraphError) -> SealedGraph { try cache.sealed(self) }
}

/// What tells a node from all others.
@usableFromInline
struct NodeID: Sendable, Hashable {
    /// The number of the node in its graph.
    let index: UInt32
    /// The identity of the graph and its copies.
    let graph: UInt32
}

/// The number of the result of a node that returns nothing.
let noSlot = UInt32.max

private let lastIdentity = Atomic<UInt32>(0)

/// The block of a node.
enum NodeBody: Sendable {
    typealias AsyncBody = nonisolated(nonsending) @Sendable (NodeResults) async throws -> Void

    case plain(@Sendable () throws -> Void)
    /// A block that reads results, or stores one.
    case typed(@Sendable (NodeResults) throws -> Void)
    case asynchronous(AsyncBody)

    var isAsynchronous: Bool { if case .asynchronous = self { true } else { false } }
}
