/// The moments at which a queue becomes idle, for `for await`.
///
/// ```swift
/// for await _ in queue.idles { print("nothing to do") }
/// ```
///
/// The first turn of the loop comes at once if the queue is empty when the loop begins, and
/// otherwise when the queue becomes empty. Each further turn comes when the queue has become empty
/// again since the turn before. If that happened while the body of the loop was busy, the next turn
/// comes at once, and only one turn comes however often it happened. By the time of a turn the
/// queue may have something to do again.
///
/// A barrier counts as something to do. The loop ends when its task is cancelled. The loop keeps
/// the queue, and does not slow it down.
public struct OperationQueueIdles: AsyncSequence, Sendable {
    /// The element of the loop.
    public typealias Element = Void
    /// The sequence does not fail.
    public typealias Failure = Never

    let queue: OperationQueue

    /// Begins to watch the queue.
    public func makeAsyncIterator() -> Iterator { Iterator(queue: queue) }

    /// The iterator of the loop.
    public struct Iterator: AsyncIteratorProtocol {
        let queue: OperationQueue
        /// How often the queue had become empty by the last turn; nil before the first turn.
        private var seen: UInt64?

        init(queue: OperationQueue) {
            self.queue = queue
        }

        /// Returns when the queue becomes empty, or at once if the queue has become empty since the
        /// last turn, or is empty at the first turn; returns nil when the task was cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async -> Void? {
            if Task.isCancelled { return nil }
            let wait = TimedWait()
            await withTaskCancellationHandler {
                let ticket = queue.event { $0.idleWaiterArrived(after: seen, .timed(wait)) }
                guard let ticket else { return }
                let isInTime = await wait.isInTime()
                // The task was cancelled. A queue that never becomes empty would otherwise keep
                // every waiter that gave up.
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
    /// The moments, from now on, at which the queue becomes idle; see ``OperationQueueIdles``.
    public final var idles: OperationQueueIdles { OperationQueueIdles(queue: self) }
}
