import OperationsRuntime

/// An operation that calls a method of an object, with an argument or without one.
///
/// The method is named by its type, and the compiler checks that it fits:
///
/// ```swift
/// let load = InvocationOperation(target: store, method: Store.load, argument: "a.txt")
/// ```
///
/// The return value of the method is the operation's ``TypedOperation/result``. A method that
/// returns nothing has the result `Void`, a result like any other: unlike Foundation, the library
/// has no error for that case.
///
/// The operation keeps the target and the argument until the method has returned or thrown, or
/// until the operation is cancelled without calling it. The target must be `Sendable`: another
/// thread calls it.
open class InvocationOperation<Output: Sendable>: TypedOperation<Output>, @unchecked Sendable {
    /// The call, which keeps the target and the argument until the work has ended or is cancelled.
    private let call: Call

    private final class Call: Sendable {
        private let body: Locked<(@Sendable () throws -> Output)?>

        init(_ body: @escaping @Sendable () throws -> Output) { self.body = Locked(body) }

        /// Returns the body to the first caller, which releases it without the lock; nil to later
        /// callers.
        func take() -> (@Sendable () throws -> Output)? { body.withLock { $0.take() } }

        func make() throws -> Output {
            // A cancellation has taken the body, so nothing can ask for an output.
            guard let body = body.withLock({ $0 }) else { throw CancellationError() }
            return try body()
        }
    }

    /// Makes an operation that calls a method without arguments.
    ///
    /// - Parameters:
    ///   - target: the object, kept until the method has returned.
    ///   - method: the method, for example `Store.refresh`; it may throw.
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
    ///   - method: the method, for example `Store.load`; it may throw.
    ///   - argument: the argument of the call, kept as long as the target.
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

    /// Asks the operation to stop; an operation that has not called its method releases its target.
    open override func cancel() {
        super.cancel()
        // A timeout of one attempt keeps the call: the next attempt needs it.
        if status.has(.cancelled) { withExtendedLifetime(call.take()) {} }
    }

    override func releaseBody() {
        super.releaseBody()
        withExtendedLifetime(call.take()) {}
    }
}
