// Blocks that throw or await, with the sentence that says what to write.

extension BlockOperation {
    /// Not available: a block operation takes a block that neither throws nor awaits.
    @available(
        *, unavailable,
        message: """
            BlockOperation takes a block that neither throws nor awaits: use queue.add { … } or \
            TypedOperation { … }
            """
    )
    @_disfavoredOverload
    public convenience init(block: @escaping @Sendable () async throws -> Void) { self.init() }

    /// Not available: a block operation takes blocks that neither throw nor await.
    @available(
        *, unavailable,
        message: """
            addExecutionBlock takes a block that neither throws nor awaits: use queue.add { … } for \
            each block
            """
    )
    @_disfavoredOverload
    public final func addExecutionBlock(_ block: @escaping @Sendable () async throws -> Void) {}
}
