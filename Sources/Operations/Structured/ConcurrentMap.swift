// Functions that work through a sequence, a few elements at a time.

import OperationsRuntime

extension Sequence where Element: Sendable {
    /// Transforms the elements, a few at a time, and returns the results in the order of the
    /// elements.
    ///
    /// ```swift
    /// let pages = try await urls.concurrentMap(width: 8) { url in try await fetch(url) }
    /// ```
    ///
    /// The sequence is iterated on the calling task. While `width` elements are under way, no
    /// further element is taken. The first error cancels the work on the other elements, and is
    /// thrown when that work has ended. A cancellation of the calling task has the same effect,
    /// with `CancellationError`. Bodies have the task's task-local values.
    ///
    /// - Parameters:
    ///   - width: how many elements at a time; the number of cores unless given.
    ///   - isolation: where the sequence is iterated: on the caller's actor.
    ///   - transform: the function, which runs on worker threads.
    public func concurrentMap<Output: Sendable>(
        width: Int? = nil, isolation: isolated (any Actor)? = #isolation,
        _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output] {
        try await SyncSequenceAdapter(self).concurrentMap(
            width: width, isolation: isolation, transform)
    }

    /// Calls a function with each element, a few at a time; returns when all calls have returned.
    ///
    /// As ``concurrentMap(width:isolation:_:)``, without results: it keeps only the elements that
    /// are under way.
    public func concurrentForEach(
        width: Int? = nil, isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        try await SyncSequenceAdapter(self).concurrentForEach(
            width: width, isolation: isolation, body)
    }
}

extension AsyncSequence where Element: Sendable {
    /// Transforms the elements, a few at a time, and returns the results in the order of the
    /// elements.
    ///
    /// As the method of sequences that are not async. An error of the sequence itself cancels the
    /// work that is under way and is thrown. An error of `transform` is thrown when the sequence
    /// has produced its next element: the error does not interrupt a wait for that element.
    public func concurrentMap<Output: Sendable>(
        width: Int? = nil, isolation: isolated (any Actor)? = #isolation,
        _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output] {
        let map = ConcurrentMap<Output>(width: width, "concurrentMap")
        defer { map.close() }
        try await map.window.feed(self, isolation: isolation) { element in
            map.operation { try await transform(element) }
        }
        return map.outputs
    }

    /// Calls a function with each element, a few at a time; returns when all calls have returned.
    ///
    /// As ``concurrentMap(width:isolation:_:)``, without results.
    public func concurrentForEach(
        width: Int? = nil, isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        let map = ConcurrentMap<Void>(width: width, "concurrentForEach")
        defer { map.close() }
        try await map.window.feed(self, isolation: isolation) { element in
            (TypedOperation(inheriting: false) { try await body(element) }, nil)
        }
    }
}

extension OperationQueue {
    /// Returns the width of a call that works through a sequence: the given one, or the number of
    /// cores.
    static func width(_ width: Int?, of name: String) -> Int {
        if let width, width < 1 {
            misuse("\(name) cannot work on \(width) elements at a time: its width is 1 or more")
        }
        return width ?? WorkerPool.cores
    }

    /// Makes the queue of a call that works through a sequence.
    convenience init(forElements name: String, width: Int, tasks: TaskLocalExecutor) {
        self.init(tasks: tasks)
        self.name = name
        maxConcurrentOperationCount = width
    }
}

/// The queue of one call, and the results of its operations.
private final class ConcurrentMap<Output: Sendable>: Sendable {
    let window: FeedWindow
    private let tasks: TaskLocalExecutor
    private let results = Locked<[Output?]>([])

    init(width: Int?, _ name: String) {
        let width = OperationQueue.width(width, of: name)
        tasks = TaskLocalExecutor()
        window = FeedWindow(
            of: OperationQueue(forElements: name, width: width, tasks: tasks), limit: width)
    }

    func close() { tasks.close() }

    /// Makes an operation whose result is kept in the order in which this method is called.
    func operation(
        _ body: @escaping @Sendable () async throws -> Output
    ) -> (TypedOperation<Output>, (@Sendable (Output) -> Void)?) {
        let index = results.withLock { results in
            results.append(nil)
            return results.count - 1
        }
        let operation = TypedOperation(inheriting: false, body: body)
        return (operation, { output in self.results.withLock { $0[index] = output } })
    }

    /// The results in order; complete if nothing was thrown.
    var outputs: [Output] { results.withLock { $0.compactMap { $0 } } }
}
