/// The moments at which a queue has nothing left, for `for await`.
///
/// ```swift
/// for await _ in queue.idles { print("nothing to do") }
/// ```
///
/// The first turn of the loop comes at once if the queue is empty when the loop begins, and otherwise when
/// it becomes so. Each further turn comes when the queue has become empty again since the turn before. If
/// that happened while the body of the loop was busy, the next turn comes at once; once, however often it
/// happened. By the time of a turn the queue may have something to do again.
///
/// A barrier counts as something to do. The loop ends when its task is cancelled. It keeps the queue, and
/// costs it nothing.
public struct OperationQueueIdles: AsyncSequence, Sendable {
    /// What the loop gets.
    public typealias Element = Void
    /// It does not fail.
    public typealias Failure = Never

    let queue: OperationQueue

    /// Begins to watch the queue.
    public func makeAsyncIterator() -> Iterator { Iterator(queue: queue) }

    /// Goes from one such moment to the next.
    public struct Iterator: AsyncIteratorProtocol {
        let queue: OperationQueue
        /// How often the queue had become empty at the last turn.
        private var seen: UInt64?

        init(queue: OperationQueue) {
            self.queue = queue
        }

        /// Returns when the queue is empty, or has been; nil when the task was cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async -> Void? {
            if Task.isCancelled { return nil }
            let wait = TimedWait()
            await withTaskCancellationHandler {
                let ticket = queue.event { $0.idleWaiterArrived(after: seen, .timed(wait)) }
                guard let ticket else { return }
                let isInTime = await wait.isInTime()
                // Cancelled; a queue that never gets empty would keep all that ever gave up.
                if !isInTime { queue.event { $0.waiterLeft(ticket) } }
            } onCancel: {
                wait.end(inTime: false)
            }
            if Task.isCancelled { return nil }
            seen = queue.snapshot { $0.idleCount }
            return ()
        }
    }
}

extension OperationQueue {
    /// The moments, from now on, at which the queue has nothing left; see ``OperationQueueIdles``.
    public final var idles: OperationQueueIdles { OperationQueueIdles(queue: self) }
}
