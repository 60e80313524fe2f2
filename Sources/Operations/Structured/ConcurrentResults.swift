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
    ) -> ConcurrentResults<Self, Output> {
        ConcurrentResults(
            base: self, width: OperationQueue.width(width, of: "concurrentResults"),
            transform: transform, scope: nil)
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
                nonisolated(nonsending) (ConcurrentResults<Self, Output>) async throws(Failure) ->
                Outcome
        ) async throws(Failure) -> Outcome
    {
        let scope = ResultScope<Output>()
        var results = concurrentResults(width: width, transform)
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
}

/// The elements of a sequence with the results of a function, as they finish; made by
/// ``Swift/Sequence/concurrentResults(width:_:)``.
///
/// Each iteration does the work anew.
public struct ConcurrentResults<Base: Sequence, Output: Sendable>: AsyncSequence
where Base.Element: Sendable {
    /// An element of the sequence, and the result of the function for it.
    public typealias Element = (Base.Element, Output)
    /// The type of the errors that an iteration throws.
    public typealias Failure = any Error

    fileprivate let base: Base
    fileprivate let width: Int
    fileprivate let transform: @Sendable (Base.Element) async throws -> Output
    fileprivate var scope: ResultScope<Output>?

    /// Makes an iterator, which begins the work when its first result is requested.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Does the work for the elements, and returns the results as they finish.
    public struct Iterator: AsyncIteratorProtocol {
        private var base: Base.Iterator
        private let width: Int
        private let transform: @Sendable (Base.Element) async throws -> Output
        private let scope: ResultScope<Output>?
        private var work: ResultWork<Output>?
        /// The elements whose results have not been returned, by number.
        private var elements: [Int: Base.Element] = [:]
        private var lastNumber = 0
        private var isOver = false

        fileprivate init(_ results: ConcurrentResults) {
            base = results.base.makeIterator()
            (width, transform) = (results.width, results.transform)
            scope = results.scope
        }

        /// Returns the next element whose work has ended, with the result; nil after the last one.
        public mutating func next(
            isolation: isolated (any Actor)? = #isolation
        ) async throws -> Element? {
            guard !isOver else { return nil }
            let window = begin().window
            // In a cancelled task no further work begins.
            while !Task.isCancelled, elements.count < width, let element = base.next() {
                lastNumber += 1
                elements[lastNumber] = element
                window.add(lastNumber) { [transform] in try await transform(element) }
            }
            let next = await window.next(isolation: isolation)
            if let (number, result) = next, case .success(let output) = result,
                let element = elements.removeValue(forKey: number)
            {
                return (element, output)
            }
            isOver = true
            elements = [:]
            guard case .failure(let error) = next?.result else {
                work = nil
                try Task.checkCancellation()
                return nil
            }
            let cancellation = error as? OperationCancellation
            await window.end(
                because: cancellation?.reason
                    ?? .siblingFailed(operation: window.name, error: error),
                isolation: isolation)
            work = nil
            if case .taskCancelled = cancellation?.reason { throw CancellationError() }
            throw error
        }

        /// As ``next(isolation:)``, for callers of no actor.
        public mutating func next() async throws -> Element? {
            try await next(isolation: nil)
        }

        private mutating func begin() -> ResultWork<Output> {
            if let work { return work }
            let new = ResultWork<Output>(width: width)
            scope?.add(new.window)
            work = new
            return new
        }
    }
}

@available(*, unavailable)
extension ConcurrentResults.Iterator: Sendable {}

/// Abandons the work of an iterator when it is released.
private final class ResultWork<Output: Sendable>: Sendable {
    let window: ResultWindow<Output>

    init(width: Int) { window = ResultWindow(width: width) }

    deinit {
        window.abandon()
        window.cancelRest(because: .requested)
    }
}

/// The windows of all iterators of one call.
private final class ResultScope<Output: Sendable>: Sendable {
    private let windows = Locked<[ResultWindow<Output>]>([])

    func add(_ window: ResultWindow<Output>) { windows.withLock { $0.append(window) } }

    func end() async {
        for window in windows.withLock({ $0 }) {
            await window.end(because: .requested, isolation: nil)
        }
    }
}

/// The operations of one iteration, and the results that have not been taken.
///
/// One task at a time takes results. An operation reports its end when it has left its queue: it
/// appends its result, and wakes the task if that waits, both in one hold of the lock. The task
/// waits only if it has found, in one hold of the lock, that there is no result and that an
/// operation is left; so it is woken by that operation at the latest.
private final class ResultWindow<Output: Sendable>: Sendable {
    typealias Numbered = (number: Int, result: Result<Output, any Error>)

    private struct State {
        var unfinished: [Int: Operation] = [:]
        var results = FIFO<Numbered>()
        var waiter: CheckedContinuation<Void, Never>?
        /// Whether nobody takes results any more: a task that waits does so for the end of all
        /// operations.
        var isAbandoned = false

        var mayGoOn: Bool { unfinished.isEmpty || (!isAbandoned && !results.isEmpty) }
    }

    private let state = Locked(State())
    private let tasks: TaskLocalExecutor
    private let queue: OperationQueue

    /// Must be called in the task whose values the operations inherit.
    init(width: Int) {
        tasks = TaskLocalExecutor()
        queue = OperationQueue(forElements: "concurrentResults", width: width, tasks: tasks)
    }

    deinit { tasks.close() }

    var name: String { queue.label }

    func add(_ number: Int, _ body: @escaping @Sendable () async throws -> Output) {
        let operation = TypedOperation(inheriting: false, body: body)
        state.withLock { $0.unfinished[number] = operation }
        _ = operation.addWaiter(
            // The operation itself calls the handler, if anything does, so it is alive then.
            .handler { [unowned operation] in self.ended(operation, number) })
        queue.addOperation(operation)
    }

    private func ended(_ operation: TypedOperation<Output>, _ number: Int) {
        let result = Result { try operation.result }
        let (gone, waiter) = state.withLock { state in
            let gone = state.unfinished.removeValue(forKey: number)
            if !state.isAbandoned { state.results.append((number, result)) }
            return (gone, state.mayGoOn ? state.waiter.take() : nil)
        }
        withExtendedLifetime(gone) {}
        waiter?.resume()
    }

    /// Returns the next result; nil if no work is left. If the task is cancelled, so is the work.
    func next(isolation: isolated (any Actor)?) async -> Numbered? {
        await withTaskCancellationHandler {
            _ = isolation
            await wait(isolation: isolation)
        } onCancel: {
            cancelRest(because: .taskCancelled)
        }
        return state.withLock { $0.results.popFirst() }
    }

    /// Drops the results that there are, and those to come.
    func abandon() {
        let results = state.withLock { state in
            state.isAbandoned = true
            defer { state.results = FIFO() }
            return state.results
        }
        withExtendedLifetime(results) {}
    }

    /// Drops the results and cancels the work, and waits until none is left.
    func end(because reason: CancellationReason, isolation: isolated (any Actor)?) async {
        abandon()
        cancelRest(because: reason)
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

    func cancelRest(because reason: CancellationReason) {
        let rest = state.withLock { $0.unfinished.byNumber }
        if !rest.isEmpty { Operation.cancel(rest, because: reason) }
    }
}
