/// The number of unfinished operations of a queue, whenever it changes, for `for await`.
///
/// The first element is the count at the moment when the loop begins. Then each turn of the loop
/// gets the latest count: counts that came and went while the body of the loop was busy are left
/// out, so a slow loop never falls behind. To get each count, observe `operationCount`. The loop
/// ends when its task is cancelled. The loop keeps the queue; all that the loop needs is released
/// when it ends.
public struct OperationQueueCounts: AsyncSequence, Sendable {
    /// The element of the loop.
    public typealias Element = Int
    /// The sequence does not fail.
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

    /// The iterator of the loop.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<Int>.Iterator
        let queue: OperationQueue

        /// Returns the latest count that the loop has not seen; nil when the task was cancelled.
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
