/// A sequence as one that might suspend and never does, so that whoever works through either kind is written
/// once.
///
/// Its elements are asked for where its iterator is called from: on the caller's actor.
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
