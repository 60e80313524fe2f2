/// Waits until a condition without a notification becomes true, such as the release of memory;
/// returns false if it is still false after two minutes.
public func comesTrue(_ condition: () -> Bool) async -> Bool {
    let end = ContinuousClock.now + .seconds(120)
    while !condition() {
        guard ContinuousClock.now < end else { return false }
        // Polls, because there is no notification; sleeps, because other threads need the
        // processor.
        try? await Task.sleep(for: .milliseconds(1))
    }
    return true
}

/// Suspends until the task is cancelled; the hour only bounds a test that fails.
public func untilCancelled() async throws { try await Task.sleep(for: .seconds(3600)) }
