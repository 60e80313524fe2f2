// Operations whose bodies run on the main actor. A worker of the queue takes the operation, which
// keeps its slot from its start until the body has returned on the main actor.
//
// The parameter `actor` exists because two methods of one type cannot differ only in the isolation
// of a closure. Callers never need to write it.

extension OperationQueue {
    /// Adds a block that runs on the main actor, as an operation with the queue's quality of
    /// service.
    ///
    /// ```swift
    /// queue.addOperation { @MainActor in label.text = "done" }
    /// ```
    ///
    /// The operation takes a slot of the queue's width while its block waits for the main actor, so
    /// a main actor that stays busy holds up a narrow queue.
    public final func addOperation(
        _ block: @escaping @MainActor @Sendable () -> Void,
        on actor: MainActor.Type = MainActor.self
    ) {
        add(body: block, on: actor)
    }

    /// Not available: the other `addOperation(_:)` takes a block that neither throws nor awaits.
    @available(
        *, unavailable,
        message: "addOperation takes a block that neither throws nor awaits: use add { … }"
    )
    @_disfavoredOverload
    public final func addOperation(_ block: @escaping @Sendable () async throws -> Void) {
        add(body: block)
    }

    /// Adds a function that runs on the main actor, as an operation with a result.
    ///
    /// The operation keeps its slot of the queue's width while its body waits for the main actor.
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: OperationTrait...,
        body: @escaping @MainActor @Sendable () throws -> Output,
        on actor: MainActor.Type = MainActor.self
    ) -> TypedOperation<Output> {
        take(TypedOperation(onMainActor: body), traits)
    }

    /// Adds a function that runs on the main actor after other operations, with their results.
    ///
    /// ```swift
    /// queue.add(after: picture) { @MainActor picture in view.show(picture) }
    /// ```
    @discardableResult
    public final func add<Output: Sendable, First: Sendable, each Rest: Sendable>(
        _ traits: OperationTrait...,
        after first: TypedOperation<First>, _ rest: repeat TypedOperation<each Rest>,
        body: @escaping @MainActor @Sendable (First, repeat each Rest) throws -> Output,
        on actor: MainActor.Type = MainActor.self
    ) -> TypedOperation<Output> {
        take(TypedOperation(onMainActorAfter: first, repeat each rest, body: body), traits)
    }
}

extension TypedOperation {
    fileprivate convenience init(
        onMainActor body: @escaping @MainActor @Sendable () throws -> Output
    ) {
        let hop: nonisolated(nonsending) @Sendable () async throws -> Output = { try await body() }
        self.init(body: hop)
    }

    fileprivate convenience init<First: Sendable, each Rest: Sendable>(
        onMainActorAfter first: TypedOperation<First>, _ rest: repeat TypedOperation<each Rest>,
        body: @escaping @MainActor @Sendable (First, repeat each Rest) throws -> Output
    ) {
        let hop: nonisolated(nonsending) @Sendable () async throws -> Output = {
            try await body(first.result, repeat (each rest).result)
        }
        self.init(body: hop)
        depend(on: first, repeat each rest)
    }
}
