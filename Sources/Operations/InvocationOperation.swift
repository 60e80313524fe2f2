/// An operation that calls a method of an object, with an argument or without one.
///
/// The method is named by its type, and the compiler checks that it fits:
///
/// ```swift
/// let load = InvocationOperation(target: store, method: Store.load, argument: "a.txt")
/// ```
///
/// What the method returns is the operation's ``TypedOperation/result``; for a method that returns nothing
/// that is `Void`, which is a result like any other: there is no error for that case, unlike in Foundation.
///
/// It keeps the target and the argument until the method has returned or thrown, or the operation was
/// cancelled without calling it. The target must be `Sendable`: another thread calls it.
open class InvocationOperation<Output: Sendable>: TypedOperation<Output>, @unchecked Sendable {
    /// The call, until it is made or the operation is cancelled.
    private let call: Call

    private final class Call: Sendable {
        private let body: Locked<(@Sendable () throws -> Output)?>

        init(_ body: @escaping @Sendable () throws -> Output) { self.body = Locked(body) }

        /// For the first who asks; it is released without the lock.
        func take() -> (@Sendable () throws -> Output)? { body.withLock { $0.take() } }

        func make() throws -> Output {
            // Taken by a cancellation, it has no output that anybody could ask for.
            guard let body = body.withLock({ $0 }) else { throw CancellationError() }
            return try body()
        }
    }

    /// Makes an operation that calls a method without arguments.
    ///
    /// - Parameters:
    ///   - target: the object, kept until the method has returned.
    ///   - method: for example `Store.refresh`; it may throw.
    public init<Target: AnyObject & Sendable>(
        target: Target, method: @escaping @Sendable (Target) -> () throws -> Output
    ) {
        let call = Call { try method(target)() }
        self.call = call
        super.init { try call.make() }
    }

    /// Makes an operation that calls a method with one argument.
    ///
    /// - Parameters:
    ///   - target: the object, kept until the method has returned.
    ///   - method: for example `Store.load`; it may throw.
    ///   - argument: what the method is called with, kept as long.
    public init<Target: AnyObject & Sendable, Argument: Sendable>(
        target: Target, method: @escaping @Sendable (Target) -> (Argument) throws -> Output,
        argument: Argument
    ) {
        let call = Call { try method(target)(argument) }
        self.call = call
        super.init { try call.make() }
    }

    deinit {
        var body = call.take()
        guard body != nil else { return }
        ThreadContext.releasing {
            body = nil
        } later: {
            body as Any
        }
    }

    /// Asks the operation to stop; one that has not called its method lets go of its target.
    open override func cancel() {
        super.cancel()
        // Not if only its attempt is over time.
        if status.has(.cancelled) { withExtendedLifetime(call.take()) {} }
    }

    override func conclude() {
        withExtendedLifetime(call.take()) {}
        super.conclude()
    }
}
