import Dispatch

/// An event that threads and tasks can wait for; each wait uses up one signal.
package struct Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    package init() {}

    package func send() { semaphore.signal() }

    /// Blocks; false if two minutes went by, so that a test fails and does not hang.
    @discardableResult
    package func wait() -> Bool { semaphore.wait(timeout: .now() + 120) == .success }

    /// The same for code that must not block its thread.
    package func arrives() async -> Bool { await onThread { wait() } }
}
