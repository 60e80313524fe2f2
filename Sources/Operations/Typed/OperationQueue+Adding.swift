// Methods that make an operation with a result and add it.

extension OperationQueue {
    /// Adds a function as an operation with a result.
    ///
    /// ```swift
    /// let size = queue.add("measure", .priority(.high)) { try measure(file) }
    /// print(try await size.value)
    /// ```
    ///
    /// - Parameters:
    ///   - name: a name for people to read.
    ///   - traits: further settings of the operation.
    ///   - body: the work, run on a worker thread, once unless a trait repeats it. Its return value
    ///     is the operation's ``TypedOperation/value``; an error that it throws is the operation's
    ///     failure.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable>(
        _ name: String? = nil, _ traits: OperationTrait...,
        body: @escaping @Sendable () throws -> Output
    ) -> TypedOperation<Output> {
        take(made(body), name, traits)
    }

    /// Adds an async function as an operation with a result.
    ///
    /// The operation keeps its slot of the queue's width until the function has returned.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable>(
        _ name: String? = nil, _ traits: OperationTrait...,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) -> TypedOperation<Output> {
        take(TypedOperation(body: body), name, traits)
    }

    /// Adds a function that runs after other operations, with their results, in their order.
    ///
    /// ```swift
    /// let card = queue.add(after: picture, caption) { picture, caption in Card(picture, caption) }
    /// ```
    ///
    /// If one of the other operations fails or is cancelled, the new operation is cancelled, with
    /// that as its ``Operation/cancellationReason``.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable, First: Sendable, each Rest: Sendable>(
        _ name: String? = nil, _ traits: OperationTrait...,
        after first: TypedOperation<First>, _ rest: repeat TypedOperation<each Rest>,
        body: @escaping @Sendable (First, repeat each Rest) throws -> Output
    ) -> TypedOperation<Output> {
        take(made(after: first, repeat each rest, body: body), name, traits)
    }

    /// Adds an async function that runs after other operations, with their results, in their order.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable, First: Sendable, each Rest: Sendable>(
        _ name: String? = nil, _ traits: OperationTrait...,
        after first: TypedOperation<First>, _ rest: repeat TypedOperation<each Rest>,
        body:
            nonisolated(nonsending) @escaping @Sendable (First, repeat each Rest) async throws ->
            Output
    ) -> TypedOperation<Output> {
        take(TypedOperation(after: first, repeat each rest, body: body), name, traits)
    }

    /// Adds a function that runs after any number of operations of one type, with their results.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable, Input: Sendable>(
        _ name: String? = nil, _ traits: OperationTrait..., after inputs: [TypedOperation<Input>],
        body: @escaping @Sendable ([Input]) throws -> Output
    ) -> TypedOperation<Output> {
        take(made(after: inputs, body: body), name, traits)
    }

    /// Adds an async function that runs after any number of operations of one type, with their
    /// results.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable, Input: Sendable>(
        _ name: String? = nil, _ traits: OperationTrait..., after inputs: [TypedOperation<Input>],
        body: nonisolated(nonsending) @escaping @Sendable ([Input]) async throws -> Output
    ) -> TypedOperation<Output> {
        take(TypedOperation(after: inputs, body: body), name, traits)
    }
}
