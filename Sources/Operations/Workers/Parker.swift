import Dispatch

/// Where one thread sleeps until another one posts. A post that comes first is remembered.
final class Parker: Sendable {
    // Unlike a mutex and a condition it wakes the thread with one call of the system and nothing after it.
    private let posts = DispatchSemaphore(value: 0)

    func post() { posts.signal() }

    func wait() { posts.wait() }

    /// False if the time was up.
    func wait(milliseconds: Int) -> Bool {
        posts.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
    }
}
