// Methods that make an operation with a result and add it.

extension OperationQueue {
    /// Adds a function as an operation with a result.
    ///
    /// ```swift
    /// let size = queue.add("measure", .priority(.high)) { try measure(file) }
    /// print(try await size.value)
    /// ```
    ///
    /// The function may be `async`. The operation then keeps its slot of the queue's width until
    /// the function has returned, and the task in which the function runs has the operation's name.
    /// A function of the main actor runs there: `queue.add { @MainActor in … }`.
    ///
    /// - Parameters:
    ///   - traits: the operation's name, as a string, and further settings. In a task with a name,
    ///     outside of operations, that name is the default.
    ///   - body: the work, run on a worker thread, once unless a trait repeats it. Its return value
    ///     is the operation's ``TypedOperation/value``; an error that it throws is the operation's
    ///     failure.
    ///   - file: the file of the call. Messages call an operation without a name by the place.
    ///   - line: the line of the call.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName...,
        body: @escaping @Sendable () throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        take(made(body).at(file, line), traits)
    }

    /// Adds an async function as an operation with a result.
    ///
    /// The operation keeps its slot of the queue's width until the function has returned. The name
    /// of the operation is also that of the task in which the function runs.
    @_documentation(visibility: internal)
    @discardableResult
    @inlinable
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName...,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        take(TypedOperation(body: body).at(file, line), traits)
    }

    /// Adds a function that runs after other operations, with their results, in their order.
    ///
    /// ```swift
    /// let card = queue.add(after: picture, caption) { picture, caption in Card(picture, caption) }
    /// ```
    ///
    /// If one of the other operations fails or is cancelled, the new operation is cancelled, with
    /// that as its ``Operation/cancellationReason``. The function may be `async`, or belong to the
    /// main actor.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable, First: Sendable, each Rest: Sendable>(
        _ traits: any OperationTraitOrName...,
        after first: TypedOperation<First>, _ rest: repeat TypedOperation<each Rest>,
        body: @escaping @Sendable (First, repeat each Rest) throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        let operation = made { try body(first.result, repeat (each rest).result) }
        operation.depend(on: first, repeat each rest)
        return take(operation.at(file, line), traits)
    }

    /// Adds an async function that runs after other operations, with their results, in their order.
    @_documentation(visibility: internal)
    @discardableResult
    @inlinable
    public final func add<Output: Sendable, First: Sendable, each Rest: Sendable>(
        _ traits: any OperationTraitOrName...,
        after first: TypedOperation<First>, _ rest: repeat TypedOperation<each Rest>,
        body:
            nonisolated(nonsending) @escaping @Sendable (First, repeat each Rest) async throws ->
            Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        take(
            TypedOperation(after: first, repeat each rest, body: body, file: file, line: line),
            traits)
    }

    /// Adds a function that runs after any number of operations of one type, with their results.
    ///
    /// The function may be `async`, or belong to the main actor.
    @discardableResult
    @inlinable
    public final func add<Output: Sendable, Input: Sendable>(
        _ traits: any OperationTraitOrName..., after inputs: [TypedOperation<Input>],
        body: @escaping @Sendable ([Input]) throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        let operation = made { try body(inputs.map { try $0.result }) }
        operation.depend(on: inputs)
        return take(operation.at(file, line), traits)
    }

    /// Adds an async function that runs after any number of operations of one type, with their
    /// results.
    @_documentation(visibility: internal)
    @discardableResult
    @inlinable
    public final func add<Output: Sendable, Input: Sendable>(
        _ traits: any OperationTraitOrName..., after inputs: [TypedOperation<Input>],
        body: nonisolated(nonsending) @escaping @Sendable ([Input]) async throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        take(TypedOperation(after: inputs, body: body, file: file, line: line), traits)
    }
}

extension OperationQueue {
    /// Adds an operation that the program has made, and returns it.
    ///
    /// ```swift
    /// let upload = queue.add(UploadOperation(report), .retry(3))
    /// ```
    ///
    /// - Parameters:
    ///   - operation: an operation of any class.
    ///   - traits: the operation's name, as a string, and further settings.
    /// - Precondition: as for ``addOperation(_:)-(Operation)``.
    @discardableResult
    public final func add<Added: Operation>(
        _ operation: Added, _ traits: any OperationTraitOrName...
    ) -> Added {
        if !traits.isEmpty { operation.apply(traits) }
        addOperation(operation)
        return operation
    }
}

// MARK: Making the operations

// Inlinable, as `add` is, so that the compiler knows the types of bodies and results where
// operations are made.

extension OperationQueue {
    /// Whether all bodies run in tasks, because the queue belongs to a scope. The tasks have the
    /// task-local values of the scope's task.
    @usableFromInline
    final var runsAllInTasks: Bool { companion != nil }

    @inlinable
    final func made<Output: Sendable>(
        _ body: @escaping @Sendable () throws -> Output
    ) -> TypedOperation<Output> {
        guard runsAllInTasks else { return TypedOperation(body: body) }
        let inTask: nonisolated(nonsending) @Sendable () async throws -> Output = body
        return TypedOperation(body: inTask)
    }

    /// Adds the operation with the traits. If the operation has a key to join by, returns the
    /// unfinished operation to use in its place.
    @usableFromInline
    final func take<Output>(
        _ operation: TypedOperation<Output>, _ traits: [any OperationTraitOrName]
    ) -> TypedOperation<Output> {
        if !traits.isEmpty {
            operation.apply(traits)
            if let other = joined(by: operation) { return other }
        }
        applyQueueQuality(to: operation)
        applyTaskName(to: operation)
        addOperation(operation)
        return operation
    }

    /// Gives the operation the name of the task that adds it, unless it has its own. A body does
    /// not pass on its name.
    @inline(__always)
    private final func applyTaskName(to operation: Operation) {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *),
            let name = Task.name
        else { return }
        if TaskContext.operation == nil, operation.name == nil { operation.name = name }
    }

    /// Gives the operation the queue's quality of service, as added blocks have it, unless it has
    /// its own.
    @inline(__always)
    final func applyQueueQuality(to operation: Operation) {
        let quality = qualityOfService
        if quality != .default, operation.status.quality.property == .default {
            operation.qualityOfService = quality
        }
    }
}
