/// A type of work, with inputs and a name, of which values can be made wherever they are needed.
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
/// The compiler checks a structure, or a final class, that stores constants. A subclass of
/// ``TypedOperation`` can do the same work, but Swift requires `@unchecked Sendable` of each such
/// subclass.
public protocol OperationWork<Output>: Sendable {
    /// The type of the result.
    associatedtype Output: Sendable

    /// Does the work; called once for each attempt, if the operation has several.
    ///
    /// An error that it throws is the operation's failure. An implementation need not be `async`.
    func run() async throws -> Output
}

extension TypedOperation {
    /// Makes an operation that does the given work; its name is the name of the work's type.
    public convenience init(_ work: some OperationWork<Output>) {
        self.init { try await work.run() }
        name = "\(type(of: work))"
    }
}

extension OperationQueue {
    /// Adds work that has a type of its own.
    ///
    /// - Parameters:
    ///   - work: the work to do, in a task on a worker thread.
    ///   - traits: the operation's name, unless it is to be the name of the type, and further
    ///     settings.
    @discardableResult
    public final func add<Work: OperationWork>(
        _ work: Work, _ traits: any OperationTraitOrName...
    ) -> TypedOperation<Work.Output> {
        take(TypedOperation(work), traits)
    }
}
