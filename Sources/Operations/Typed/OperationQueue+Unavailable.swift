// What people try first, with the sentence that says what to write.
//
// Methods that a subclass in a program may have as its own belong to protocols: a subclass can hide
// a protocol's method, but cannot declare one that its class has in an extension.

extension OperationQueue {
    /// Not available: use `add("name") { … }`.
    @available(*, unavailable, message: "the name is the first argument: add(\"name\") { … }")
    @discardableResult
    public final func add<Output: Sendable>(
        name: String, _ traits: any OperationTraitOrName...,
        body: @escaping @Sendable () async throws -> Output
    ) -> TypedOperation<Output> { add(body: body) }

    /// Not available: use `add(.priority(.high)) { … }`.
    @available(*, unavailable, message: "the priority is a trait: add(.priority(.high)) { … }")
    @discardableResult
    public final func add<Output: Sendable>(
        priority: Operation.QueuePriority,
        body: @escaping @Sendable () async throws -> Output
    ) -> TypedOperation<Output> { add(body: body) }

    /// Not available: use `add(.timeout(.seconds(5))) { … }`.
    @available(*, unavailable, message: "the timeout is a trait: add(.timeout(.seconds(5))) { … }")
    @discardableResult
    public final func add<Output: Sendable>(
        timeout: Duration, body: @escaping @Sendable () async throws -> Output
    ) -> TypedOperation<Output> { add(body: body) }

    /// Not available: use `add(.delay(.seconds(1))) { … }`.
    @available(*, unavailable, message: "the delay is a trait: add(.delay(.seconds(1))) { … }")
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., after delay: Duration,
        body: @escaping @Sendable () async throws -> Output
    ) -> TypedOperation<Output> { add(body: body) }

    /// Not available: use ``cancelAllOperations()``.
    @available(*, unavailable, renamed: "cancelAllOperations()")
    public final func cancelAll() { cancelAllOperations() }

    /// Not available: use ``init(name:width:order:file:line:)``.
    @available(*, unavailable, renamed: "init(width:)")
    public convenience init(maxConcurrentOperationCount: Int) {
        self.init(width: maxConcurrentOperationCount)
    }

    /// Not available: use ``init(name:width:order:file:line:)``.
    @available(*, unavailable, renamed: "init(name:)")
    public convenience init(label: String) { self.init(name: label) }

    /// Not available: a barrier takes a block that neither throws nor awaits.
    @available(
        *, unavailable,
        message:
            "addBarrierBlock takes a block that neither throws nor awaits: add an operation after the others, as in add(after: queue.operations, on: .always) { … }"
    )
    @_disfavoredOverload
    public final func addBarrierBlock(_ barrier: @escaping @Sendable () async throws -> Void) {}
}

extension _OperationQueueMembers {
    /// Not available: use ``OperationQueue/isSuspended``.
    @available(*, unavailable, message: "write: queue.isSuspended = true")
    public func suspend() {}

    /// Not available: use ``OperationQueue/isSuspended``.
    @available(*, unavailable, message: "write: queue.isSuspended = true")
    public func pause() {}

    /// Not available: use ``OperationQueue/isSuspended``.
    @available(*, unavailable, message: "write: queue.isSuspended = false")
    public func resume() {}

    /// Not available: use ``OperationQueue/finished()``.
    @available(
        *, unavailable,
        message: "write: await queue.finished(), or queue.waitUntilAllOperationsAreFinished()"
    )
    public func wait() {}

    /// Not available: use ``OperationQueue/finished()``.
    @available(
        *, unavailable,
        message: "write: await queue.finished(), or queue.waitUntilAllOperationsAreFinished()"
    )
    public func join() {}

    /// Not available: use ``OperationQueue/finished()``.
    @available(
        *, unavailable,
        message: "write: await queue.finished(), or queue.waitUntilAllOperationsAreFinished()"
    )
    public func drain() {}
}
