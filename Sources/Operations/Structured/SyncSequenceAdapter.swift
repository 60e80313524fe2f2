/// A sequence as an async sequence that never suspends, so that one function can serve both kinds.
///
/// Its elements are requested where its iterator is called: on the caller's actor.
struct SyncSequenceAdapter<Base: Sequence>: AsyncSequence, AsyncIteratorProtocol {
    private var base: Base.Iterator

    init(_ base: Base) { self.base = base.makeIterator() }

    func makeAsyncIterator() -> Self { self }

    mutating func next(
        isolation: isolated (any Actor)?
    ) async throws(Never) -> Base.Element? {
        base.next()
    }
}
