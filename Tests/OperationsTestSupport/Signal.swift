import Dispatch
import Testing

/// An event that threads and tasks can wait for; each wait consumes one signal.
public struct Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let test = TestEnd.currentFlag
    private let file: String
    private let path: String
    private let line: Int

    /// Makes an event that has not happened yet. The place is that of a report that it did not
    /// happen.
    public init(file: String = #fileID, path: String = #filePath, line: Int = #line) {
        self.file = file
        self.path = path
        self.line = line
    }

    /// Lets one wait end, of those that have begun or of those to come.
    public func send() { semaphore.signal() }

    /// Blocks until the event. If the event has not happened at the end of the test's time, records
    /// an issue and returns false.
    @discardableResult
    public func wait() -> Bool {
        let end = TestEnd(test)
        // Nothing wakes a thread at the end of the test's time, so the thread looks every second.
        while !wait(milliseconds: 1_000) {
            guard end.hasCome else { continue }
            let place = SourceLocation(fileID: file, filePath: path, line: line, column: 1)
            Issue.record("This event did not happen.", sourceLocation: place)
            return false
        }
        return true
    }

    /// Blocks until the event, and returns false if it does not happen within a time that a test
    /// can wait for something not to happen.
    public func wait(milliseconds: Int) -> Bool {
        semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
    }

    /// Waits like ``wait()``, but suspends and does not block the thread.
    public func arrives() async -> Bool { await onThread { wait() } }
}
