/// Where one thread sleeps until another one posts or a time has passed. A post that comes first is remembered;
/// of several, one.
///
/// Time is that of the monotonic clock: a wait does not become longer when somebody sets the clock.
final class TimedParker: Sendable {
    private let isPosted = ConditionLock(false)

    func post() {
        isPosted.withLock { $0 = true }
        // Without the mutex: the thread that wakes need not wait for it. The caller keeps the parker alive.
        isPosted.signalOne()
    }

    func wait() {
        isPosted.hold { held in
            while !held.state { held.wait() }
            held.state = false
        }
    }

    /// False if the time was up.
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
    /// The largest number in place of one that is too large.
    func addingSaturated(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
