import OperationsRuntime

/// The operations that are made from a sequence, of which only a limited number exist at a time.
///
/// One task feeds the window; see `feed`. Each operation reports its end when it has left its
/// queue. The first operation that does not succeed, an error of the sequence, or a cancellation of
/// the task ends the feeding and cancels the remaining operations.
final class FeedWindow: Sendable {
    private struct State {
        /// The unfinished operations, by number.
        var operations: [Int: Operation] = [:]
        var lastNumber = 0
        var end: EarlyEnd?
        /// The feeding task, and how many operations may be left for it to go on.
        var waiter: (CheckedContinuation<Void, Never>, atMost: Int)?

        mutating func takeWaiter(
            unlessMoreThan enough: Int
        ) -> CheckedContinuation<Void, Never>? {
            guard let (continuation, limit) = waiter, operations.count <= limit,
                end != nil || operations.count <= enough
            else { return nil }
            waiter = nil
            return continuation
        }
    }

    private let queue: OperationQueue
    private let limit: Int
    private let state = Locked(State())

    init(of queue: OperationQueue, limit: Int) {
        self.queue = queue
        self.limit = limit
    }

    // MARK: For the feeding task

    // These methods run on the caller's actor: the feeding task need not leave it while there is
    // capacity.

    /// Waits until there is capacity for another operation; returns false if no more are to be
    /// added.
    private func hasCapacity(isolation: isolated (any Actor)?) async -> Bool {
        await waitUntilLeft(atMost: limit - 1, isolation: isolation)
        return state.withLock { $0.end == nil }
    }

    private func waitUntilLeft(atMost count: Int, isolation: isolated (any Actor)?) async {
        let left = state.withLock { $0.operations.count > count ? $0.operations : nil }
        guard let left else { return }
        // Only inside an operation of this queue can the waiting task hold what the operations
        // need.
        let wait =
            TaskContext.queue === queue
            ? BlockedWait.task(.operations(Array(left.values)), mustEnd: true) : nil
        defer { wait?.end() }
        await withCheckedContinuation { continuation in
            let hasPassed = state.withLock { state in
                if state.operations.count <= count { return true }
                state.waiter = (continuation, count)
                return false
            }
            if hasPassed { continuation.resume() }
        }
    }

    /// Adds an operation to the queue, unless the feeding has ended.
    ///
    /// - Parameter onSuccess: called with the output of an operation that has succeeded, while the
    ///   window still waits for that operation.
    private func add<Output>(
        _ operation: TypedOperation<Output>, _ onSuccess: (@Sendable (Output) -> Void)?
    ) {
        let number: Int? = state.withLock { state in
            guard state.end == nil else { return nil }
            state.lastNumber += 1
            state.operations[state.lastNumber] = operation
            return state.lastNumber
        }
        guard let number else { return }
        _ = operation.addWaiter(
            // The operation itself calls the handler, if anything does, so it is alive then.
            .handler { [unowned operation] in self.ended(operation, number, onSuccess) })
        queue.addOperation(operation)
    }

    // MARK: Ends

    private func ended<Output>(
        _ operation: TypedOperation<Output>, _ number: Int,
        _ onSuccess: (@Sendable (Output) -> Void)?
    ) {
        do {
            let output = try operation.result
            onSuccess?(output)
        } catch {
            let cancellation = error as? OperationCancellation
            end(
                cancellation.map { .operationCancelled($0) }
                    ?? .operationFailed(operation.label, error))
        }
        let enough = enoughForNow
        let (waiter, gone) = state.withLock { state in
            let gone = state.operations.removeValue(forKey: number)
            return (state.takeWaiter(unlessMoreThan: enough), gone)
        }
        withExtendedLifetime(gone) {}
        waiter?.resume()
    }

    /// How many operations may be left for the feeding task to be woken at once. Half the limit
    /// while more than half are ready: these wait only for the width of their queue, and waking the
    /// feeding task for each of them takes longer than many operations do. Otherwise the limit.
    private var enoughForNow: Int {
        let half = limit / 2
        return half >= 4 && queue.snapshot { $0.ready.count } > half ? half : limit
    }

    private func end(_ end: EarlyEnd) {
        let rest: [Operation]? = state.withLock { state in
            guard state.end == nil else { return nil }
            state.end = end
            return state.operations.byNumber
        }
        if let rest { Operation.cancel(rest, because: end.reason) }
    }

    // MARK: Feeding

    // Unless the caller is on an actor, feeding runs on the workers, where each operation ends. A
    // closure runs on the caller's actor if it mentions `isolation`.

    /// Turns the elements into operations, and returns when all of these have ended.
    ///
    /// - Throws: the error that ended the feeding early.
    func feed<Elements: AsyncSequence, Output>(
        _ elements: Elements, isolation: isolated (any Actor)?,
        make: (Elements.Element) -> (TypedOperation<Output>, (@Sendable (Output) -> Void)?)
    ) async throws {
        try await withTaskCancellationHandler {
            _ = isolation
            try await withTaskExecutorPreference(PoolExecutor.unlessInBody) {
                _ = isolation
                do {
                    var iterator = elements.makeAsyncIterator()
                    while await hasCapacity(isolation: isolation),
                        let element = try await iterator.next(isolation: isolation)
                    {
                        let (operation, onSuccess) = make(element)
                        add(operation, onSuccess)
                    }
                } catch {
                    end(.thrown(error))
                }
                try await finish(isolation: isolation)
            }
        } onCancel: {
            end(.taskCancelled)
        }
    }

    private func finish(isolation: isolated (any Actor)?) async throws {
        await waitUntilLeft(atMost: 0, isolation: isolation)
        if let end = state.withLock({ $0.end }) { throw end.error }
    }
}

extension [Int: Operation] {
    /// The operations in the order of their numbers.
    var byNumber: [Operation] { sorted { $0.key < $1.key }.map(\.value) }
}
