// What `add` makes of its bodies. In a scope all bodies run in tasks, which have the values of the scope's task.
//
// Inlinable, as `add` is, so that the types of bodies and results are known where operations are made.

extension OperationQueue {
    /// Whether all bodies run in tasks.
    @usableFromInline
    final var runsAllInTasks: Bool { scope != nil }

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

    /// Lets the operation have what is said about it; returns the one that is to be taken in its place, if
    /// it has a key that another one has.
    @inline(__always)
    final func prepare<Output>(
        _ operation: TypedOperation<Output>, _ name: String?, _ traits: [OperationTrait]
    ) -> TypedOperation<Output>? {
        if name != nil || !traits.isEmpty {
            operation.adopt(name, traits)
            if let other = joined(by: operation) { return other }
        }
        giveQuality(to: operation)
        return nil
    }

    /// As blocks that are added have it.
    @inline(__always)
    final func giveQuality(to operation: Operation) {
        let quality = qualityOfService
        if quality != .default, operation.status.quality.property == .default {
            operation.qualityOfService = quality
        }
    }
}
