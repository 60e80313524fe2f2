// Makes the operations of the `add` methods. In a scope all bodies run in tasks, which have the
// task-local values of the scope's task.
//
// Inlinable, as `add` is, so that the compiler knows the types of bodies and results where
// operations are made.

extension OperationQueue {
    /// Whether all bodies run in tasks, because the queue belongs to a scope.
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

    @inlinable
    final func made<Output: Sendable, First: Sendable, each Rest: Sendable>(
        after first: TypedOperation<First>, _ rest: repeat TypedOperation<each Rest>,
        body: @escaping @Sendable (First, repeat each Rest) throws -> Output
    ) -> TypedOperation<Output> {
        guard runsAllInTasks else {
            return TypedOperation(after: first, repeat each rest, body: body)
        }
        let inTask:
            nonisolated(nonsending) @Sendable (First, repeat each Rest) async throws -> Output =
                body
        return TypedOperation(after: first, repeat each rest, body: inTask)
    }

    @inlinable
    final func made<Output: Sendable, Input: Sendable>(
        after inputs: [TypedOperation<Input>],
        body: @escaping @Sendable ([Input]) throws -> Output
    ) -> TypedOperation<Output> {
        guard runsAllInTasks else { return TypedOperation(after: inputs, body: body) }
        let inTask: nonisolated(nonsending) @Sendable ([Input]) async throws -> Output = body
        return TypedOperation(after: inputs, body: inTask)
    }

    @usableFromInline
    final func take<Output>(
        _ operation: TypedOperation<Output>, _ name: String?, _ traits: [OperationTrait]
    ) -> TypedOperation<Output> {
        if let other = prepare(operation, name, traits) { return other }
        addOperation(operation)
        return operation
    }

    /// Applies the name and the traits to the operation, and gives it the queue's quality of
    /// service. If the operation has a key to join by, returns the unfinished operation to use in
    /// its place.
    @inline(__always)
    final func prepare<Output>(
        _ operation: TypedOperation<Output>, _ name: String?, _ traits: [OperationTrait]
    ) -> TypedOperation<Output>? {
        if name != nil || !traits.isEmpty {
            operation.adopt(name, traits)
            if let other = joined(by: operation) { return other }
        }
        applyQueueQuality(to: operation)
        return nil
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
