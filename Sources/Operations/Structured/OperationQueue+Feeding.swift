extension OperationQueue {
    /// Adds an operation for each element of a sequence, up to a given number at a time.
    ///
    /// ```swift
    /// try await queue.add(each: lines, capacity: 100) { line in try await index(line) }
    /// ```
    ///
    /// Returns when all operations have ended. The sequence is iterated on the calling task, and
    /// its next element is taken only when there is capacity, so memory does not grow with the
    /// length of the sequence. The queue's width decides how many operations run at a time, among
    /// all operations in the queue.
    ///
    /// The first operation that fails, or is cancelled from outside, cancels the other operations
    /// of this call; its error is thrown when they have ended. Other operations in the queue are
    /// not affected. A cancellation of the calling task has the same effect, with
    /// `CancellationError`. Bodies have the task's task-local values.
    ///
    /// The sequence may be `async`. An error of it cancels the operations of this call and is
    /// thrown. An error of an operation is then thrown when the sequence has produced its next
    /// element.
    ///
    /// - Parameters:
    ///   - traits: the name of each operation, as a string literal or ``OperationTrait/name(_:)``,
    ///     and further settings.
    ///   - elements: the elements to work through.
    ///   - capacity: how many of the operations may be in the queue at the same time, waiting or
    ///     running.
    ///   - isolation: where the sequence is iterated: on the caller's actor.
    ///   - body: the work for each element, which runs on worker threads.
    ///   - file: the file of the call. Messages call an operation without a name by the place.
    ///   - line: the line of the call.
    /// - Precondition: not called in an operation of this queue that holds the last slot of its
    ///   width.
    public final func add<Elements: Sequence>(
        _ traits: any OperationTraitOrName..., each elements: Elements,
        capacity: Int, isolation: isolated (any Actor)? = #isolation,
        body: @escaping @Sendable (Elements.Element) async throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) async throws where Elements.Element: Sendable {
        try await feed(
            SyncSequenceAdapter(elements), capacity: capacity, traits, CallSite(file, line),
            isolation: isolation, body: body)
    }

    /// Adds an operation for each element of an async sequence, up to a given number at a time.
    ///
    /// As the method for sequences that are not async. An error of the sequence cancels the
    /// operations of this call and is thrown. An error of an operation is thrown when the sequence
    /// has produced its next element: the error does not interrupt a wait for that element.
    @_documentation(visibility: internal)
    public final func add<AsyncElements: AsyncSequence>(
        _ traits: any OperationTraitOrName..., each elements: AsyncElements,
        capacity: Int, isolation: isolated (any Actor)? = #isolation,
        body: @escaping @Sendable (AsyncElements.Element) async throws -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) async throws where AsyncElements.Element: Sendable {
        try await feed(
            elements, capacity: capacity, traits, CallSite(file, line), isolation: isolation,
            body: body)
    }

    private func feed<Elements: AsyncSequence>(
        _ elements: Elements, capacity: Int, _ traits: [any OperationTraitOrName], _ site: CallSite,
        isolation: isolated (any Actor)?,
        body: @escaping @Sendable (Elements.Element) async throws -> Void
    ) async throws where Elements.Element: Sendable {
        if capacity < 1 {
            misuse(
                "\(label) cannot be fed with a capacity of \(capacity): nothing would ever be added; "
                    + "use 1 or more")
        }
        let window = FeedWindow(of: self, limit: capacity)
        try await window.feed(elements, isolation: isolation) { element in
            (made(traits, site) { try await body(element) }, nil)
        }
    }

    private func made(
        _ traits: [any OperationTraitOrName], _ site: CallSite,
        body: @escaping @Sendable () async throws -> Void
    ) -> TypedOperation<Void> {
        let operation = TypedOperation(body: body)
        operation.site = site
        if !traits.isEmpty { operation.apply(traits) }
        applyQueueQuality(to: operation)
        return operation
    }
}
