// Waits that may happen on workers.

import OperationsRuntime

extension Latch {
    /// Waits. If the caller is a worker, another worker takes its place meanwhile.
    package func waitOnWorker() {
        if wait(nanoseconds: 0) { return }
        DrivenThread.refuseToBlock()
        WorkerPool.blocking { wait() }
    }

    /// Waits like ``waitOnWorker()``, for a limited time. Returns false if the time limit passed
    /// first.
    func waitOnWorker(atMost limit: Duration) -> Bool {
        var isInTime = wait(nanoseconds: 0)
        if isInTime { return true }
        let end = continuousNanoseconds().addingSaturated(limit.wholeNanoseconds)
        WorkerPool.blocking {
            while !isInTime {
                let now = continuousNanoseconds()
                guard now < end else { return }
                // Wait in pieces of at most 1,000 seconds: the clock of `wait(nanoseconds:)` stops
                // while the machine sleeps.
                isInTime = wait(nanoseconds: min(end - now, 1_000_000_000_000))
            }
        }
        return isInTime
    }
}

/// The thread that runs everything for a driver.
package enum DrivenThread {
    /// Runs `body` with the calling thread marked as driven. Nothing that `body` calls may block.
    package static func perform<Result>(_ body: () -> Result) -> Result {
        let context = ThreadContext.current
        let before = context.operationState.isDriven
        context.operationState.isDriven = true
        defer { context.operationState.isDriven = before }
        return body()
    }

    package static var isCurrent: Bool { ThreadContext.existing?.operationState.isDriven == true }

    /// Stops the program if the calling thread, which is about to block, runs everything for a
    /// driver.
    static func refuseToBlock(for target: @autoclosure () -> String = "something") {
        guard isCurrent else { return }
        let operation = ThreadContext.operationsInside.last ?? TaskContext.operation
        misuse(
            "\(operation?.label ?? "an operation") blocks the thread of its test scheduler to wait for "
                + "\(target()), but that thread runs everything else as well and would never get to "
                + "it: write await, or let what comes after it be an operation that depends on it")
    }
}

extension WorkerPool {
    /// Runs a function that blocks. If the caller is a worker, the pool compensates for that worker
    /// meanwhile. Observers are notified of the wait.
    static func blocking(_ wait: () -> Void) {
        guard let context = ThreadContext.existing else { return wait() }
        // The wait is recorded when it is over, and when the thread is a worker's again.
        context.recordWait { compensating { wait() } }
    }
}

extension ThreadContext {
    /// Runs code that blocks the thread. Observers are notified of the wait if the thread is inside
    /// of an operation.
    func recordWait(_ wait: () -> Void) {
        guard let queue = Self.currentQueue, queue.isObserved, let operation = materializedOperation
        else { return wait() }
        let identity = UInt(bitPattern: operation.toOpaque())
        queue.recordWait(inside: identity, on: self, running: wait)
    }
}
