/// What an operation, a queue or a progress has to report, one element after the other, for
/// `for await`.
///
/// Each loop observes by itself, from its own beginning on, and ends when its task is cancelled.
/// The loop keeps the observed object; all that the loop needs is released when it ends.
public struct ObservedSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// The sequence does not fail.
    public typealias Failure = Never
    /// Returns the next element; nil at the end.
    typealias Next = nonisolated(nonsending) () async -> Element?

    /// Begins to observe.
    let begin: @Sendable () -> Next

    /// Begins to observe the object.
    public func makeAsyncIterator() -> Iterator { Iterator(produce: begin()) }

    /// The iterator of one loop.
    public struct Iterator: AsyncIteratorProtocol {
        let produce: Next

        /// Returns the next element; nil after the last one, or when the task is cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async -> Element? {
            await produce()
        }
    }
}
