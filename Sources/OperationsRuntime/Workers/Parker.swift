import Dispatch

/// A place where one worker sleeps until another thread posts. A post that precedes the wait is
/// remembered.
///
/// A semaphore wakes a thread with one system call, and the woken thread needs no system call. A
/// mutex with a condition variable, as in ``Latch``, cost a workload of many short wake-ups a
/// tenth of its time.
final class Parker: Sendable {
    private let posts = DispatchSemaphore(value: 0)

    func post() { posts.signal() }

    /// Waits for a post. Returns false if no post came for about `seconds` seconds.
    ///
    /// On Linux the time limit follows the settable clock and is only a hint. The result may only
    /// decide about actions for which sooner or later makes no difference to correctness, such as
    /// the end of an idle thread.
    func wait(about seconds: Int) -> Bool {
        posts.wait(timeout: .now() + .seconds(seconds)) == .success
    }
}
