// Tests of Swift Testing that a scheduler runs with many schedules.

#if canImport(Testing)
import Operations
import OperationsRuntime
public import Testing

extension TestScheduler {
    /// Runs the body of a test with many schedules, until one of them fails.
    ///
    /// ```swift
    /// @Test func twoDepositsAreBothCounted() async {
    ///     await TestScheduler.test { scheduler in
    ///         let account = Account(queue: scheduler.makeQueue())
    ///         async let first: Void = account.deposit(5)
    ///         async let second: Void = account.deposit(7)
    ///         _ = try await (first, second)
    ///         #expect(account.balance == 12)
    ///     }
    /// }
    /// ```
    ///
    /// The body is the body of an operation of the scheduler, as in ``run(_:)``. It fails by an
    /// error that it throws, and by an issue, of `#expect` for instance. Issues of schedules are
    /// not recorded one by one: for the first that fails, the method looks for the shortest
    /// schedule that fails in the same way, as ``explore(schedules:seed:_:)`` does, and records one
    /// issue. Its comment has the first issue or error, the seed, the steps of the shortest
    /// schedule, and the text for ``test(replaying:sourceLocation:_:)``.
    ///
    /// Each run of the body makes everything that it uses anew. The calling thread is blocked
    /// meanwhile.
    ///
    /// - Parameters:
    ///   - schedules: how many schedules to run, at most; at least 1.
    ///   - seed: the seed of the random schedules; another one in each run unless given.
    ///   - sourceLocation: where to record the issue, if a schedule fails by an error.
    ///   - body: the code of the test.
    public static func test(
        schedules: Int = 100, seed: UInt64? = nil,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @escaping @Sendable (TestScheduler) async throws -> Void
    ) async {
        do {
            let runner = TestRunner(body)
            try explore(schedules: schedules, seed: seed) { try runner.run($0) }
        } catch let failure {
            let issue = failure.error as? RecordedIssue
            Issue.record(
                Comment(rawValue: "\(failure)"),
                sourceLocation: issue?.issue.sourceLocation ?? sourceLocation)
        }
    }

    /// Runs the body of a test with one schedule, which ``test(schedules:seed:sourceLocation:_:)``
    /// has found to fail.
    ///
    /// ```swift
    /// await TestScheduler.test(replaying: "2:2") { scheduler in … }
    /// ```
    ///
    /// Issues are recorded as in any other test.
    ///
    /// - Parameters:
    ///   - schedule: the text that the failure's comment has.
    ///   - sourceLocation: where to record the issue, if the body throws an error.
    ///   - body: the code of the test.
    public static func test(
        replaying schedule: String, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @escaping @Sendable (TestScheduler) async throws -> Void
    ) async {
        let scheduler = TestScheduler(replaying: schedule)
        do {
            try await scheduler.run { try await body(scheduler) }
        } catch {
            let steps = scheduler.steps.map { "  \($0)" }.joined(separator: "\n")
            Issue.record(
                error, Comment(rawValue: "The steps were:\n\(steps)"),
                sourceLocation: sourceLocation)
        }
    }
}

/// An issue of a run, as the error with which the run fails.
private struct RecordedIssue: Error, CustomStringConvertible {
    let issue: Issue
    var description: String {
        let place = issue.sourceLocation.map { "\($0.fileID):\($0.line): " } ?? ""
        return "\(place)\(issue)"
    }
}

/// Runs the body of a test in schedulers, and turns its issues into errors.
private struct TestRunner: Sendable {
    private let body: @Sendable (TestScheduler) async throws -> Void
    private let test = Test.current
    private let testCase = Test.Case.current

    init(_ body: @escaping @Sendable (TestScheduler) async throws -> Void) { self.body = body }

    func run(_ scheduler: TestScheduler) throws {
        let first = Locked<Issue?>(nil)
        do {
            try scheduler.runBody { [self] in
                // Outside of a test nothing records issues.
                guard let test else { return try await body(scheduler) }
                let watch: IssueHandlingTrait = .compactMapIssues { issue in
                    #if compiler(>=6.3)
                    // A known issue, or a warning.
                    if !issue.isFailure { return issue }
                    #endif
                    first.withLock { $0 = $0 ?? issue }
                    return nil
                }
                try await watch.provideScope(for: test, testCase: testCase) {
                    try await body(scheduler)
                }
            }
        } catch {
            if let issue = first.withLock({ $0 }) { throw RecordedIssue(issue: issue) }
            throw error
        }
        if let issue = first.withLock({ $0 }) { throw RecordedIssue(issue: issue) }
    }
}
#endif
