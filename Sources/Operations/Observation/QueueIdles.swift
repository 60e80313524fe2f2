extension OperationQueue {
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
    public struct Idles: AsyncSequence, Sendable {
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
                let waiter = IdleWaiter()
                await withTaskCancellationHandler {
                    await withCheckedContinuation { continuation in
                        guard waiter.begin(continuation) else { return }
                        let isIdle = queue.event { state in
                            state.idleWaiterArrived(after: seen, .handler { waiter.end() })
                        }
                        if isIdle { waiter.end() }
                    }
                } onCancel: {
                    waiter.end()
                }
                if Task.isCancelled { return nil }
                seen = queue.snapshot { $0.idleCount }
                return ()
            }
        }
    }

    /// The moments, from now on, at which the queue has nothing left; see ``Idles``.
    public final var idles: Idles { Idles(queue: self) }
}

/// Goes on when the queue is idle or the task is cancelled, whatever comes first.
private final class IdleWaiter: Sendable {
    private enum State {
        case created
        case waiting(CheckedContinuation<Void, Never>)
        case ended
    }

    private let state = Protected(State.created)

    /// False, and it goes on at once, if the end came before.
    func begin(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        let begins = state.withLock { state in
            guard case .created = state else { return false }
            state = .waiting(continuation)
            return true
        }
        if !begins { continuation.resume() }
        return begins
    }

    func end() {
        let continuation: CheckedContinuation<Void, Never>? = state.withLock { state in
            defer { state = .ended }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        continuation?.resume()
    }
}
