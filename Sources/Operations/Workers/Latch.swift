/// A door that is opened once, for threads that wait behind it.
package final class Latch: Sendable {
    private let isOpen = ConditionLock(false)

    package init() {}

    package func open() {
        isOpen.withLock { isOpen in
            isOpen = true
            // Signalled with the lock held: a waiter may give the gate up as soon as it sees it open.
            self.isOpen.signalAll()
        }
    }

    /// Waits, for a while only; false if the time was up.
    func wait(milliseconds: Int) -> Bool {
        isOpen.hold { held in
            while !held.state {
                if !held.wait(milliseconds: milliseconds), !held.state { return false }
            }
            return true
        }
    }

    /// Waits; if the caller is a worker, another one takes its place meanwhile.
    package func waitOnWorker() {
        if isOpen.withLock({ $0 }) { return }
        DrivenThread.refuseToBlock()
        WorkerPool.shared.blocking {
            isOpen.hold { held in
                while !held.state { held.wait() }
            }
        }
    }

    /// As ``waitOnWorker()``, for a while only; false if the time was up.
    func waitOnWorker(atMost limit: Duration) -> Bool {
        if isOpen.withLock({ $0 }) { return true }
        var isInTime = false
        let deadline = ContinuousClock.now + limit
        WorkerPool.shared.blocking {
            // In pieces: the platform counts in 32 bits.
            while !isInTime, ContinuousClock.now < deadline {
                let rest = min(ContinuousClock.now.duration(to: deadline), .seconds(1_000))
                isInTime = wait(milliseconds: Int(rest.wholeMilliseconds) + 1)
            }
        }
        return isInTime
    }
}
