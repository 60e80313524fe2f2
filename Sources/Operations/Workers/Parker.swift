import Dispatch

/// Where one worker sleeps until another thread posts. A post that comes first is remembered.
///
/// A semaphore wakes a thread with one call of the system, and the thread that has been woken needs none: a
/// mutex with a condition, as in ``TimedParker``, cost a workload of many short wake-ups a tenth of its time.
final class Parker: Sendable {
    private let posts = DispatchSemaphore(value: 0)

    func post() { posts.signal() }

    /// False if nobody has posted for so long.
    ///
    /// On Linux this follows the clock that can be set, so the time is a hint: it may only decide what is
    /// right sooner or later, such as whether an idle thread ends.
    func wait(about seconds: Int) -> Bool {
        posts.wait(timeout: .now() + .seconds(seconds)) == .success
    }
}
