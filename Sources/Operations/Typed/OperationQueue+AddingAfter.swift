// Operations that run after others whose results they do not take: subclasses, blocks, operations without a
// result, and mixtures of these with operations that have one.

extension OperationQueue {
    /// Adds a function that runs after other operations have succeeded, whatever their results are.
    ///
    /// ```swift
    /// queue.add("clean up", after: copy, index) { try removeTemporaryFiles() }
    /// ```
    ///
    /// If one of the others fails or is cancelled, this operation is cancelled, with that as its
    /// ``Operation/cancellationReason``.
    ///
    /// - Parameters:
    ///   - name: a name for people.
    ///   - traits: what else is to be said about the operation.
    ///   - first: the first operation to wait for, in any queue or in none.
    ///   - rest: further operations to wait for.
    ///   - body: the work. It has no parameters; with one parameter for each operation it gets their results.
    @discardableResult
    public final func add<Output: Sendable>(
        _ name: String? = nil, _ traits: OperationTrait...,
        after first: Operation, _ rest: Operation...,
        body: @escaping @Sendable () throws -> Output
    ) -> TypedOperation<Output> {
        take(made(body).depending(on: first, rest), name, traits)
    }

    /// Adds an async function that runs after other operations have succeeded, whatever their results are.
    @discardableResult
    public final func add<Output: Sendable>(
        _ name: String? = nil, _ traits: OperationTrait...,
        after first: Operation, _ rest: Operation...,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) -> TypedOperation<Output> {
        take(TypedOperation(body: body).depending(on: first, rest), name, traits)
    }

    /// Adds a function that runs after other operations have succeeded, and about which traits say more.
    @discardableResult
    public final func add<Output: Sendable>(
        _ trait: OperationTrait, _ traits: OperationTrait...,
        after first: Operation, _ rest: Operation...,
        body: @escaping @Sendable () throws -> Output
    ) -> TypedOperation<Output> {
        take(made(body).depending(on: first, rest), nil, [trait] + traits)
    }

    /// Adds an async function that runs after other operations have succeeded, and about which traits say
    /// more.
    @discardableResult
    public final func add<Output: Sendable>(
        _ trait: OperationTrait, _ traits: OperationTrait...,
        after first: Operation, _ rest: Operation...,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) -> TypedOperation<Output> {
        take(TypedOperation(body: body).depending(on: first, rest), nil, [trait] + traits)
    }
}

extension TypedOperation {
    fileprivate func depending(on first: Operation, _ rest: [Operation]) -> Self {
        addDependency(first, on: .success)
        for operation in rest { addDependency(operation, on: .success) }
        return self
    }
}
