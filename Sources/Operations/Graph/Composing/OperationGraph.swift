/// Operations and the order between them, as a value: checked as a whole before anything runs.
///
/// ```swift
/// let graph = OperationGraph("publish") {
///     InOrder {
///         build
///         Concurrently { test; documentation }
///         sign
///     }
///     notes
/// }
/// try await queue.run(graph)
/// ```
///
/// What stands in the graph itself is in no order but for ``InOrder`` blocks, what ``connect(_:before:on:)``
/// says, and the dependencies that the operations have anyway. A graph connects nothing and starts nothing by
/// itself: `queue.run` and `queue.add` look at it first (``validate()``), and if something is wrong no
/// operation has been touched.
///
/// Each operation runs once, so a graph can be run once.
public struct OperationGraph: Sendable, CustomStringConvertible {
    /// A name for people.
    public var name: String?
    private(set) var part: OperationGraphPart

    /// Makes a graph of what a block lists.
    public init(
        _ name: String? = nil,
        @OperationGraphBuilder _ content: () throws -> [OperationGraphPart]
    ) rethrows {
        self.name = name
        part = OperationGraphPart(concurrent: try content())
    }

    /// Makes a graph of operations, in no order but for the dependencies that they have.
    public init(_ name: String? = nil, _ operations: [Operation] = []) {
        self.name = name
        part = OperationGraphPart(concurrent: operations.map { OperationGraphPart($0) })
    }

    /// The members, in the order in which they were given.
    public var operations: [Operation] { part.operations }

    /// Adds members.
    public mutating func add(_ operations: Operation...) { add(operations) }

    /// Adds members.
    public mutating func add(_ operations: [Operation]) {
        part = OperationGraphPart(concurrent: [part] + operations.map { OperationGraphPart($0) })
    }

    /// Lets one operation run before another one; those of the two that are no members become such.
    ///
    /// - Complexity: O(n).
    public mutating func connect(
        _ dependency: Operation, before dependent: Operation,
        on condition: DependencyCondition = .success
    ) {
        for operation in [dependency, dependent]
        where !part.operations.contains(where: { $0 === operation }) {
            add(operation)
        }
        part.edges.append(
            OperationGraphPart.Edge(
                dependency: dependency, dependent: dependent, condition: condition))
    }

    /// The name, and how many operations there are.
    public var description: String {
        let count = operations.count
        return "\(label) (\(count) operation\(count == 1 ? "" : "s"))"
    }

    /// What messages call it.
    var label: String { name.map { "graph '\($0)'" } ?? "a graph without a name" }
}

/// Lets its items run one after the other, in the order given.
///
/// An item is an operation, an array of operations, a ``Concurrently`` block, another graph or another `InOrder`
/// block. All of one item run before any of the next; an empty item is passed over.
///
/// Each item depends on the one before it, on a condition: the success of all that it ends with unless given. So
/// the number of dependencies between two items is the product of how many one ends and the other begins
/// with.
public struct InOrder: Sendable {
    let part: OperationGraphPart

    /// Makes a block.
    public init(
        on condition: DependencyCondition = .success,
        @OperationGraphBuilder _ items: () throws -> [OperationGraphPart]
    ) rethrows {
        part = OperationGraphPart(inOrder: try items(), on: condition)
    }
}

/// Lets its items run at the same time; a group of them as one item of an ``InOrder`` block.
public struct Concurrently: Sendable {
    let part: OperationGraphPart

    /// Makes a block.
    public init(@OperationGraphBuilder _ items: () throws -> [OperationGraphPart]) rethrows {
        part = OperationGraphPart(concurrent: try items())
    }
}

/// A part of a graph: operations, the edges between them, and where it begins and ends.
public struct OperationGraphPart: Sendable {
    struct Edge: Sendable {
        let dependency: Operation
        let dependent: Operation
        let condition: DependencyCondition
    }

    private(set) var operations: [Operation] = []
    var edges: [Edge] = []
    /// Those that nothing in the part comes before, and those that nothing in it comes after.
    private var firsts: [Operation] = []
    private var lasts: [Operation] = []

    init(_ operation: Operation) {
        operations = [operation]
        firsts = operations
        lasts = operations
    }

    init(concurrent parts: [OperationGraphPart]) {
        for part in parts {
            operations += part.operations
            edges += part.edges
            firsts += part.firsts
            lasts += part.lasts
        }
    }

    init(inOrder parts: [OperationGraphPart], on condition: DependencyCondition) {
        for part in parts where !part.operations.isEmpty {
            operations += part.operations
            edges += part.edges
            for dependent in part.firsts {
                for dependency in lasts {
                    edges.append(
                        Edge(dependency: dependency, dependent: dependent, condition: condition))
                }
            }
            if firsts.isEmpty { firsts = part.firsts }
            lasts = part.lasts
        }
    }
}

/// Collects the items of a graph.
@resultBuilder
public enum OperationGraphBuilder {
    /// An operation.
    public static func buildExpression(_ operation: Operation) -> [OperationGraphPart] {
        [OperationGraphPart(operation)]
    }

    /// Operations, which run at the same time.
    public static func buildExpression(_ operations: [Operation]) -> [OperationGraphPart] {
        [OperationGraphPart(concurrent: operations.map { OperationGraphPart($0) })]
    }

    /// A block in order.
    public static func buildExpression(_ block: InOrder) -> [OperationGraphPart] { [block.part] }

    /// A block without order.
    public static func buildExpression(_ block: Concurrently) -> [OperationGraphPart] {
        [block.part]
    }

    /// Another graph.
    public static func buildExpression(_ graph: OperationGraph) -> [OperationGraphPart] {
        [graph.part]
    }

    /// Several items.
    public static func buildBlock(_ items: [OperationGraphPart]...) -> [OperationGraphPart] {
        items.flatMap { $0 }
    }

    /// What `for` makes.
    public static func buildArray(_ items: [[OperationGraphPart]]) -> [OperationGraphPart] {
        items.flatMap { $0 }
    }

    /// What `if` without `else` makes.
    public static func buildOptional(_ items: [OperationGraphPart]?) -> [OperationGraphPart] {
        items ?? []
    }

    /// What the first branch makes.
    public static func buildEither(first items: [OperationGraphPart]) -> [OperationGraphPart] {
        items
    }

    /// What the other branch makes.
    public static func buildEither(second items: [OperationGraphPart]) -> [OperationGraphPart] {
        items
    }

    /// What `if #available` makes.
    public static func buildLimitedAvailability(
        _ items: [OperationGraphPart]
    ) -> [OperationGraphPart] { items }
}
