public import Testing

/// Runs tests on their own threads, a limited number of tests at a time.
///
/// Without this trait, a test that blocks occupies one of the few threads that serve all tasks of
/// the process, including the tasks of other tests. If as many tests block as the machine has
/// processors, the events that they wait for may never happen. The limit keeps a test that waits
/// for a moment from waiting for all other tests.
public struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
    /// Limits the tests that run at a time. The work that they wait for runs on other threads, so a
    /// few tests keep a machine busy.
    private static let semaphore = AsyncSemaphore(permits: 4)

    /// The suites inside of a suite use the trait, too.
    public var isRecursive: Bool { true }

    /// Runs a test case on its own thread as soon as fewer than four others run. Helpers that wait
    /// learn when its time is over.
    public func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await Self.semaphore.wait()
        defer { Self.semaphore.signal() }
        let time = TestTime(of: test)
        defer { time?.ends() }
        let end = TestEnd.Flag()
        try await withTaskCancellationHandler {
            try await TestEnd.$currentFlag.withValue(test.timeLimit == nil ? nil : end) {
                try await withTaskExecutorPreference(TestThreads.shared) { try await function() }
            }
        } onCancel: {
            end.set()
        }
    }
}

extension Trait where Self == OwnThreads {
    /// Runs the tests on threads that they may block.
    public static var ownThreads: Self { OwnThreads() }
}
