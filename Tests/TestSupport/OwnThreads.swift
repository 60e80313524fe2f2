package import Testing

/// Runs tests on threads of their own, a limited number of them at a time.
///
/// Without it a test that blocks holds one of the few threads that serve all tasks of the process,
/// those of other tests among them; as many of these as the machine has processors, and what a
/// blocked test waits for may never come. And when all tests begin at once, those that wait for a
/// moment wait for all the others.
package struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
    /// How many run at a time; what they wait for runs elsewhere, so that a few keep a machine
    /// busy.
    private static let room = Room(for: 4)

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await Self.room.enter()
        defer { Self.room.leave() }
        try await withTaskExecutorPreference(TestThreads.shared) { try await function() }
    }
}

extension Trait where Self == OwnThreads {
    /// On threads where a test may block.
    package static var ownThreads: Self { OwnThreads() }
}
