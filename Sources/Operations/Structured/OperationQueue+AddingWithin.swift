// Adding one operation when there is room for it.

extension OperationQueue {
    /// Waits until fewer than `limit` operations are in the queue, and then adds a function as an operation.
    ///
    /// So many producers can fill a queue, and together they never put more into it. Those who wait get on in
    /// the order in which they came; who adds otherwise does not wait.
    ///
    /// - Parameters:
    ///   - name: a name for people.
    ///   - traits: what else is to be said about the operation.
    ///   - limit: how many operations, waiting or running, the queue may hold with this one.
    ///   - body: the work.
    /// - Throws: `CancellationError` if the task is cancelled while it waits; nothing is added then.
    /// - Precondition: not called in an operation of this queue for which there can never be room, because
    ///   `limit` operations of the queue, itself included, cannot end before. Such a wait stops the program.
    @discardableResult
    public final func add<Output: Sendable>(
        _ name: String? = nil, _ traits: OperationTrait..., within limit: Int,
        body: @escaping @Sendable () throws -> Output
    ) async throws -> TypedOperation<Output> {
        try await take(made(body), within: limit, name, traits)
    }

    /// As the one for functions that are not async.
    @discardableResult
    public final func add<Output: Sendable>(
        _ name: String? = nil, _ traits: OperationTrait..., within limit: Int,
        body: @escaping @Sendable () async throws -> Output
    ) async throws -> TypedOperation<Output> {
        try await take(TypedOperation(body: body), within: limit, name, traits)
    }

    private func take<Output>(
        _ operation: TypedOperation<Output>, within limit: Int, _ name: String?,
        _ traits: [OperationTrait]
    ) async throws -> TypedOperation<Output> {
        if name != nil || !traits.isEmpty { operation.adopt(name, traits) }
        // Nobody joins it while it waits: it may give up, and is in no queue.
        if let other = joined(by: operation, isAdded: false) { return other }
        let place = try await reserveRoom(below: limit)
        if let other = joined(by: operation) { return other }
        giveQuality(to: operation)
        place.add(operation)
        return operation
    }
}
