// Operations with traits, and operations that take the results of others. These depend on the
// others, and run only if all have succeeded.

extension TypedOperation {
    /// Makes an operation with traits that runs a function on a worker thread.
    ///
    /// ```swift
    /// let upload = TypedOperation("upload", .retry(3)) { try send(report) }
    /// ```
    ///
    /// - Parameters:
    ///   - first: the operation's name, as a string, or another setting.
    ///   - rest: further settings.
    ///   - body: the work.
    ///   - file: the file of the call. Messages call an operation without a name by the place.
    ///   - line: the line of the call.
    public convenience init(
        _ first: any OperationTraitOrName, _ rest: any OperationTraitOrName...,
        body: @escaping @Sendable () throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(body: body)
        site = CallSite(file, line)
        apply([first] + rest)
    }

    /// Makes an operation with traits that runs an async function.
    @_documentation(visibility: internal)
    public convenience init(
        _ first: any OperationTraitOrName, _ rest: any OperationTraitOrName...,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(body: body)
        site = CallSite(file, line)
        apply([first] + rest)
    }

    /// Makes an operation that runs after others, with their results, in their order.
    ///
    /// If one of the other operations fails or is cancelled, the new operation is cancelled, with
    /// that as the reason.
    @inlinable
    public convenience init<First: Sendable, each Rest: Sendable>(
        _ traits: any OperationTraitOrName...,
        after first: TypedOperation<First>, _ rest: repeat TypedOperation<each Rest>,
        body: @escaping @Sendable (First, repeat each Rest) throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        self.init { try body(first.result, repeat (each rest).result) }
        depend(on: first, repeat each rest)
        site = CallSite(file, line)
        if !traits.isEmpty { apply(traits) }
    }

    /// Makes an operation with an async body that runs after others, with their results, in their
    /// order.
    @_documentation(visibility: internal)
    @inlinable
    public convenience init<First: Sendable, each Rest: Sendable>(
        _ traits: any OperationTraitOrName...,
        after first: TypedOperation<First>, _ rest: repeat TypedOperation<each Rest>,
        body:
            nonisolated(nonsending) @escaping @Sendable (First, repeat each Rest) async throws ->
            Output,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        self.init { try await body(first.result, repeat (each rest).result) }
        depend(on: first, repeat each rest)
        site = CallSite(file, line)
        if !traits.isEmpty { apply(traits) }
    }

    /// Makes an operation that runs after any number of others of one type, with their results.
    @inlinable
    public convenience init<Input: Sendable>(
        _ traits: any OperationTraitOrName..., after inputs: [TypedOperation<Input>],
        body: @escaping @Sendable ([Input]) throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        self.init { try body(inputs.map { try $0.result }) }
        depend(on: inputs)
        site = CallSite(file, line)
        if !traits.isEmpty { apply(traits) }
    }

    /// Makes an operation with an async body that runs after any number of others of one type.
    ///
    /// The body gets the results of these operations.
    @_documentation(visibility: internal)
    @inlinable
    public convenience init<Input: Sendable>(
        _ traits: any OperationTraitOrName..., after inputs: [TypedOperation<Input>],
        body: nonisolated(nonsending) @escaping @Sendable ([Input]) async throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        self.init { try await body(inputs.map { try $0.result }) }
        depend(on: inputs)
        site = CallSite(file, line)
        if !traits.isEmpty { apply(traits) }
    }
}

extension TypedOperation {
    /// Makes the operation run only after the success of others.
    @inlinable
    final func depend<First, each Rest>(
        on first: TypedOperation<First>, _ rest: repeat TypedOperation<each Rest>
    ) {
        addDependency(first, on: .success)
        repeat addDependency(each rest, on: .success)
    }

    /// Makes the operation run only after the success of others.
    @inlinable
    final func depend(on operations: [Operation]) {
        for operation in operations { addDependency(operation, on: .success) }
    }
}

extension Sequence {
    /// Returns the results of all operations, in order, when all have finished.
    ///
    /// - Throws: the first error in that order, without waiting for the operations behind it.
    public func values<Output>() async throws -> [Output]
    where Element == TypedOperation<Output>, Self: Sendable {
        var values: [Output] = []
        for operation in self { values.append(try await operation.value) }
        return values
    }
}
