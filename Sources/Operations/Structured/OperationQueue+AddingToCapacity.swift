// Adds one operation when the queue has capacity for it.

extension OperationQueue {
    /// Adds a function as an operation, once fewer than `capacity` operations are in the queue.
    ///
    /// The calling task waits until then. In this way many producers can fill a queue, and together
    /// they never put more than `capacity` operations into it. Waiting producers are admitted in
    /// the order in which they came; code that adds operations in other ways does not wait.
    ///
    /// - Parameters:
    ///   - traits: the operation's name, as a string, and further settings.
    ///   - capacity: how many operations, waiting or running, the queue may hold with this one.
    ///   - limit: how long to wait for capacity; nil for as long as it takes. It does not limit the
    ///     work, see ``OperationTrait/timeout(_:)``.
    ///   - body: the work.
    ///   - file: the file of the call. Messages call an operation without a name by the place.
    ///   - line: the line of the call.
    /// - Throws: ``OperationQueueFull`` if there was no capacity within the time;
    ///   `CancellationError` if the task is cancelled while it waits; ``OperationCancellation`` if
    ///   the queue is shut down. Nothing is added then.
    /// - Precondition: not called in an operation of this queue for which there can never be
    ///   capacity, because `capacity` operations of the queue, itself included, cannot end before.
    ///   Such a wait stops the program.
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., capacity: Int, within limit: Duration? = nil,
        body: @escaping @Sendable () throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) async throws -> TypedOperation<Output> {
        try await take(made(body).at(file, line), capacity: capacity, within: limit, traits)
    }

    /// Adds an async function as an operation, once fewer than `capacity` operations are in the
    /// queue.
    ///
    /// As the method for functions that are not async.
    @_documentation(visibility: internal)
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., capacity: Int, within limit: Duration? = nil,
        body: @escaping @Sendable () async throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) async throws -> TypedOperation<Output> {
        try await take(
            TypedOperation(body: body).at(file, line), capacity: capacity, within: limit, traits)
    }

    /// Adds a function as an operation, if fewer than `capacity` operations are in the queue.
    ///
    /// ```swift
    /// guard queue.tryAdd(capacity: 100, body: { try handle(request) }) != nil else {
    ///     return .serviceUnavailable
    /// }
    /// ```
    ///
    /// However many threads call this method, they never put more than `capacity` operations into
    /// the queue together, as they would if they compared ``operationCount`` before they add.
    /// Producers that wait for capacity, in `add(_:capacity:body:)`, come first. Barriers are not
    /// counted.
    ///
    /// - Parameters:
    ///   - traits: the operation's name, as a string, and further settings.
    ///   - capacity: how many operations, waiting or running, the queue may hold with this one; 1
    ///     or more.
    ///   - body: the work.
    ///   - file: the file of the call. Messages call an operation without a name by the place.
    ///   - line: the line of the call.
    /// - Returns: the operation; nil if the queue is full, or was shut down. Then nothing is added.
    @discardableResult
    public final func tryAdd<Output: Sendable>(
        _ traits: any OperationTraitOrName..., capacity: Int,
        body: @escaping @Sendable () throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output>? {
        takeUnlessFull(made(body).at(file, line), capacity: capacity, traits)
    }

    /// Adds an async function as an operation, if fewer than `capacity` operations are in the
    /// queue.
    ///
    /// As the method for functions that are not async.
    @_documentation(visibility: internal)
    @discardableResult
    public final func tryAdd<Output: Sendable>(
        _ traits: any OperationTraitOrName..., capacity: Int,
        body: @escaping @Sendable () async throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output>? {
        takeUnlessFull(
            TypedOperation(body: body).at(file, line), capacity: capacity, traits)
    }

    /// The capacity for an addition that asks for this one: a queue that drops the newest
    /// operations may have less.
    private func obeyed(_ capacity: Int) -> Int {
        guard let overflow, !overflow.dropsOldest else { return capacity }
        return min(capacity, overflow.capacity)
    }

    private func takeUnlessFull<Output>(
        _ operation: TypedOperation<Output>, capacity: Int, _ traits: [any OperationTraitOrName]
    ) -> TypedOperation<Output>? {
        if !traits.isEmpty { operation.apply(traits) }
        guard !isShutDown, let reservation = reserveCapacity(below: obeyed(capacity)) else {
            // An operation that others join adds nothing.
            let other = joined(by: operation, isAdded: false)
            if other == nil, isObserved, !isShutDown { recordRefusal(of: operation) }
            return other
        }
        if let other = joined(by: operation) { return other }
        applyQueueQuality(to: operation)
        reservation.add(operation)
        return operation
    }

    fileprivate func take<Output>(
        _ operation: TypedOperation<Output>, capacity: Int, within limit: Duration?,
        _ traits: [any OperationTraitOrName]
    ) async throws -> TypedOperation<Output> {
        if !traits.isEmpty { operation.apply(traits) }
        // No other operation joins this one while it waits for capacity: it may give up, and is in
        // no queue.
        if let other = joined(by: operation, isAdded: false) { return other }
        let reservation: CapacityReservation
        do {
            reservation = try await acquireCapacity(below: obeyed(capacity), within: limit)
        } catch {
            if error is OperationQueueFull, isObserved { recordRefusal(of: operation) }
            throw error
        }
        if isShutDown {
            throw OperationCancellation(operation: operation.label, reason: shutDownReason)
        }
        if let other = joined(by: operation) { return other }
        applyQueueQuality(to: operation)
        reservation.add(operation)
        return operation
    }
}

extension _OperationQueueMembers {
    /// Adds a function that runs on the main actor, once fewer than `capacity` operations are in
    /// the queue.
    ///
    /// As the method for functions of no actor.
    @_documentation(visibility: internal)
    @discardableResult
    public func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., capacity: Int, within limit: Duration? = nil,
        body: @escaping @MainActor @Sendable () throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) async throws -> TypedOperation<Output> {
        try await take(
            made(onMainActor: body).at(file, line), capacity: capacity, within: limit,
            traits)
    }
}
