import Dispatch

/// An event that threads and tasks can wait for; each wait consumes one signal.
package struct Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    package init() {}

    package func send() { semaphore.signal() }

    /// Blocks until the event; returns false after two minutes, so that a test fails and does not
    /// hang.
    @discardableResult
    package func wait() -> Bool { semaphore.wait(timeout: .now() + 120) == .success }

    /// Waits like ``wait()``, but suspends and does not block the thread.
    package func arrives() async -> Bool { await onThread { wait() } }
}
