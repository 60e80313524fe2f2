import Operations

extension TestScheduler {
    /// Runs an async function, and everything that it causes, until nothing is left to do.
    ///
    /// ```swift
    /// @Test func aSearchWaitsForTheNextLetter() async throws {
    ///     let scheduler = TestScheduler(seed: 1)
    ///     let search = Search(queue: scheduler.makeQueue())
    ///     let results = try await scheduler.run { try await search.results(for: "a") }
    ///     #expect(results == ["apple", "apricot"])
    /// }
    /// ```
    ///
    /// The function is the body of an operation of the scheduler, named "test". So it continues in
    /// steps of the scheduler, its waits take no time, and its place among other steps follows from
    /// the seed. It may wait for operations of the scheduler's queues, for its ``clock`` and for a
    /// ``TestGate``, and for nothing else. The calling thread runs everything and is blocked
    /// meanwhile. In a test that is not async, and in the closure of
    /// ``explore(schedules:seed:_:)``, write `try scheduler.run { … }`.
    ///
    /// - Parameter body: the code under test.
    /// - Returns: the result of the function.
    /// - Throws: the error of the function; ``TestSchedulerError`` as ``run()``, and also if the
    ///   function waits for an operation of a queue that is suspended.
    public func run<Output: Sendable>(
        _ body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) async throws -> Output {
        try runBody(body)
    }

    /// Runs an async function, and everything that it causes, until nothing is left to do.
    ///
    /// As the method of the same name for tasks; for tests that are not async, and for the closure
    /// of ``explore(schedules:seed:_:)``.
    @_documentation(visibility: internal)
    @available(*, noasync, message: "write: try await scheduler.run { … }")
    public func run<Output: Sendable>(
        _ body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) throws -> Output {
        try runBody(body)
    }

    func runBody<Output: Sendable>(
        _ body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) throws -> Output {
        let test = core.makeQueue(name: "test", width: 1).add("test") { () async throws -> Output in
            try await body()
        }
        try run()
        // What waits for a suspended queue is no error of a run, but the function has no result.
        if !test.isFinished {
            throw TestSchedulerError.stuck([
                TestSchedulerError.StuckOperation(
                    name: "'test'", explanation: test.explain().description)
            ])
        }
        return try test.result
    }
}
