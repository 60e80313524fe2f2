/// Waits until a condition without a notification becomes true, such as the release of memory;
/// returns false if it is still false at the end of the test's time.
public func comesTrue(_ condition: () -> Bool) async -> Bool {
    let end = TestEnd()
    while !condition() {
        guard !end.hasCome else { return false }
        // Polls, because there is no notification; sleeps, because other threads need the
        // processor.
        try? await Task.sleep(for: .milliseconds(1))
    }
    return true
}

/// Suspends until the task is cancelled; the hour only bounds a test that fails.
public func untilCancelled() async throws { try await Task.sleep(for: .seconds(3600)) }

/// Waits like ``comesTrue(_:)`` for a condition that has to be asked for.
public func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
    let end = TestEnd()
    while try await !condition() {
        guard !end.hasCome else { return false }
        try? await Task.sleep(for: .milliseconds(1))
    }
    return true
}
