import OperationsRuntime

extension _OperationQueueMembers {
    /// Adds a block that runs on the main actor, alone: when all operations that were added before
    /// it have finished, and before any that is added after it starts.
    ///
    /// A worker thread waits for the block, and another worker replaces it meanwhile.
    public func addBarrierBlock(_ barrier: @escaping @MainActor @Sendable () -> Void) {
        addBarrierBlock {
            let hasRun = Latch()
            Task { @MainActor in
                barrier()
                hasRun.open()
            }
            hasRun.waitOnWorker()
        }
    }
}
