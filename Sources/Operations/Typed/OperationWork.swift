/// Work that has a type of its own: with inputs, with a name, made wherever it is needed.
///
/// ```swift
/// struct Thumbnail: OperationWork {
///     let file: String
///     func run() throws -> Picture { try scaled(read(file)) }
/// }
///
/// let thumbnail = queue.add(Thumbnail(file: "sea.jpg"))
/// ```
///
/// A structure, or a final class, that stores constants is checked by the compiler. A subclass of
/// ``TypedOperation`` does the same work, but Swift wants the promise `@unchecked Sendable` from each.
public protocol OperationWork<Output>: Sendable {
    /// What the work results in.
    associatedtype Output: Sendable

    /// Does the work; once for each attempt, if the operation has several.
    ///
    /// What it throws is the operation's failure. An implementation need not be `async`.
    func run() async throws -> Output
}

extension TypedOperation {
    /// Makes an operation that does work of a type of its own, the name of which it has.
    public convenience init(_ work: some OperationWork<Output>) {
        self.init { try await work.run() }
        name = "\(type(of: work))"
    }
}

extension OperationQueue {
    /// Adds work that has a type of its own.
    ///
    /// - Parameters:
    ///   - work: what is done, in a task on a worker thread.
    ///   - name: a name for people; the name of the type unless given.
    ///   - traits: what else is to be said about the operation.
    @discardableResult
    public final func add<Work: OperationWork>(
        _ work: Work, named name: String? = nil, _ traits: OperationTrait...
    ) -> TypedOperation<Work.Output> {
        take(TypedOperation(work), name, traits)
    }
}
