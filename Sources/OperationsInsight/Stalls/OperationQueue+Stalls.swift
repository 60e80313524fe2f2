public import Operations

/// A running series of stall reports, which ends with ``end()`` or when the queue is deinitialized.
///
/// Neither this object nor the reports retain the queue, and the caller need not retain this
/// object.
public final class OperationQueueStallReports: Sendable {
    private let queue: WatchedQueue
    private let watcher: StallWatcher

    fileprivate init(_ queue: WatchedQueue, _ watcher: StallWatcher) {
        (self.queue, self.watcher) = (queue, watcher)
    }

    /// Ends the reports. A call of the handler that has begun runs to its end.
    public func end() {
        queue.end()
        watcher.remove(queue)
    }
}

extension OperationQueue {
    /// Calls a handler when the queue stalls, or when an operation executes for too long.
    ///
    /// A queue **stalls** when for some time no body of its operations has begun, been resumed or
    /// returned, although something waits for that. The time counts while an operation is ready, or
    /// waits for an operation that does not go on. It does not count while the queue is suspended,
    /// nor while its operations wait for what comes by itself: a point in time, a retry, a token or
    /// a permit, or work that goes on in another queue.
    ///
    /// An operation **executes for too long** when its body has neither begun nor been resumed for
    /// the limit of operations. It is reported by itself, with what its thread waits for, while
    /// other operations go on. An operation whose body waits for other operations is not reported
    /// while those go on. An `async` body counts as new each time it is resumed, so a loop that
    /// awaits something again and again may run for ever. A node of a `BlockGraph` counts as an
    /// operation, and is reported with its own name. A body that is suspended for longer than
    /// the limit, such as one that waits for rare messages, is reported once each time; give such a
    /// queue another limit of operations, or none (``reportStalls(after:operationLimit:_:)``).
    ///
    /// The handler is called once for each stall, with an explanation, and again only after the
    /// queue, or the operation, has gone on.
    ///
    /// Reports cost operations next to nothing: the queue is looked at eight times in `time`, at
    /// most a hundred times a second. A stall is reported at most two of these pauses late, or
    /// later if the queue holds hundreds of thousands of operations. The queue is not retained
    /// between two looks.
    ///
    /// One thread of the process looks at all queues with such reports. It is neither a worker nor
    /// a Dispatch thread, because a queue may be waiting for exactly these.
    ///
    /// - Parameters:
    ///   - time: the limit of the queue, and of each of its operations; at least a millisecond.
    ///   - handler: called on a thread of its own, which all reports of the process share: a
    ///     handler that waits holds up the other reports.
    /// - Returns: an object that ends the reports; it need not be retained.
    @discardableResult
    public final func reportStalls(
        after time: Duration, _ handler: @escaping @Sendable (OperationQueueStall) -> Void
    ) -> OperationQueueStallReports {
        reportStalls(after: time, operationLimit: time, by: .shared, handler)
    }

    /// Calls a handler when the queue stalls, or when an operation executes for too long, with a
    /// limit for each; see ``reportStalls(after:_:)``.
    ///
    /// - Parameters:
    ///   - time: the limit of the queue; at least a millisecond.
    ///   - operationLimit: the limit of each operation; at least a millisecond. Nil for no reports
    ///     of single operations.
    ///   - handler: called on a thread of its own, which all reports of the process share: a
    ///     handler that waits holds up the other reports.
    /// - Returns: an object that ends the reports; it need not be retained.
    @discardableResult
    public final func reportStalls(
        after time: Duration, operationLimit: Duration?,
        _ handler: @escaping @Sendable (OperationQueueStall) -> Void
    ) -> OperationQueueStallReports {
        reportStalls(after: time, operationLimit: operationLimit, by: .shared, handler)
    }

    /// As above, with a watcher that the caller makes look.
    ///
    /// - Parameter operationLimit: nil for no reports of operations.
    final func reportStalls(
        after time: Duration, operationLimit: Duration?, by watcher: StallWatcher,
        _ handler: @escaping @Sendable (OperationQueueStall) -> Void
    ) -> OperationQueueStallReports {
        let queue = WatchedQueue(self, limit: time, operationLimit: operationLimit, handler)
        watcher.add(queue)
        return OperationQueueStallReports(queue, watcher)
    }
}
