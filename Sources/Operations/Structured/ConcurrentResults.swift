// Results of a function for each element of a sequence, as they finish.

import OperationsRuntime

extension Sequence where Element: Sendable {
    /// Transforms the elements, a few at a time, and returns each result with its element as soon
    /// as it is there: in the order in which the work ends, not in that of the elements.
    ///
    /// ```swift
    /// for try await (url, picture) in urls.concurrentResults(width: 8, { try await decode($0) }) {
    ///     show(picture, for: url)
    /// }
    /// ```
    ///
    /// The sequence is iterated by the loop, on its task. While `width` elements are under way, or
    /// have a result that the loop has not taken, no further element is taken: a slow loop slows
    /// the work down. The first error cancels the work on the other elements, and is thrown when
    /// that work has ended; let `transform` return a `Result` to go on after errors. A cancellation
    /// of the task has the same effect, with `CancellationError`. Bodies have the task-local values
    /// of the task.
    ///
    /// If the loop is left early, the rest of the work is cancelled, and ends some time later. To
    /// wait for that, use ``concurrentResults(width:_:consume:)``.
    ///
    /// - Parameters:
    ///   - width: how many elements at a time; the number of cores unless given.
    ///   - transform: the function, which runs on worker threads.
    public func concurrentResults<Output: Sendable>(
        width: Int? = nil, _ transform: @escaping @Sendable (Element) async throws -> Output
    ) -> ConcurrentResults<Element, Output> {
        ConcurrentResults(width: width, transform) {
            var iterator = makeIterator()
            return .calls { iterator.next() }
        }
    }

    /// Passes the results of a function for each element to `consume`, as they finish, and returns
    /// when no work is left.
    ///
    /// ```swift
    /// let first = try await mirrors.concurrentResults(width: 4) { try await fetch($0) } consume: {
    ///     results in
    ///     for try await (_, page) in results { return page }  // the other requests are cancelled
    ///     return nil
    /// }
    /// ```
    ///
    /// As ``concurrentResults(width:_:)``. When `consume` returns or throws, the work that is left
    /// is cancelled, and this method waits until it has ended.
    nonisolated(nonsending)
        public func concurrentResults<Output: Sendable, Outcome, Failure: Error>(
            width: Int? = nil, _ transform: @escaping @Sendable (Element) async throws -> Output,
            consume:
                nonisolated(nonsending) (ConcurrentResults<Element, Output>) async throws(Failure)
                -> Outcome
        ) async throws(Failure) -> Outcome
    {
        try await concurrentResults(width: width, transform).consumed(by: consume)
    }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Transforms the elements, a few at a time, and returns each result with its element as soon
    /// as it is there.
    ///
    /// ```swift
    /// let reports = uploads.concurrentResults(width: 4) { upload in try await scan(upload) }
    /// for try await (upload, report) in reports {
    ///     print(upload.name, report)
    /// }
    /// ```
    ///
    /// As the method of sequences that are not async, but a task of its own iterates the sequence,
    /// so that the loop gets results while that task waits for an element. An error of the sequence
    /// itself cancels the work that is under way, and is thrown when that work has ended.
    public func concurrentResults<Output: Sendable>(
        width: Int? = nil, _ transform: @escaping @Sendable (Element) async throws -> Output
    ) -> ConcurrentResults<Element, Output> {
        ConcurrentResults(width: width, transform) {
            .task { add in
                for try await element in self where await !add(element) { return }
            }
        }
    }

    /// Passes the results of a function for each element to `consume`, as they finish, and returns
    /// when no work is left.
    ///
    /// As the method of sequences that are not async.
    nonisolated(nonsending)
        public func concurrentResults<Output: Sendable, Outcome, Failure: Error>(
            width: Int? = nil, _ transform: @escaping @Sendable (Element) async throws -> Output,
            consume:
                nonisolated(nonsending) (ConcurrentResults<Element, Output>) async throws(Failure)
                -> Outcome
        ) async throws(Failure) -> Outcome
    {
        try await concurrentResults(width: width, transform).consumed(by: consume)
    }
}

/// Elements with the results of a function, as they finish; made by
/// ``Swift/Sequence/concurrentResults(width:_:)``.
///
/// Each iteration does the work anew.
public struct ConcurrentResults<Input: Sendable, Output: Sendable>: AsyncSequence {
    /// An element of the sequence, and the result of the function for it.
    public typealias Element = (Input, Output)
    /// The type of the errors that an iteration throws.
    public typealias Failure = any Error

    /// Where an iteration gets its elements from.
    fileprivate enum Source {
        /// The iteration calls the function when it wants an element.
        case calls(() -> Input?)
        /// Another task calls the function, which adds elements until `add` returns false.
        case task(@Sendable (_ add: @Sendable (Input) async -> Bool) async throws -> Void)
    }

    private let width: Int
    private let transform: @Sendable (Input) async throws -> Output
    private let makeSource: () -> Source
    private var scope: ResultScope<Input, Output>?

    fileprivate init(
        width: Int?, _ transform: @escaping @Sendable (Input) async throws -> Output,
        source: @escaping () -> Source
    ) {
        self.width = OperationQueue.width(width, of: "concurrentResults")
        (self.transform, makeSource) = (transform, source)
    }

    nonisolated(nonsending)
        fileprivate func consumed<Outcome, Failure: Error>(
            by consume: nonisolated(nonsending) (Self) async throws(Failure) -> Outcome
        ) async throws(Failure) -> Outcome
    {
        let scope = ResultScope<Input, Output>()
        var results = self
        results.scope = scope
        do {
            let outcome = try await consume(results)
            await scope.end()
            return outcome
        } catch {
            await scope.end()
            throw error
        }
    }

    /// Makes an iterator, which begins the work when its first result is requested.
    public func makeAsyncIterator() -> Iterator {
        Iterator(source: makeSource(), width: width, transform: transform, scope: scope)
    }

    /// Does the work for the elements, and returns the results as they finish.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: Source
        private let width: Int
        private let transform: @Sendable (Input) async throws -> Output
        private let scope: ResultScope<Input, Output>?
        private var work: ResultWork<Input, Output>?
        private var isOver = false

        fileprivate init(
            source: Source, width: Int,
            transform: @escaping @Sendable (Input) async throws -> Output,
            scope: ResultScope<Input, Output>?
        ) {
            (self.source, self.width, self.transform) = (source, width, transform)
            self.scope = scope
        }

        /// Returns the next element whose work has ended, with the result; nil after the last one.
        public mutating func next(
            isolation: isolated (any Actor)? = #isolation
        ) async throws -> Element? {
            guard !isOver else { return nil }
            let window = begin().window
            if case .calls(let next) = source {
                // In a cancelled task no further work begins.
                while !Task.isCancelled, window.hasRoom, let element = next() {
                    window.add(element)
                }
            }
            let end: EarlyEnd
            switch await window.next(isolation: isolation) {
            case .success(let element, let output): return (element, output)
            case nil:
                isOver = true
                work = nil
                try Task.checkCancellation()
                return nil
            case .failure(let error as OperationCancellation): end = .operationCancelled(error)
            case .failure(let error): end = .operationFailed(window.name, error)
            case .sourceFailure(let error): end = .thrown(error)
            }
            isOver = true
            await window.end(because: end.reason, isolation: isolation)
            work = nil
            if case .taskCancelled = end.reason { throw CancellationError() }
            throw end.error
        }

        /// As ``next(isolation:)``, for callers of no actor.
        public mutating func next() async throws -> Element? {
            try await next(isolation: nil)
        }

        private mutating func begin() -> ResultWork<Input, Output> {
            if let work { return work }
            let new = ResultWork(width: width, transform)
            scope?.add(new.window)
            work = new
            if case .task(let feed) = source { new.window.start(feed) }
            return new
        }
    }
}

@available(*, unavailable)
extension ConcurrentResults: Sendable {}

@available(*, unavailable)
extension ConcurrentResults.Iterator: Sendable {}

/// Abandons the work of an iterator when it is released.
private final class ResultWork<Input: Sendable, Output: Sendable>: Sendable {
    let window: ResultWindow<Input, Output>

    init(width: Int, _ transform: @escaping @Sendable (Input) async throws -> Output) {
        window = ResultWindow(width: width, transform)
    }

    deinit { window.cancel(because: .requested, dropsResults: true) }
}

/// The windows of all iterators of one call.
private final class ResultScope<Input: Sendable, Output: Sendable>: Sendable {
    private let windows = Locked<[ResultWindow<Input, Output>]>([])

    func add(_ window: ResultWindow<Input, Output>) { windows.withLock { $0.append(window) } }

    func end() async {
        let windows = windows.withLock { $0 }
        for window in windows { window.cancel(because: .requested, dropsResults: true) }
        for window in windows { await window.end(because: .requested, isolation: nil) }
    }
}

/// The operations of one iteration, and the results that have not been taken.
///
/// One task at a time takes results. An operation reports its end when it has left its queue: it
/// appends its result, and wakes the task if that waits, both in one hold of the lock. The task
/// waits only if it has found, in one hold of the lock, that there is no result and that an
/// operation is left, or the feeding task; so it is woken by the last of them at the latest.
///
/// A feeding task, if there is one, waits for room before it takes the next element. It waits only
/// if it has found, in one hold of the lock, that there is no room and that the window is not
/// cancelled. The task that takes a result makes room, and wakes it; so does a cancellation.
private final class ResultWindow<Input: Sendable, Output: Sendable>: Sendable {
    enum Outcome: Sendable {
        case success(Input, Output)
        case failure(any Error)
        case sourceFailure(any Error)
    }

    private struct State {
        var unfinished: [Int: Operation] = [:]
        var lastNumber = 0
        var results = FIFO<Outcome>()
        var waiter: CheckedContinuation<Void, Never>?
        var feeder: Task<Void, Never>?
        var isFed = false
        var feederWaits: CheckedContinuation<Void, Never>?
        /// Why the work was cancelled.
        var cancellation: CancellationReason?
        /// Whether nobody takes results any more: a task that waits does so for the end of all
        /// operations and of the feeding task.
        var isAbandoned = false

        var isCancelled: Bool { cancellation != nil }
        var isOver: Bool { unfinished.isEmpty && !isFed }
        var mayGoOn: Bool { isOver || (!isAbandoned && !results.isEmpty) }

        mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
            mayGoOn ? waiter.take() : nil
        }
    }

    private let state = Locked(State())
    private let width: Int
    private let transform: @Sendable (Input) async throws -> Output
    private let tasks: TaskLocalExecutor
    private let queue: OperationQueue

    /// Must be called in the task whose values the operations inherit.
    init(width: Int, _ transform: @escaping @Sendable (Input) async throws -> Output) {
        (self.width, self.transform) = (width, transform)
        tasks = TaskLocalExecutor()
        queue = OperationQueue(forElements: "concurrentResults", width: width, tasks: tasks)
    }

    deinit { tasks.close() }

    var name: String { queue.label }

    // MARK: Adding

    /// Whether another element may be added.
    var hasRoom: Bool { state.withLock { hasRoom($0) } }

    private func hasRoom(_ state: State) -> Bool {
        !state.isCancelled && state.unfinished.count + state.results.count < width
    }

    func add(_ element: Input) {
        let operation = TypedOperation(inheriting: false) { [transform] in
            try await transform(element)
        }
        let number = state.withLock { state in
            state.lastNumber += 1
            state.unfinished[state.lastNumber] = operation
            return state.lastNumber
        }
        _ = operation.addWaiter(
            // The operation itself calls the handler, if anything does, so it is alive then.
            .handler { [unowned operation] in self.ended(operation, number, element) })
        queue.addOperation(operation)
        // A cancellation that came before may not have seen the operation.
        if let reason = state.withLock({ $0.cancellation }) { operation.cancel(because: reason) }
    }

    private func ended(_ operation: TypedOperation<Output>, _ number: Int, _ element: Input) {
        let outcome: Outcome
        do {
            outcome = .success(element, try operation.result)
        } catch {
            outcome = .failure(error)
        }
        let (gone, waiter) = state.withLock { state in
            let gone = state.unfinished.removeValue(forKey: number)
            if !state.isAbandoned { state.results.append(outcome) }
            return (gone, state.takeWaiter())
        }
        withExtendedLifetime(gone) {}
        waiter?.resume()
    }

    // MARK: The feeding task

    /// Starts the task that adds elements.
    func start(
        _ feed: @escaping @Sendable (_ add: @Sendable (Input) async -> Bool) async throws -> Void
    ) {
        state.withLock { $0.isFed = true }
        let task = Task { [self] in
            var failure: (any Error)?
            await waitForRoom()
            do {
                try await feed { element in
                    if self.state.withLock({ $0.isCancelled }) { return false }
                    self.add(element)
                    await self.waitForRoom()
                    return !self.state.withLock { $0.isCancelled }
                }
            } catch {
                failure = error
            }
            fedAll(failure)
        }
        let isCancelled = state.withLock { state in
            state.feeder = state.isFed ? task : nil
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    private func waitForRoom() async {
        await withCheckedContinuation { continuation in
            let mayGoOn = state.withLock { state in
                if state.isCancelled || hasRoom(state) { return true }
                state.feederWaits = continuation
                return false
            }
            if mayGoOn { continuation.resume() }
        }
    }

    private func fedAll(_ failure: (any Error)?) {
        let (waiter, feeder) = state.withLock { state in
            state.isFed = false
            // What ends the iteration of a cancelled task is the cancellation.
            if let failure, !state.isCancelled { state.results.append(.sourceFailure(failure)) }
            return (state.takeWaiter(), state.feeder.take())
        }
        withExtendedLifetime(feeder) {}
        waiter?.resume()
    }

    // MARK: Taking

    /// Returns the next result; nil if no work is left. If the task is cancelled, so is the work.
    func next(isolation: isolated (any Actor)?) async -> Outcome? {
        await withTaskCancellationHandler {
            _ = isolation
            await wait(isolation: isolation)
        } onCancel: {
            cancel(because: .taskCancelled)
        }
        let (outcome, feeder) = state.withLock { state in
            let outcome = state.results.popFirst()
            return (outcome, hasRoom(state) ? state.feederWaits.take() : nil)
        }
        feeder?.resume()
        return outcome
    }

    /// Drops the results and cancels the work, and waits until none is left.
    func end(because reason: CancellationReason, isolation: isolated (any Actor)?) async {
        cancel(because: reason, dropsResults: true)
        await wait(isolation: isolation)
    }

    private func wait(isolation: isolated (any Actor)?) async {
        if state.withLock({ $0.mayGoOn }) { return }
        await withCheckedContinuation { continuation in
            let mayGoOn = state.withLock { state in
                if !state.mayGoOn { state.waiter = continuation }
                return state.mayGoOn
            }
            if mayGoOn { continuation.resume() }
        }
    }

    /// Cancels the work, and ends the feeding.
    ///
    /// - Parameter dropsResults: whether to drop the results that there are, and those to come.
    func cancel(because reason: CancellationReason, dropsResults: Bool = false) {
        let (rest, dropped, feeder, waits) = state.withLock { state in
            if state.cancellation == nil { state.cancellation = reason }
            var dropped = FIFO<Outcome>()
            if dropsResults {
                state.isAbandoned = true
                swap(&dropped, &state.results)
            }
            return (state.unfinished.byNumber, dropped, state.feeder, state.feederWaits.take())
        }
        withExtendedLifetime(dropped) {}
        feeder?.cancel()
        waits?.resume()
        if !rest.isEmpty { Operation.cancel(rest, because: reason) }
    }
}
