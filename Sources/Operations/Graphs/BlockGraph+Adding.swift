// Methods that add nodes to a graph of blocks. They read like those that add operations to a queue.

extension BlockGraph {
    // MARK: Nodes that come after nothing

    /// Adds a block.
    ///
    /// - Parameters:
    ///   - traits: the node's name, as a string literal or ``OperationTrait/name(_:)``, and further
    ///     settings. A node with further settings is made into an operation when the graph begins.
    ///   - body: the work, run on a worker thread, once in each run of the graph.
    @discardableResult
    public mutating func add(
        _ traits: any OperationTraitOrName..., body: consuming @escaping @Sendable () throws -> Void
    ) -> Node<Void> {
        append(.plain(consume body), traits)
    }

    /// Adds a block that returns a value.
    @discardableResult
    public mutating func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., body: @escaping @Sendable () throws -> Output
    ) -> Node<Output> {
        append(returning: Output.self, traits) { _ in try body() }
    }

    /// Adds an async block, which is made into an operation when the graph begins.
    @_documentation(visibility: internal)
    @discardableResult
    public mutating func add<Output: Sendable>(
        _ traits: any OperationTraitOrName...,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) -> Node<Output> {
        append(returning: Output.self, traits) { _ in try await body() }
    }

    // MARK: Nodes that come after nodes without results

    /// Adds a block that runs after other nodes.
    ///
    /// - Parameters:
    ///   - traits: the node's name and further settings.
    ///   - first: a node that runs before.
    ///   - rest: further nodes that run before.
    ///   - condition: how these nodes must end for the block to run. If one of them ends in another
    ///     way, the block does not run, and counts as cancelled for the nodes after it.
    ///   - body: the work.
    @discardableResult
    public mutating func add(
        _ traits: any OperationTraitOrName..., after first: Node<Void>, _ rest: Node<Void>...,
        on condition: DependencyCondition = .success,
        body: consuming @escaping @Sendable () throws -> Void
    ) -> Node<Void> {
        let node: Node<Void> = append(.plain(consume body), traits)
        connect(first.id, before: node.id, on: condition)
        for other in rest { connect(other.id, before: node.id, on: condition) }
        return node
    }

    /// Adds a block that returns a value and runs after other nodes.
    @discardableResult
    public mutating func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., after first: Node<Void>, _ rest: Node<Void>...,
        on condition: DependencyCondition = .success,
        body: @escaping @Sendable () throws -> Output
    ) -> Node<Output> {
        let node = append(returning: Output.self, traits) { _ in try body() }
        connect([first] + rest, before: node, on: condition)
        return node
    }

    /// Adds an async block that runs after other nodes.
    @_documentation(visibility: internal)
    @discardableResult
    public mutating func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., after first: Node<Void>, _ rest: Node<Void>...,
        on condition: DependencyCondition = .success,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) -> Node<Output> {
        let node = append(returning: Output.self, traits) { _ in try await body() }
        connect([first] + rest, before: node, on: condition)
        return node
    }

    /// Adds a block that runs after any number of other nodes.
    @discardableResult
    public mutating func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., after nodes: [Node<Void>],
        on condition: DependencyCondition = .success,
        body: @escaping @Sendable () throws -> Output
    ) -> Node<Output> {
        let node = append(returning: Output.self, traits) { _ in try body() }
        connect(nodes, before: node, on: condition)
        return node
    }

    /// Adds an async block that runs after any number of other nodes.
    @_documentation(visibility: internal)
    @discardableResult
    public mutating func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., after nodes: [Node<Void>],
        on condition: DependencyCondition = .success,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) -> Node<Output> {
        let node = append(returning: Output.self, traits) { _ in try await body() }
        connect(nodes, before: node, on: condition)
        return node
    }

    // MARK: Nodes that receive results

    /// Adds a block that runs after the success of other nodes, with their results, in their order.
    ///
    /// ```swift
    /// let card = graph.add(after: picture, caption) { picture, caption in Card(picture, caption) }
    /// ```
    ///
    /// If one of the other nodes fails or is cancelled, the block does not run.
    @discardableResult
    public mutating func add<Output: Sendable, First: Sendable, each Rest: Sendable>(
        _ traits: any OperationTraitOrName..., after first: Node<First>,
        _ rest: repeat Node<each Rest>,
        body: @escaping @Sendable (First, repeat each Rest) throws -> Output
    ) -> Node<Output> {
        let node = append(returning: Output.self, traits) { results in
            try body(results.result(of: first), repeat results.result(of: each rest))
        }
        connect(first, before: node)
        repeat connect(each rest, before: node)
        return node
    }

    /// Adds an async block that runs after the success of other nodes, with their results.
    @_documentation(visibility: internal)
    @discardableResult
    public mutating func add<Output: Sendable, First: Sendable, each Rest: Sendable>(
        _ traits: any OperationTraitOrName..., after first: Node<First>,
        _ rest: repeat Node<each Rest>,
        body:
            nonisolated(nonsending) @escaping @Sendable (First, repeat each Rest) async throws ->
            Output
    ) -> Node<Output> {
        let node = append(returning: Output.self, traits) { results in
            try await body(results.result(of: first), repeat results.result(of: each rest))
        }
        connect(first, before: node)
        repeat connect(each rest, before: node)
        return node
    }

    /// Adds a block that runs after the success of any number of nodes of one type, with their
    /// results.
    @discardableResult
    public mutating func add<Output: Sendable, Input: Sendable>(
        _ traits: any OperationTraitOrName..., after inputs: [Node<Input>],
        body: @escaping @Sendable ([Input]) throws -> Output
    ) -> Node<Output> {
        let node = append(returning: Output.self, traits) { results in
            try body(inputs.map { try results.result(of: $0) })
        }
        connect(inputs, before: node, on: .success)
        return node
    }

    /// Adds an async block that runs after the success of any number of nodes of one type, with
    /// their results.
    @_documentation(visibility: internal)
    @discardableResult
    public mutating func add<Output: Sendable, Input: Sendable>(
        _ traits: any OperationTraitOrName..., after inputs: [Node<Input>],
        body: nonisolated(nonsending) @escaping @Sendable ([Input]) async throws -> Output
    ) -> Node<Output> {
        let node = append(returning: Output.self, traits) { results in
            try await body(inputs.map { try results.result(of: $0) })
        }
        connect(inputs, before: node, on: .success)
        return node
    }

    // MARK: Making the nodes

    private mutating func append<Output>(
        returning type: Output.Type, _ traits: [any OperationTraitOrName],
        _ body: @escaping @Sendable (NodeResults) throws -> Output
    ) -> Node<Output> {
        let slot = newSlot(for: type)
        return append(.typed { $0.set(try body($0), in: slot) }, traits, slot: slot)
    }

    private mutating func append<Output>(
        returning type: Output.Type, _ traits: [any OperationTraitOrName],
        _ body: nonisolated(nonsending) @escaping @Sendable (NodeResults) async throws -> Output
    ) -> Node<Output> {
        let slot = newSlot(for: type)
        return append(.asynchronous { $0.set(try await body($0), in: slot) }, traits, slot: slot)
    }

    private mutating func connect<First, Second>(
        _ nodes: [Node<First>], before dependent: Node<Second>, on condition: DependencyCondition
    ) {
        for node in nodes { connect(node.id, before: dependent.id, on: condition) }
    }
}
