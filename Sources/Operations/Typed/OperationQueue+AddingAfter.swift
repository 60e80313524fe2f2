// Operations that run after others and do not take their results. The others may be subclasses,
// blocks, operations without a result, or a mixture of these and operations with a result.

extension OperationQueue {
    /// Adds a function that runs after other operations, whatever their results are.
    ///
    /// ```swift
    /// queue.add("announce", after: copy, index) { try announce() }
    /// queue.add("clean up", after: copy, index, on: .always) { try removeTemporaryFiles() }
    /// ```
    ///
    /// If one of the other operations does not end as the condition requires, the new operation is
    /// cancelled, with that as its ``Operation/cancellationReason``.
    ///
    /// - Parameters:
    ///   - traits: the operation's name, as a string literal or ``OperationTrait/name(_:)``, and
    ///     further settings.
    ///   - first: the first operation to wait for, in any queue or in none.
    ///   - rest: further operations to wait for.
    ///   - condition: how each of them must end; with success unless given.
    ///   - body: the work, without parameters. A function with one parameter for each operation
    ///     selects the `add` method that passes their results.
    @discardableResult
    @_disfavoredOverload
    public final func add<Output: Sendable>(
        _ traits: OperationTrait..., after first: Operation, _ rest: Operation...,
        on condition: DependencyCondition = .success,
        body: @escaping @Sendable () throws -> Output
    ) -> TypedOperation<Output> {
        add(traits, after: [first] + rest, on: condition, made(body))
    }

    /// Adds an async function that runs after other operations, whatever their results are.
    @discardableResult
    @_disfavoredOverload
    public final func add<Output: Sendable>(
        _ traits: OperationTrait..., after first: Operation, _ rest: Operation...,
        on condition: DependencyCondition = .success,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) -> TypedOperation<Output> {
        add(traits, after: [first] + rest, on: condition, TypedOperation(body: body))
    }

    /// Adds a function that runs after a list of operations, whatever their results are.
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
    ///   - condition: how each of them must end; with success unless given.
    ///   - body: the work, without parameters. A function with one parameter selects the `add`
    ///     method that passes an array of results.
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: OperationTrait..., after operations: [Operation],
        on condition: DependencyCondition = .success,
        body: @escaping @Sendable () throws -> Output
    ) -> TypedOperation<Output> {
        add(traits, after: operations, on: condition, made(body))
    }

    /// Adds an async function that runs after a list of operations, whatever their results are.
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: OperationTrait..., after operations: [Operation],
        on condition: DependencyCondition = .success,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) -> TypedOperation<Output> {
        add(traits, after: operations, on: condition, TypedOperation(body: body))
    }

    final func add<Output>(
        _ traits: [OperationTrait], after operations: [Operation],
        on condition: DependencyCondition,
        _ operation: TypedOperation<Output>
    ) -> TypedOperation<Output> {
        for each in operations { operation.addDependency(each, on: condition) }
        return take(operation, traits)
    }
}

extension OperationQueue {
    /// Adds a function that runs if another operation fails, with the error.
    ///
    /// ```swift
    /// let page = queue.add("page") { try await fetch(url) }
    /// queue.add(onFailureOf: page) { error in try showNotice(error) }
    /// ```
    ///
    /// The function also runs if the other operation is cancelled because of a failure before it,
    /// with that error. If the other operation succeeds, or is cancelled for another reason, the
    /// new operation is cancelled.
    ///
    /// - Parameters:
    ///   - traits: the operation's name, as a string literal or ``OperationTrait/name(_:)``, and
    ///     further settings.
    ///   - operation: an operation of any class, in any queue or in none. It may have finished.
    ///   - body: the work.
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: OperationTrait..., onFailureOf operation: Operation,
        body: @escaping @Sendable (any Error) throws -> Output
    ) -> TypedOperation<Output> {
        add(
            traits, after: [operation], on: .failure,
            made { try body(try operation.failureToHandle) })
    }

    /// Adds an async function that runs if another operation fails, with the error.
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: OperationTrait..., onFailureOf operation: Operation,
        body: nonisolated(nonsending) @escaping @Sendable (any Error) async throws -> Output
    ) -> TypedOperation<Output> {
        add(
            traits, after: [operation], on: .failure,
            TypedOperation { () async throws in
                try await body(try operation.failureToHandle)
            })
    }
}

extension Operation {
    /// The error of an operation that has failed, or that was cancelled because of a failure.
    final var failureToHandle: any Error {
        get throws {
            guard let failure = endingFailure else {
                throw OperationResultError.noOutput(operation: label)
            }
            failure.observe()
            return failure.error
        }
    }
}
