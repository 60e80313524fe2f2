/// A door that is opened once, for threads that wait behind it.
final class Gate: Sendable {
    private let isOpen = Monitor(false)

    func open() {
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
    func waitOnWorker() {
        if isOpen.withLock({ $0 }) { return }
        WorkerPool.shared.blocking {
            isOpen.hold { held in
                while !held.state { held.wait() }
            }
        }
    }
}
