import OperationsRuntime

extension OperationQueue {
    /// The moments, from now on, at which the queue becomes idle, for `for await`.
    ///
    /// ```swift
    /// for await _ in queue.idles { print("nothing to do") }
    /// ```
    ///
    /// The first turn of the loop comes at once if the queue is empty when the loop begins, and
    /// otherwise when the queue becomes empty. Each further turn comes when the queue has become
    /// empty again since the turn before. If that happened while the body of the loop was busy, the
    /// next turn comes at once, and only one turn comes however often it happened. By the time of a
    /// turn the queue may have something to do again.
    ///
    /// A barrier counts as something to do. The loop ends when its task is cancelled. The loop
    /// keeps the queue, and does not slow it down.
    public final var idles: ObservedSequence<Void> {
        ObservedSequence<Void> {
            // How often the queue had become empty by the last turn; nil before the first turn.
            var seen: UInt64?
            return {
                if Task.isCancelled { return nil }
                await TimedWait.untilCancelled { wait in
                    self.event {
                        $0.waiterArrived(.handler { wait.end(inTime: true) }, after: seen)
                    }
                } leave: { ticket in
                    self.event { $0.waiterLeft(ticket) }
                }
                if Task.isCancelled { return nil }
                seen = self.snapshot { $0.idleCount }
                return ()
            }
        }
    }
}
