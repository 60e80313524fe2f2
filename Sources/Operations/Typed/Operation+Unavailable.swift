// What people try first with an operation, with the sentence that says what to write.

extension _OperationMembers {
    /// Not available: use ``Operation/cancel(_:because:)``.
    @available(*, unavailable, message: "write: operation.cancel(because: \"…\")")
    public func cancel(reason: CancellationReason) {}

    /// Not available: use ``Operation/finished()``.
    @available(
        *, unavailable,
        message: "write: await operation.finished(), or operation.waitUntilFinished()"
    )
    public func wait() {}

    /// Not available: use ``Operation/finished()``.
    @available(
        *, unavailable,
        message: "write: await operation.finished(), or operation.waitUntilFinished()"
    )
    public func join() {}

    /// Not available: use `queue.add(after:)`.
    @available(
        *, unavailable, message: "write: queue.add(after: operation) { result in … }"
    )
    @discardableResult
    public func then<Input, Output: Sendable>(
        _ body: @escaping @Sendable (Input) async throws -> Output
    ) -> TypedOperation<Output> { fatalError("not available") }

    /// Not available: use `queue.add(after:)`.
    @available(
        *, unavailable, message: "write: queue.add(after: operation) { result in … }"
    )
    @discardableResult
    public func map<Input, Output: Sendable>(
        _ body: @escaping @Sendable (Input) async throws -> Output
    ) -> TypedOperation<Output> { fatalError("not available") }
}
