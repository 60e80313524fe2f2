import Synchronization

extension Operation {
    /// Runs an async body that has begun. The body runs in the worker's place if it needs no more
    /// than any task has. Otherwise the operation is detached from the claim.
    ///
    /// - Returns: the entry that follows at once in the claim.
    @inline(never)
    final func runInTask(of claim: Claim, in queue: OperationQueue) -> Entry? {
        guard let taskBody else { return nil }
        if mayUseRunner(in: queue) {
            if !taskBody.runPrepared(of: claim, in: queue) {
                AsyncRunner.run(self, of: claim, in: queue)
            }
            return claim.handedOver.take()
        }
        // The body begins on this thread and may keep it for long, so the rest is for other
        // workers.
        let operation = queue.detachCurrent(from: claim).takeRetainedValue()
        if queue.isObserved { queue.recordStart(of: operation, hasBegun: true) }
        taskBody.startTask()
        return nil
    }

    /// Whether the body is async, and needs nothing that has to be done for its task alone.
    private final func mayUseRunner(in queue: OperationQueue) -> Bool {
        // The flag `needsSetup` does not matter here, because it concerns the thread.
        return !needsOwnTask && !queue.has(.progress)
    }

    /// Runs an async body that has begun in a task of its claim, and sends its start and its end to
    /// the observers of the queue.
    @inline(never)
    nonisolated(nonsending) final func runRecorded(
        as body: any RunningBody, in queue: OperationQueue
    ) async {
        queue.recordStart(of: self, hasBegun: true)
        if let operationObserver {
            await operationObserver.perform { await self.runAsyncBlock(as: body) }
        } else {
            await runAsyncBlock(as: body)
        }
        queue.recordEndOfBody(of: self)
    }

    /// Whether the body may run in a task that also runs other operations.
    final func mayShareTask(in queue: OperationQueue) -> Bool {
        guard let taskBody, !taskBody.isPrepared else { return false }
        return mayUseRunner(in: queue)
    }

    /// Runs a function on a thread made for it, and returns when the function has returned.
    final func runOnOwnThread(niceness: Int32, _ body: @escaping @Sendable () -> Void) {
        OwnThread.run(niceness: niceness, body)
    }
}
