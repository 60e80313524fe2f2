import Synchronization

/// The values of ``Progress/fractionCompleted`` over time.
public struct ProgressFractions: AsyncSequence, Sendable {
    /// A fraction of 1; see ``Progress/fractionCompleted``.
    public typealias Element = Double
    /// The sequence does not fail.
    public typealias Failure = Never

    let progress: Progress

    /// Makes a reader that begins with the present value.
    public func makeAsyncIterator() -> Iterator { Iterator(progress: progress) }

    /// One reader of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        let progress: Progress
        private var last: Double?
        private var hasEnded = false

        init(progress: Progress) {
            self.progress = progress
        }

        /// Returns the next value that differs from the value before; nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async -> Double? {
            while !hasEnded, !Task.isCancelled {
                let (version, fraction, isOver) = progress.state.withLock {
                    ($0.version, $0.fraction, $0.isFinished || $0.isCancelled)
                }
                hasEnded = isOver
                if fraction != last {
                    last = fraction
                    return fraction
                }
                if !isOver { await progress.change(after: version, isolation: actor) }
            }
            return nil
        }
    }
}

extension Progress {
    /// The fractions completed, from the present one on, as they change.
    ///
    /// A reader that is slower than the changes gets the latest value and not those in between. The
    /// sequence ends when the progress is found finished or cancelled, after the value it has then,
    /// and when the reading task is cancelled. Each loop over the sequence reads for itself. The
    /// sequence keeps the progress.
    public var fractions: ProgressFractions { ProgressFractions(progress: self) }

    private static let lastWaiter = Atomic<UInt64>(0)

    /// Returns when something has changed since `version`, or the task is cancelled.
    func change(after version: UInt64, isolation: isolated (any Actor)?) async {
        let id = Self.lastWaiter.add(1, ordering: .relaxed).newValue
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The cancellation handler runs after the task counts as cancelled. If the handler
                // ran before this closure and found no waiter, this closure sees the cancellation.
                let waits = state.withLock { state in
                    !Task.isCancelled && state.waiterArrived(id, after: version, continuation)
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            let continuation = state.withLock { $0.waiterLeft(id) }
            continuation?.resume()
        }
    }
}
