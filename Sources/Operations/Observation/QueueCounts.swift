/// How many operations of a queue have not finished, whenever that changes, for `for await`.
///
/// First comes the count at the moment when the loop begins. Then each turn of the loop gets the
/// latest count: counts that came and went while the body of the loop was busy are left out, so a
/// slow loop never falls behind. Who needs each of them observes `operationCount`. The loop ends when
/// its task is cancelled. It keeps the queue; what it needs goes when it ends.
public struct OperationQueueCounts: AsyncSequence, Sendable {
    /// What the loop gets.
    public typealias Element = Int
    /// It does not fail.
    public typealias Failure = Never

    let queue: OperationQueue

    /// Begins to observe the queue.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Int.self, bufferingPolicy: .bufferingNewest(1))
        let observation = queue.observe(\.operationCount, options: [.initial, .new]) {
            _, change in
            if let count = change.newValue { continuation.yield(count) }
        }
        continuation.onTermination = { _ in observation.invalidate() }
        return Iterator(base: stream.makeAsyncIterator(), queue: queue)
    }

    /// Goes from count to count.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<Int>.Iterator
        let queue: OperationQueue

        /// The latest count that the loop has not seen; nil when the task was cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async -> Int? {
            await base.next(isolation: actor)
        }
    }
}

extension KeyValueObserving where Self: OperationQueue {
    /// The operation counts from now on; see ``OperationQueueCounts``.
    public var counts: OperationQueueCounts { OperationQueueCounts(queue: self) }
}
