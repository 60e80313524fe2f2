/// Waits for what follows an event without announcing itself, as the release of memory does; false
/// if it has not come about after two minutes.
package func comesTrue(_ condition: () -> Bool) async -> Bool {
    let end = ContinuousClock.now + .seconds(120)
    while !condition() {
        guard ContinuousClock.now < end else { return false }
        // Nothing announces it; meanwhile the processor is for whoever brings it about.
        try? await Task.sleep(for: .milliseconds(1))
    }
    return true
}

/// Suspends until the task is cancelled, which is what is waited for: the hour only bounds a test
/// that fails.
package func untilCancelled() async throws { try await Task.sleep(for: .seconds(3600)) }
