import OperationsRuntime

extension OperationQueue {
    /// Adds an operation that ends with the first success of several operations, and has its
    /// result.
    ///
    /// ```swift
    /// let mirrors = urls.map { url in queue.add { try await download(url) } }
    /// let archive = queue.add("archive", firstOf: mirrors, cancelsOthers: true)
    /// queue.add(after: archive) { bytes in try unpack(bytes) }
    /// ```
    ///
    /// The operation takes no slot of the queue while it waits. Failures and cancellations among
    /// the others do not matter while one of them can still succeed. If none does, the operation
    /// fails with their error, or with ``CollectedErrors`` if several failed. It is cancelled if
    /// all were cancelled. The failures of the others are expected: they do not end the
    /// ``withOperationQueue(name:width:onFailure:isolation:_:)`` that these belong to.
    ///
    /// - Parameters:
    ///   - traits: the operation's name, as a string, and further settings.
    ///   - operations: the operations to wait for, in any queues; at least one.
    ///   - cancelsOthers: whether to cancel the others after the first success, with the reason
    ///     ``CancellationReason/replaced(by:)``, and all of them if this operation is cancelled.
    ///   - file: the file of the call. Messages call an operation without a name by the place.
    ///   - line: the line of the call.
    /// - Complexity: O(operations).
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., firstOf operations: [TypedOperation<Output>],
        cancelsOthers: Bool = false,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(traits, firstOf: operations, cancelsOthers, CallSite(file, line)) { try $0.result }
    }

    /// Adds an operation that ends with the first success of several operations, and has its
    /// result.
    ///
    /// As the method for an array of operations.
    @discardableResult
    public final func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., firstOf first: TypedOperation<Output>,
        _ rest: TypedOperation<Output>..., cancelsOthers: Bool = false,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(traits, firstOf: [first] + rest, cancelsOthers, CallSite(file, line)) { try $0.result }
    }

    /// Adds an operation that ends with the first success of several operations without results,
    /// and returns that operation.
    ///
    /// As the method for operations with results.
    @discardableResult
    @_disfavoredOverload
    public final func add(
        _ traits: any OperationTraitOrName..., firstOf operations: [Operation],
        cancelsOthers: Bool = false,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Operation> {
        add(traits, firstOf: operations, cancelsOthers, CallSite(file, line)) { $0 }
    }

    /// - Parameter read: returns the result of the operation that has succeeded first.
    private func add<Element: Operation, Output>(
        _ traits: [any OperationTraitOrName], firstOf operations: [Element], _ cancelsOthers: Bool,
        _ site: CallSite,
        _ read: @escaping @Sendable (Element) throws -> Output
    ) -> TypedOperation<Output> {
        let operation = FirstSuccess(FirstDecision(operations, cancelsOthers, read), in: self)
        operation.site = site
        return take(operation, traits)
    }
}

/// The operation that waits for the first success of others.
///
/// It depends on all of them, and has an override of `isReady`: it is ready once one of them has
/// succeeded, or all have ended. Each of the others has a waiter, which records the first success
/// and has the override read again. If all have ended, the dependencies themselves make the
/// operation ready, perhaps before the last waiter was called. So the body does not rely on the
/// record.
private final class FirstSuccess<Element: Operation, Output: Sendable>: TypedOperation<Output>,
    @unchecked Sendable
{
    // Unchecked: the properties are constant after the initializer.

    private let decision: FirstDecision<Element, Output>
    private var waiters: [(operation: Element, ticket: TicketList<Waiter>.Ticket)] = []

    init(_ decision: FirstDecision<Element, Output>, in queue: OperationQueue) {
        if decision.operations.isEmpty {
            misuse("\(queue.label) cannot wait for the first of no operations: pass at least one")
        }
        self.decision = decision
        super.init { () throws in try decision.output() }
        for operation in decision.operations {
            operation.expectFailure()
            addDependency(operation)
            // The operation itself calls the handler, if anything does, so it is alive then.
            let waiter = Waiter.handler { [weak self, unowned operation] in
                operation.observeFailure()
                self?.hasEnded(operation)
            }
            if let ticket = operation.register(waiter) {
                waiters.append((operation, ticket))
            } else {
                operation.observeFailure()
                hasEnded(operation)
            }
        }
    }

    deinit {
        // An operation that goes on for long, or never runs, must not gather waiters.
        for (operation, ticket) in waiters {
            operation.withExtras { _ = $0.waiters.remove(ticket) }
        }
    }

    override var isReady: Bool { decision.winner != nil || super.isReady }

    override var needsOneDependency: Bool { true }

    private func hasEnded(_ operation: Element) {
        let outcome = operation.status.outcome
        if outcome == .cancelled, decision.isLastCancelled() {
            // Without a body to run, the operation needs no slot, and leaves a suspended queue.
            return cancel(because: decision.reasonOfCancellation)
        }
        // The rest of them may wait for this operation, and none can free it any more.
        guard outcome == .succeeded else { return CycleWatch.suspect() }
        guard decision.isFirst(operation) else { return }
        transition { $0.readinessAnnounced() }
        decision.cancelOthers(than: operation, because: .replaced(by: operation.label))
    }

    override func cancel() {
        super.cancel()
        let reason = CancellationReason.message("\(label), which waited for it, was cancelled")
        if decision.winner == nil { decision.cancelOthers(than: nil, because: reason) }
    }
}

/// Which of several operations has succeeded first.
private final class FirstDecision<Element: Operation, Output: Sendable>: Sendable {
    let operations: [Element]
    private let cancelsOthers: Bool
    private let read: @Sendable (Element) throws -> Output
    private struct State: Sendable {
        var first: Element?
        /// How many of the operations have not ended with a cancellation.
        var others: Int
    }
    private let state: Locked<State>

    init(
        _ operations: [Element], _ cancelsOthers: Bool,
        _ read: @escaping @Sendable (Element) throws -> Output
    ) {
        (self.operations, self.cancelsOthers, self.read) = (operations, cancelsOthers, read)
        state = Locked(State(others: operations.count))
    }

    var winner: Element? { state.withLock { $0.first } }

    /// Records a success. Returns whether it is the first.
    func isFirst(_ operation: Element) -> Bool {
        state.withLock { state in
            guard state.first == nil else { return false }
            state.first = operation
            return true
        }
    }

    /// Records that one of the operations was cancelled. Returns whether all were.
    func isLastCancelled() -> Bool {
        state.withLock { state in
            state.others -= 1
            return state.others == 0
        }
    }

    /// Why the operation is cancelled if all of the others were.
    var reasonOfCancellation: CancellationReason {
        operations.count == 1
            ? .dependencyCancelled(operation: operations[0].label)
            : .message("all of \(operations.map(\.label).joined(separator: ", ")) were cancelled")
    }

    func cancelOthers(than winner: Element?, because reason: CancellationReason) {
        guard cancelsOthers else { return }
        Operation.cancel(
            operations.filter { $0 !== winner && $0.status.phase != .finished }, because: reason)
    }

    func output() throws -> Output {
        if let winner = winner ?? operations.first(where: { $0.status.outcome == .succeeded }) {
            return try read(winner)
        }
        var failures: [CollectedErrors.Failure] = []
        for operation in operations {
            guard let failure = operation.observeFailure() else { continue }
            failures.append(.init(operation: failure.operation, error: failure.error))
        }
        if failures.count > 1 { throw CollectedErrors(failures: failures) }
        if let failure = failures.first { throw failure.error }
        // All were cancelled.
        Operation.current?.cancel(because: reasonOfCancellation)
        throw CancellationError()
    }
}

extension Operation {
    /// Marks a failure of the operation as expected, whether it has come already or not.
    fileprivate final func expectFailure() {
        // A scope looks for the dependents that handle a failure only where this flag is set.
        withLock { _ = lifecycle.insert(.hasConditions) }
        let failure = withExtras { extras in
            extras.mayFail = true
            return extras.failure
        }
        failure?.handle()
    }

    /// Returns the failure with which the operation has ended, and marks it as observed.
    @discardableResult
    fileprivate final func observeFailure() -> FailureRecord? {
        let failure = endingFailure
        failure?.observe()
        return failure
    }
}
