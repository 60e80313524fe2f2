/// Operations and the order between them, as a value that is checked as a whole before anything
/// runs.
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
/// The items of the graph itself have no order, except by ``InOrder`` blocks, by
/// ``connect(_:before:on:)`` and by the dependencies that the operations have already. A graph by
/// itself connects nothing and starts nothing. `queue.run` and `queue.add` first check the graph
/// (``validate()``); if the check fails, no operation has been touched.
///
/// Each operation runs once, so a graph can be run once.
public struct OperationGraph: Sendable, CustomStringConvertible {
    /// A name for messages and logs.
    public var name: String?
    private(set) var part: OperationGraph.Part

    /// Makes a graph of the items that a block lists.
    public init(
        _ name: String? = nil,
        @OperationGraphBuilder _ content: () throws -> [OperationGraph.Part]
    ) rethrows {
        self.name = name
        part = OperationGraph.Part(concurrent: try content())
    }

    /// Makes a graph of operations, in no order except for the dependencies that they have.
    public init(_ name: String? = nil, _ operations: [Operation] = []) {
        self.name = name
        part = OperationGraph.Part(concurrent: operations.map { OperationGraph.Part($0) })
    }

    /// The members, in the order in which they were given.
    public var operations: [Operation] { part.operations }

    /// Adds members.
    public mutating func add(_ operations: Operation...) { add(operations) }

    /// Adds members.
    public mutating func add(_ operations: [Operation]) {
        part = OperationGraph.Part(concurrent: [part] + operations.map { OperationGraph.Part($0) })
    }

    /// Makes one operation run before another one, and adds each of the two that is not a member
    /// yet.
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
            OperationGraph.Part.Edge(
                dependency: dependency, dependent: dependent, condition: condition))
    }

    /// The name and the number of operations.
    public var description: String {
        let count = operations.count
        return "\(label) (\(count) operation\(count == 1 ? "" : "s"))"
    }

    /// The graph's name in messages.
    var label: String { name.map { "graph '\($0)'" } ?? "a graph without a name" }
}

/// A block whose items run one after the other, in the order given.
///
/// An item is an operation, an array of operations, a ``Concurrently`` block, another graph or
/// another `InOrder` block. All operations of an item run before any operation of the next item; an
/// empty item is skipped.
///
/// Each item depends on the item before it, on a condition: by default, all operations that the
/// earlier item ends with must succeed. The number of dependencies between two items is the number
/// of operations that the earlier item ends with, times the number of operations that the later
/// item begins with.
public struct InOrder: Sendable {
    let part: OperationGraph.Part

    /// Makes a block.
    public init(
        on condition: DependencyCondition = .success,
        @OperationGraphBuilder _ items: () throws -> [OperationGraph.Part]
    ) rethrows {
        part = OperationGraph.Part(inOrder: try items(), on: condition)
    }
}

/// A block whose items run at the same time; as a whole it is one item of an ``InOrder`` block.
public struct Concurrently: Sendable {
    let part: OperationGraph.Part

    /// Makes a block.
    public init(@OperationGraphBuilder _ items: () throws -> [OperationGraph.Part]) rethrows {
        part = OperationGraph.Part(concurrent: try items())
    }
}

extension OperationGraph {
    /// A part of a graph: operations, the edges between them, and the operations that it begins and
    /// ends with.
    public struct Part: Sendable {
        struct Edge: Sendable {
            let dependency: Operation
            let dependent: Operation
            let condition: DependencyCondition
        }

        private(set) var operations: [Operation] = []
        var edges: [Edge] = []
        /// The operations that the part begins with (`firsts`) and ends with (`lasts`): no other
        /// operation of the part comes before the former, or after the latter.
        private var firsts: [Operation] = []
        private var lasts: [Operation] = []

        init(_ operation: Operation) {
            operations = [operation]
            firsts = operations
            lasts = operations
        }

        init(concurrent parts: [Part]) {
            for part in parts {
                operations += part.operations
                edges += part.edges
                firsts += part.firsts
                lasts += part.lasts
            }
        }

        init(inOrder parts: [Part], on condition: DependencyCondition) {
            for part in parts where !part.operations.isEmpty {
                operations += part.operations
                edges += part.edges
                for dependent in part.firsts {
                    for dependency in lasts {
                        edges.append(
                            Edge(dependency: dependency, dependent: dependent, condition: condition)
                        )
                    }
                }
                if firsts.isEmpty { firsts = part.firsts }
                lasts = part.lasts
            }
        }
    }
}

/// Collects the items of a graph.
@resultBuilder
public enum OperationGraphBuilder {
    /// An operation.
    public static func buildExpression(_ operation: Operation) -> [OperationGraph.Part] {
        [OperationGraph.Part(operation)]
    }

    /// Several operations, which run at the same time.
    public static func buildExpression(_ operations: [Operation]) -> [OperationGraph.Part] {
        [OperationGraph.Part(concurrent: operations.map { OperationGraph.Part($0) })]
    }

    /// A block in order.
    public static func buildExpression(_ block: InOrder) -> [OperationGraph.Part] { [block.part] }

    /// A block without order.
    public static func buildExpression(_ block: Concurrently) -> [OperationGraph.Part] {
        [block.part]
    }

    /// Another graph.
    public static func buildExpression(_ graph: OperationGraph) -> [OperationGraph.Part] {
        [graph.part]
    }

    /// Several items.
    public static func buildBlock(_ items: [OperationGraph.Part]...) -> [OperationGraph.Part] {
        items.flatMap { $0 }
    }

    /// The items of a `for` loop.
    public static func buildArray(_ items: [[OperationGraph.Part]]) -> [OperationGraph.Part] {
        items.flatMap { $0 }
    }

    /// The items of an `if` without `else`.
    public static func buildOptional(_ items: [OperationGraph.Part]?) -> [OperationGraph.Part] {
        items ?? []
    }

    /// The items of the first branch of an `if` or `switch`.
    public static func buildEither(first items: [OperationGraph.Part]) -> [OperationGraph.Part] {
        items
    }

    /// The items of the other branch of an `if` or `switch`.
    public static func buildEither(second items: [OperationGraph.Part]) -> [OperationGraph.Part] {
        items
    }

    /// The items of an `if #available`.
    public static func buildLimitedAvailability(
        _ items: [OperationGraph.Part]
    ) -> [OperationGraph.Part] { items }
}
