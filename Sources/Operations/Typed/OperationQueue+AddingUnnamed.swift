// The `add` methods without a name: their first argument is a trait.

extension OperationQueue {
    /// Adds a function, with traits, as an operation with a result.
    ///
    /// ```swift
    /// let photo = queue.add(.deduplicated(by: url), .retry(3)) { try fetch(url) }
    /// ```
    @discardableResult
    @inlinable
    public final func add<Output: Sendable>(
        _ trait: OperationTrait, _ traits: OperationTrait...,
        body: @escaping @Sendable () throws -> Output
    ) -> TypedOperation<Output> {
        take(made(body), nil, [trait] + traits)
    }

    /// Adds an async function, with traits, as an operation with a result.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable>(
        _ trait: OperationTrait, _ traits: OperationTrait...,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) -> TypedOperation<Output> {
        take(TypedOperation(body: body), nil, [trait] + traits)
    }

    /// Adds a function, with traits, that runs after other operations, with their results, in their
    /// order.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable, First: Sendable, each Rest: Sendable>(
        _ trait: OperationTrait, _ traits: OperationTrait...,
        after first: TypedOperation<First>, _ rest: repeat TypedOperation<each Rest>,
        body: @escaping @Sendable (First, repeat each Rest) throws -> Output
    ) -> TypedOperation<Output> {
        take(made(after: first, repeat each rest, body: body), nil, [trait] + traits)
    }

    /// Adds an async function, with traits, that runs after other operations, with their results.
    ///
    /// The results come in the order of the operations.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable, First: Sendable, each Rest: Sendable>(
        _ trait: OperationTrait, _ traits: OperationTrait...,
        after first: TypedOperation<First>, _ rest: repeat TypedOperation<each Rest>,
        body:
            nonisolated(nonsending) @escaping @Sendable (First, repeat each Rest) async throws ->
            Output
    ) -> TypedOperation<Output> {
        take(TypedOperation(after: first, repeat each rest, body: body), nil, [trait] + traits)
    }

    /// Adds a function, with traits, that runs after any number of operations of one type, with
    /// their results.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable, Input: Sendable>(
        _ trait: OperationTrait, _ traits: OperationTrait..., after inputs: [TypedOperation<Input>],
        body: @escaping @Sendable ([Input]) throws -> Output
    ) -> TypedOperation<Output> {
        take(made(after: inputs, body: body), nil, [trait] + traits)
    }

    /// Adds an async function, with traits, that runs after any number of operations of one type.
    ///
    /// The function gets the results of these operations.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable, Input: Sendable>(
        _ trait: OperationTrait, _ traits: OperationTrait..., after inputs: [TypedOperation<Input>],
        body: nonisolated(nonsending) @escaping @Sendable ([Input]) async throws -> Output
    ) -> TypedOperation<Output> {
        take(TypedOperation(after: inputs, body: body), nil, [trait] + traits)
    }
}
