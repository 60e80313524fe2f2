// Operations that run after others and do not take their results. The others may be subclasses,
// blocks, operations without a result, or a mixture of these and operations with a result.
//
// A closure without parameters is a function of one parameter of the type `()`. Where there is one
// operation or one list, the methods take such a function. Otherwise the compiler would report
// every mistake in a body with one parameter, such as a misspelt member, as a wrong number of
// parameters: of two explanations it prefers that one.

extension OperationQueue {
    /// Adds a function that runs after another operation, whatever its result is.
    ///
    /// ```swift
    /// queue.add("announce", after: copy) { try announce() }
    /// queue.add("clean up", after: copy, on: .always) { try removeTemporaryFiles() }
    /// ```
    ///
    /// If the other operation does not end as the condition requires, the new operation is
    /// cancelled, with that as its ``Operation/cancellationReason``.
    ///
    /// - Parameters:
    ///   - traits: the operation's name, as a string, and further settings.
    ///   - operation: the operation to wait for, in any queue or in none.
    ///   - condition: how it must end; with success unless given.
    ///   - body: the work, a closure without parameters. A closure with one parameter selects the
    ///     `add` method that passes the result.
    ///   - file: the file of the call. Messages call an operation without a name by the place.
    ///   - line: the line of the call.
    @discardableResult
    @_disfavoredOverload
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., after operation: Operation,
        on condition: DependencyCondition = .success,
        body: @escaping @Sendable (()) throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(traits, after: [operation], on: condition, made { try body(()) }.at(file, line))
    }

    /// Adds an async function that runs after another operation, whatever its result is.
    @_documentation(visibility: internal)
    @discardableResult
    @_disfavoredOverload
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., after operation: Operation,
        on condition: DependencyCondition = .success,
        body: nonisolated(nonsending) @escaping @Sendable (()) async throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(
            traits, after: [operation], on: condition,
            TypedOperation { () async throws in try await body(()) }.at(file, line))
    }

    /// Adds a function that runs after other operations, whatever their results are.
    ///
    /// ```swift
    /// queue.add("announce", after: copy, index) { try announce() }
    /// ```
    ///
    /// As the method for one operation; the condition is for each of them.
    @discardableResult
    @_disfavoredOverload
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName...,
        after first: Operation, _ second: Operation, _ rest: Operation...,
        on condition: DependencyCondition = .success,
        body: @escaping @Sendable () throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(traits, after: [first, second] + rest, on: condition, made(body).at(file, line))
    }

    /// Adds an async function that runs after other operations, whatever their results are.
    @_documentation(visibility: internal)
    @discardableResult
    @_disfavoredOverload
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName...,
        after first: Operation, _ second: Operation, _ rest: Operation...,
        on condition: DependencyCondition = .success,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(
            traits, after: [first, second] + rest, on: condition,
            TypedOperation(body: body).at(file, line))
    }

    /// Adds a function that runs after a list of operations, whatever their results are.
    ///
    /// ```swift
    /// queue.add("report", after: uploads) { try writeReport() }
    /// ```
    ///
    /// - Parameters:
    ///   - traits: the operation's name, as a string, and further settings.
    ///   - operations: the operations to wait for, of any classes, in any queues or in none. The
    ///     function runs at once if there are none.
    ///   - condition: how each of them must end; with success unless given.
    ///   - body: the work, a closure without parameters. A closure with one parameter selects the
    ///     `add` method that passes an array of results.
    ///   - file: the file of the call. Messages call an operation without a name by the place.
    ///   - line: the line of the call.
    @discardableResult
    @_disfavoredOverload
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., after operations: [Operation],
        on condition: DependencyCondition = .success,
        body: @escaping @Sendable (()) throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(traits, after: operations, on: condition, made { try body(()) }.at(file, line))
    }

    /// Adds an async function that runs after a list of operations, whatever their results are.
    @_documentation(visibility: internal)
    @discardableResult
    @_disfavoredOverload
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., after operations: [Operation],
        on condition: DependencyCondition = .success,
        body: nonisolated(nonsending) @escaping @Sendable (()) async throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(
            traits, after: operations, on: condition,
            TypedOperation { () async throws in try await body(()) }.at(file, line))
    }

    final func add<Output>(
        _ traits: [any OperationTraitOrName], after operations: [Operation],
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
    ///   - traits: the operation's name, as a string, and further settings.
    ///   - operation: an operation of any class, in any queue or in none. It may have finished.
    ///   - body: the work.
    ///   - file: the file of the call. Messages call an operation without a name by the place.
    ///   - line: the line of the call.
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., onFailureOf operation: Operation,
        body: @escaping @Sendable (any Error) throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(
            traits, after: [operation], on: .failure,
            made { try body(try operation.failureToHandle) }.at(file, line))
    }

    /// Adds an async function that runs if another operation fails, with the error.
    @_documentation(visibility: internal)
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., onFailureOf operation: Operation,
        body: nonisolated(nonsending) @escaping @Sendable (any Error) async throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(
            traits, after: [operation], on: .failure,
            TypedOperation { () async throws in
                try await body(try operation.failureToHandle)
            }.at(file, line))
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
