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
