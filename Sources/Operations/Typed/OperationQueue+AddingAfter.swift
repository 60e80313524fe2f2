// Operations that run after others and do not take their results. The others may be subclasses,
// blocks, operations without a result, or a mixture of these and operations with a result.

extension OperationQueue {
    /// Adds a function that runs after other operations have succeeded, whatever their results are.
    ///
    /// ```swift
    /// queue.add("clean up", after: copy, index) { try removeTemporaryFiles() }
    /// ```
    ///
    /// If one of the other operations fails or is cancelled, the new operation is cancelled, with
    /// that as its ``Operation/cancellationReason``.
    ///
    /// - Parameters:
    ///   - traits: the operation's name, as a string literal or ``OperationTrait/name(_:)``, and
    ///     further settings.
    ///   - first: the first operation to wait for, in any queue or in none.
    ///   - rest: further operations to wait for.
    ///   - body: the work, without parameters. A function with one parameter for each operation
    ///     selects the `add` method that passes their results.
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: OperationTrait..., after first: Operation, _ rest: Operation...,
        body: @escaping @Sendable () throws -> Output
    ) -> TypedOperation<Output> {
        let operation = made(body)
        operation.depend(on: [first] + rest)
        return take(operation, traits)
    }

    /// Adds an async function that runs after other operations have succeeded, whatever their
    /// results are.
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: OperationTrait..., after first: Operation, _ rest: Operation...,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) -> TypedOperation<Output> {
        let operation = TypedOperation(body: body)
        operation.depend(on: [first] + rest)
        return take(operation, traits)
    }
}
