import OperationsRuntime

extension OperationQueue {
    /// Returns the result of work that several tasks need at the same time, and that is done only
    /// once for all of them.
    ///
    /// ```swift
    /// func page(_ url: URL) async throws -> Page {
    ///     try await queue.sharedValue("page", by: url) { try await download(url) }
    /// }
    /// ```
    ///
    /// The first task adds an operation. Until that operation finishes, other tasks with an equal
    /// key wait for its result, and their own bodies are not called. If a task is cancelled, its
    /// wait ends at once. When the last waiting task is cancelled, the operation is cancelled. What
    /// a body captures is released at the latest when the call has returned and the operation has
    /// ended; a call whose own body is not called keeps nothing after it has returned.
    ///
    /// The operation has the highest priority of the waiting tasks, which changes as tasks come and
    /// go. If the body itself calls this method, in any queue, then that call has at least the
    /// priority of the operation that the body belongs to. Such a body keeps its slot while it
    /// waits, so let it wait for a different queue.
    ///
    /// Keys of this method are separate from those of ``OperationTrait/deduplicated(by:)``. Unless
    /// a result is kept, a call that comes after the end of the operation does the work again.
    ///
    /// - Parameters:
    ///   - traits: the operation's name and further settings; those of the first task count.
    ///   - key: what the work depends on. Calls with equal keys must have results of one type;
    ///     different types stop the program.
    ///   - time: for how long a result is kept after the end of the work, for calls that come
    ///     then; not at all unless given. That of the first task counts. Errors are not kept.
    ///   - priority: the priority that this task gives to the operation.
    ///   - body: the work, as for `add`.
    ///   - file: the file of the call. Messages call an operation without a name by the place.
    ///   - line: the line of the call.
    /// - Throws: the error of the body; `CancellationError` if the calling task is cancelled;
    ///   ``OperationCancellation`` if the operation is cancelled by other means.
    public final func sharedValue<Output: Sendable>(
        _ traits: any OperationTraitOrName..., by key: some Hashable & Sendable,
        keepingFor time: Duration? = nil, priority: Operation.QueuePriority = .normal,
        body: @escaping @Sendable () throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) async throws -> Output {
        try await share(OperationKey(key), traits, keepingFor: time, priority) { _ in
            made(body).at(file, line)
        }
    }

    /// Returns the result of asynchronous work that several tasks need at the same time, and that
    /// is done only once for all of them.
    ///
    /// The operation keeps its slot of the queue's width until the function has returned.
    @_documentation(visibility: internal)
    public final func sharedValue<Output: Sendable>(
        _ traits: any OperationTraitOrName..., by key: some Hashable & Sendable,
        keepingFor time: Duration? = nil, priority: Operation.QueuePriority = .normal,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) async throws -> Output {
        try await share(OperationKey(key), traits, keepingFor: time, priority) { work in
            TypedOperation { () async throws -> Output in
                try await KeyedWork.$current.withValue(work) { try await body() }
            }.at(file, line)
        }
    }

    fileprivate func share<Output: Sendable>(
        _ key: OperationKey, _ traits: [any OperationTraitOrName], keepingFor time: Duration?,
        _ priority: Operation.QueuePriority, _ make: (KeyedWork) -> TypedOperation<Output>
    ) async throws -> Output {
        try Task.checkCancellation()
        let table = keyedWork
        let new = KeyedWork(priority: priority, keepingFor: time)
        let (work, ticket) = enter(table, key, traits, priority, new, make)
        let outer = KeyedWork.current
        let input = outer?.add(.init(work: work, ticket: ticket, priority: priority))
        defer { if let input { outer?.removeInput(input) } }
        guard let shared = work.operation as? TypedOperation<Output> else {
            let misuse = OperationMisuse.sharing(with: key, in: label, by: Output.self)
            misuse.refuse()
            if work.leave(ticket), !work.isKept { table.forget(key, of: work) }
            throw misuse
        }
        await shared.finishedUnlessCancelled()
        let hasFinished = shared.status.phase == .finished
        if let time = work.beginKeeping() {
            _ = self.time.schedule(after: time) {
                work.endKeeping()
                table.forget(key, of: work)
            }
        }
        let isLast = work.leave(ticket)
        if hasFinished ? !work.isKept : isLast { table.forget(key, of: work) }
        guard hasFinished else {
            if isLast { shared.cancel(because: .taskCancelled) }
            throw CancellationError()
        }
        return try shared.result
    }

    /// Enters the work with the key. Makes and adds an operation if there is no such work.
    ///
    /// A function of its own: a task that joins other work releases the operation that it has made
    /// before it waits.
    private func enter<Output: Sendable>(
        _ table: KeyedWorkTable, _ key: OperationKey, _ traits: [any OperationTraitOrName],
        _ priority: Operation.QueuePriority, _ new: KeyedWork,
        _ make: (KeyedWork) -> TypedOperation<Output>
    ) -> (work: KeyedWork, ticket: Int) {
        let operation = make(new)
        operation.apply(traits)
        operation.queuePriority = priority
        applyQueueQuality(to: operation)
        let (work, ticket, isNew) = table.enter(key, priority, new: new, of: operation)
        if isNew { addOperation(operation) }
        return (work, ticket)
    }

    /// The work that tasks share by keys; made when first needed.
    final var keyedWork: KeyedWorkTable { attachment { KeyedWorkTable() } }
}

extension _OperationQueueMembers {
    /// Returns the result of work on the main actor that several tasks need at the same time, and
    /// that is done only once for all of them.
    ///
    /// The operation keeps its slot of the queue's width until the function has returned.
    @_documentation(visibility: internal)
    public func sharedValue<Output: Sendable>(
        _ traits: any OperationTraitOrName..., by key: some Hashable & Sendable,
        keepingFor time: Duration? = nil, priority: Operation.QueuePriority = .normal,
        body: @escaping @MainActor @Sendable () throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) async throws -> Output {
        try await share(OperationKey(key), traits, keepingFor: time, priority) { _ in
            made(onMainActor: body).at(file, line)
        }
    }
}

extension Operation {
    /// Suspends the calling task until the operation has finished, or until the task is cancelled.
    fileprivate final func finishedUnlessCancelled() async {
        if let operation = TaskContext.operation { promote(byWaitOf: operation) }
        let companion = companionOfWait()
        defer { companion?.waitEnded() }
        await TimedWait.untilCancelled { wait in
            register(.handler { wait.end(inTime: true) })
        } leave: { ticket in
            withExtras { _ = $0.waiters.remove(ticket) }
        }
    }
}
