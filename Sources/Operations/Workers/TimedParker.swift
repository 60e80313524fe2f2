/// A place where one thread sleeps until another thread posts or a time limit passes. A post that
/// precedes the wait is remembered; several such posts count as one.
///
/// Time limits follow the monotonic clock: a wait does not become longer when the system clock is
/// set.
final class TimedParker: Sendable {
    private let isPosted = ConditionLock(false)

    func post() {
        isPosted.withLock { $0 = true }
        // Signal without holding the mutex, so that the woken thread need not wait for the mutex.
        // The caller keeps the parker alive.
        isPosted.signalOne()
    }

    func wait() {
        isPosted.hold { held in
            while !held.state { held.wait() }
            held.state = false
        }
    }

    /// Waits for a post. Returns false if the time limit passed first.
    func wait(nanoseconds: UInt64) -> Bool {
        isPosted.hold { held in
            if !held.state {
                let deadline = monotonicNanoseconds().addingSaturated(nanoseconds)
                while !held.state {
                    if !held.wait(until: deadline), !held.state { return false }
                }
            }
            held.state = false
            return true
        }
    }
}

extension UInt64 {
    /// Returns the sum, or the largest number if the sum overflows.
    func addingSaturated(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
