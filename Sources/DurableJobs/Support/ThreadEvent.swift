#if DurableJobs
import OperationsRuntime

/// Wakes a loop that has a thread to itself: the wait blocks the thread, and needs no other one to
/// end in time. A signal before the wait counts.
///
/// After each wait, the loop looks at what has changed: two signals may end one wait.
final class ThreadEvent: Sendable {
    private let latch = Latch()

    /// Ends the present wait, or the next one at once.
    func signal() { latch.open() }

    /// Waits for a signal, at most for the given time, which does not go on while the machine
    /// sleeps. Only one thread may wait at a time.
    func wait(atMost duration: Duration?) {
        latch.wait(nanoseconds: duration?.wholeNanoseconds)
        latch.close()
    }
}
#endif
