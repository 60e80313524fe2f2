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
        add(traits, after: [first] + rest, made(body))
    }

    /// Adds an async function that runs after other operations have succeeded, whatever their
    /// results are.
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: OperationTrait..., after first: Operation, _ rest: Operation...,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) -> TypedOperation<Output> {
        add(traits, after: [first] + rest, TypedOperation(body: body))
    }

    /// Adds a function that runs after a list of operations have succeeded, whatever their results
    /// are.
    ///
    /// ```swift
    /// queue.add("report", after: uploads) { try writeReport() }
    /// ```
    ///
    /// - Parameters:
    ///   - traits: the operation's name, as a string literal or ``OperationTrait/name(_:)``, and
    ///     further settings.
    ///   - operations: the operations to wait for, of any classes, in any queues or in none. The
    ///     function runs at once if there are none.
    ///   - body: the work, without parameters. A function with one parameter selects the `add`
    ///     method that passes an array of results.
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: OperationTrait..., after operations: [Operation],
        body: @escaping @Sendable () throws -> Output
    ) -> TypedOperation<Output> {
        add(traits, after: operations, made(body))
    }

    /// Adds an async function that runs after a list of operations have succeeded, whatever their
    /// results are.
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: OperationTrait..., after operations: [Operation],
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) -> TypedOperation<Output> {
        add(traits, after: operations, TypedOperation(body: body))
    }

    final func add<Output>(
        _ traits: [OperationTrait], after operations: [Operation],
        _ operation: TypedOperation<Output>
    ) -> TypedOperation<Output> {
        operation.depend(on: operations)
        return take(operation, traits)
    }
}
