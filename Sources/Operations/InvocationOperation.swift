/// An operation that calls a method of an object, with an argument or without one.
///
/// The method is named by its type, and the compiler checks that it fits:
///
/// ```swift
/// let load = InvocationOperation(target: store, method: Store.load, argument: "a.txt")
/// ```
///
/// It keeps the target and the argument until the method has returned or thrown, or the operation was
/// cancelled without calling it. The target must be `Sendable`: another thread calls it.
open class InvocationOperation<Output: Sendable>: Operation, @unchecked Sendable {
    private enum Invocation {
        /// → `running`, `dropped`.
        case pending(@Sendable () throws -> Output)
        /// → `ended`.
        case running
        /// Terminal.
        case ended(Result<Output, any Error>)
        /// Cancelled before the call. Terminal.
        case dropped
    }

    private let invocation: Protected<Invocation>

    /// Makes an operation that calls a method without arguments.
    ///
    /// - Parameters:
    ///   - target: the object, kept until the method has returned.
    ///   - method: for example `Store.refresh`; it may throw.
    public init<Target: AnyObject & Sendable>(
        target: Target, method: @escaping @Sendable (Target) -> () throws -> Output
    ) {
        self.invocation = Protected(.pending { try method(target)() })
        super.init()
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
        self.invocation = Protected(.pending { try method(target)(argument) })
        super.init()
    }

    /// What the method returned.
    ///
    /// Read it when the operation has finished, for example in an operation that depends on it. For a
    /// method that returns nothing this is `Void`, which is a result like any other; there is no
    /// error for that case, unlike in Foundation.
    ///
    /// - Throws: ``InvocationError/cancelled`` if the operation was cancelled before it finished, even
    ///   if the method was called; ``InvocationError/failed(_:)`` with what the method threw; or
    ///   ``InvocationError/notFinished``.
    open var result: Output {
        get throws(InvocationError) {
            if isCancelled { throw .cancelled }
            guard isFinished, case .ended(let result) = invocation.withLock({ $0 }) else {
                throw .notFinished
            }
            switch result {
            case .success(let output): return output
            case .failure(let error): throw .failed(error)
            }
        }
    }

    /// Calls the method; a second call of this does nothing, for the target is gone.
    open override func main() {
        guard let call = take(leaving: .running) else { return }
        end(Result { try call() })
    }

    /// Asks the operation to stop; one that has not called its method lets go of its target.
    open override func cancel() {
        super.cancel()
        if isCancelled { withExtendedLifetime(take(leaving: .dropped)) {} }
    }

    /// The call, for the first who asks; it is released without the lock.
    private func take(leaving next: Invocation) -> (@Sendable () throws -> Output)? {
        invocation.withLock { invocation in
            guard case .pending(let call) = invocation else { return nil }
            invocation = next
            return call
        }
    }

    private func end(_ result: Result<Output, any Error>) {
        invocation.withLock { $0 = .ended(result) }
    }
}

/// Why an ``InvocationOperation`` has no result.
public enum InvocationError: Error, Sendable, CustomStringConvertible {
    /// The operation was cancelled.
    case cancelled
    /// The method has not returned yet.
    case notFinished
    /// The method threw this.
    case failed(any Error)

    /// A sentence that says what happened and what to do.
    public var description: String {
        switch self {
        case .cancelled:
            "the operation was cancelled, so it has no result: check isCancelled first"
        case .notFinished:
            "the method has not returned yet: read the result when the operation has finished, for "
                + "example in an operation that depends on it"
        case .failed(let error):
            "the method threw: \(error)"
        }
    }
}
