// The waits of tasks, and waits with a time limit.

import OperationsRuntime

extension Operation {
    /// Suspends the calling task until the operation has finished.
    ///
    /// Cancelling the task does not end the wait, and the wait does not affect the operation.
    /// ``TypedOperation/value`` waits in the same way and returns the result.
    public final func finished() async { await waitUntilFinished() }

    /// Suspends the calling task until the operation has finished, or until the time limit passes.
    ///
    /// Cancelling the task does not end the wait, and the wait does not affect the operation. The
    /// limit is by the clock of the operation's queue: for a queue of a test scheduler, it passes
    /// only while something runs the scheduler.
    ///
    /// - Returns: Whether the operation has finished.
    public final func finished(within limit: Duration) async -> Bool {
        await finished(within: limit, endsWithTask: false)
    }

    /// - Parameter endsWithTask: whether the cancellation of the calling task ends the wait, too.
    final func finished(within limit: Duration, endsWithTask: Bool) async -> Bool {
        if let operation = TaskContext.operation { promote(byWaitOf: operation) }
        let companion = companionOfWait()
        defer { companion?.waitEnded() }
        return await TimedWait.wait(
            atMost: limit, by: retainedQueue()?.time ?? .continuous, endsWithTask: endsWithTask,
            enter: register, leave: removeWaiter)
    }

    /// Blocks the calling thread until the operation has finished, or until the time limit passes.
    ///
    /// Another worker takes the place of a worker thread that waits here.
    ///
    /// - Returns: Whether the operation has finished.
    @available(*, noasync, message: "write: await operation.finished(within: …)")
    public final func waitUntilFinished(within limit: Duration) -> Bool {
        let latch = Latch()
        guard let ticket = register(.thread(latch)) else { return true }
        CancelRound.willBlock()
        promoteForWait()
        if latch.waitOnWorker(atMost: limit) { return true }
        removeWaiter(ticket)
        return false
    }

    private func removeWaiter(_ ticket: TicketList<Waiter>.Ticket) {
        withExtras { _ = $0.waiters.remove(ticket) }
    }
}

extension OperationQueue {
    /// Suspends the calling task until the queue is empty.
    ///
    /// Cancelling the task does not end the wait, and the wait does not affect the queue.
    public final func finished() async { await waitUntilAllOperationsAreFinished() }

    /// Suspends the calling task until the queue is empty, or until the time limit passes.
    ///
    /// Cancelling the task does not end the wait. The limit is by the queue's clock: for a queue of
    /// a test scheduler, it passes only while something runs the scheduler.
    ///
    /// - Returns: Whether the queue became empty in time.
    public final func finished(within limit: Duration) async -> Bool {
        if let operation = TaskContext.operation { promoteAll(byWaitOf: operation) }
        let companion = waitBegins()
        defer { companion?.waitEnded() }
        return await TimedWait.wait(
            atMost: limit, by: time, enter: register, leave: removeWaiter)
    }

    /// Blocks the calling thread until the queue is empty, or until the time limit passes.
    ///
    /// Another worker takes the place of a worker thread that waits here.
    ///
    /// - Returns: Whether the queue became empty in time.
    @available(*, noasync, message: "write: await queue.finished(within: …)")
    public final func waitUntilAllOperationsAreFinished(within limit: Duration) -> Bool {
        if isOverForCaller(isTimed: true) { return true }
        let latch = Latch()
        guard let ticket = register(.thread(latch)) else { return true }
        CancelRound.willBlock()
        promoteAllForWait()
        if latch.waitOnWorker(atMost: limit) { return true }
        removeWaiter(ticket)
        return false
    }

    private func removeWaiter(_ ticket: TicketList<Waiter>.Ticket) {
        event { $0.waiterLeft(ticket) }
    }
}

// The former label of these waits, which is that of Dispatch's. In this library a timeout limits
// the work, and not a wait for the work.

extension Operation {
    /// The former name of ``finished(within:)``.
    @available(*, deprecated, renamed: "finished(within:)")
    public final func finished(timeout: Duration) async -> Bool { await finished(within: timeout) }

    /// The former name of ``waitUntilFinished(within:)``.
    @available(*, deprecated, renamed: "waitUntilFinished(within:)")
    @available(*, noasync)
    public final func waitUntilFinished(timeout: Duration) -> Bool {
        waitUntilFinished(within: timeout)
    }
}

extension OperationQueue {
    /// The former name of ``finished(within:)``.
    @available(*, deprecated, renamed: "finished(within:)")
    public final func finished(timeout: Duration) async -> Bool { await finished(within: timeout) }

    /// The former name of ``waitUntilAllOperationsAreFinished(within:)``.
    @available(*, deprecated, renamed: "waitUntilAllOperationsAreFinished(within:)")
    @available(*, noasync)
    public final func waitUntilAllOperationsAreFinished(timeout: Duration) -> Bool {
        waitUntilAllOperationsAreFinished(within: timeout)
    }
}
