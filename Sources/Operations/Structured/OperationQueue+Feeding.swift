extension OperationQueue {
    /// Adds an operation for each element of a sequence, no more than a number at a time, and returns when all
    /// have ended.
    ///
    /// ```swift
    /// try await queue.add(each: lines, within: 100) { line in try await index(line) }
    /// ```
    ///
    /// The sequence is iterated on the calling task, and its next element is taken only when there is room; so
    /// memory does not grow with its length. The queue's width decides how many run at a time, among all that
    /// is in the queue.
    ///
    /// The first operation that fails, or is cancelled by somebody, cancels the others of this call, and is
    /// thrown when they have ended; other operations in the queue are left alone. A cancellation of the calling
    /// task does the same, with `CancellationError`. Bodies have the task's task-local values.
    ///
    /// - Parameters:
    ///   - name: a name for people, of all of them.
    ///   - traits: what else is to be said about each operation.
    ///   - elements: what there is to do.
    ///   - count: how many of them may be in the queue at the same time, waiting or running.
    ///   - isolation: where the sequence is iterated: on the caller's actor.
    ///   - body: runs on worker threads.
    /// - Precondition: not called in an operation of this queue that holds the last slot of its width.
    public final func add<Elements: Sequence>(
        _ name: String? = nil, _ traits: OperationTrait..., each elements: Elements,
        within count: Int, isolation: isolated (any Actor)? = #isolation,
        body: @escaping @Sendable (Elements.Element) async throws -> Void
    ) async throws where Elements.Element: Sendable {
        try await feed(
            SyncSequenceAdapter(elements), within: count, name, traits, isolation: isolation,
            body: body)
    }

    /// Adds an operation for each element of an async sequence, no more than a number at a time, and returns
    /// when all have ended.
    ///
    /// As that for sequences that are not async. An error of the sequence cancels the operations of this call and
    /// is thrown. An error of an operation is thrown when the sequence has come to its next element: a wait
    /// for that one is not interrupted.
    public final func add<Elements: AsyncSequence>(
        _ name: String? = nil, _ traits: OperationTrait..., each elements: Elements,
        within count: Int, isolation: isolated (any Actor)? = #isolation,
        body: @escaping @Sendable (Elements.Element) async throws -> Void
    ) async throws where Elements.Element: Sendable {
        try await feed(elements, within: count, name, traits, isolation: isolation, body: body)
    }

    private func feed<Elements: AsyncSequence>(
        _ elements: Elements, within count: Int, _ name: String?, _ traits: [OperationTrait],
        isolation: isolated (any Actor)?,
        body: @escaping @Sendable (Elements.Element) async throws -> Void
    ) async throws where Elements.Element: Sendable {
        if count < 1 {
            misuse(
                "\(label) cannot be fed within \(count) operations: nothing would ever be added; "
                    + "use 1 or more")
        }
        let window = FeedWindow(of: self, limit: count)
        try await window.feed(elements, isolation: isolation) { element in
            (made(name, traits) { try await body(element) }, nil)
        }
    }

    private func made(
        _ name: String?, _ traits: [OperationTrait],
        body: @escaping @Sendable () async throws -> Void
    ) -> TypedOperation<Void> {
        let operation = TypedOperation(body: body)
        if name != nil || !traits.isEmpty { operation.adopt(name, traits) }
        giveQuality(to: operation)
        return operation
    }
}
