import Dispatch

/// An event that threads and tasks can wait for; each wait consumes one signal.
public struct Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Makes an event that has not happened yet.
    public init() {}

    /// Lets one wait end, of those that have begun or of those to come.
    public func send() { semaphore.signal() }

    /// Blocks until the event; returns false after two minutes, so that a test fails and does not
    /// hang.
    @discardableResult
    public func wait() -> Bool { wait(milliseconds: 120_000) }

    /// Blocks until the event, and returns false if it does not happen within a time that a test
    /// can wait for something not to happen.
    public func wait(milliseconds: Int) -> Bool {
        semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
    }

    /// Waits like ``wait()``, but suspends and does not block the thread.
    public func arrives() async -> Bool { await onThread { wait() } }
}
