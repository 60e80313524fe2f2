/// A latch that is opened once and then releases all threads that wait for it.
package final class Latch: Sendable {
    private let isOpen = ConditionLock(false)

    package init() {}

    package func open() {
        isOpen.withLock { isOpen in
            isOpen = true
            // Signal with the lock held: a waiter may release the latch as soon as the waiter sees
            // the latch open.
            self.isOpen.signalAll()
        }
    }

    /// Waits for a limited time. Returns false if the time limit passed first.
    func wait(milliseconds: Int) -> Bool {
        isOpen.hold { held in
            while !held.state {
                if !held.wait(milliseconds: milliseconds), !held.state { return false }
            }
            return true
        }
    }

    /// Waits. If the caller is a worker, another worker takes its place meanwhile.
    package func waitOnWorker() {
        if isOpen.withLock({ $0 }) { return }
        DrivenThread.refuseToBlock()
        WorkerPool.shared.blocking {
            isOpen.hold { held in
                while !held.state { held.wait() }
            }
        }
    }

    /// Waits like ``waitOnWorker()``, for a limited time. Returns false if the time limit passed
    /// first.
    func waitOnWorker(atMost limit: Duration) -> Bool {
        if isOpen.withLock({ $0 }) { return true }
        var isInTime = false
        let deadline = ContinuousClock.now + limit
        WorkerPool.shared.blocking {
            // Wait in pieces of at most 1,000 seconds: the platform counts in 32 bits.
            while !isInTime, ContinuousClock.now < deadline {
                let rest = min(ContinuousClock.now.duration(to: deadline), .seconds(1_000))
                isInTime = wait(milliseconds: Int(rest.wholeMilliseconds) + 1)
            }
        }
        return isInTime
    }
}
