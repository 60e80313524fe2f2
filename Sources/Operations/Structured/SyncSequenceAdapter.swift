/// A sequence as an async sequence that never suspends, so that one function can serve both kinds.
///
/// Its elements are requested where its iterator is called: on the caller's actor.
struct SyncSequenceAdapter<Base: Sequence>: AsyncSequence {
    let base: Base

    init(_ base: Base) { self.base = base }

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: Base.Iterator

        mutating func next() async -> Base.Element? { base.next() }

        mutating func next(
            isolation: isolated (any Actor)?
        ) async throws(Never) -> Base.Element? {
            base.next()
        }
    }
}
