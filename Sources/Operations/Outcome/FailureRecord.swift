import Synchronization

/// A failure, shared by the operation that failed and the operations that were cancelled because of
/// it.
///
/// When the last of them releases the record and nothing has observed the failure, it is reported.
final class FailureRecord: Sendable {
    let operation: String
    let error: any Error
    private let isObserved = Atomic<Bool>(false)
    private let handled = Atomic<Bool>(false)
    private let isTaken = Atomic<Bool>(false)

    init(operation: String, error: any Error) {
        self.operation = operation
        self.error = error
    }

    deinit {
        guard !isObserved.load(ordering: .acquiring) else { return }
        OperationsDiagnostics.handler(.unobservedFailure(operation: operation, error: error))
    }

    /// Marks the failure as observed.
    func observe() { isObserved.store(true, ordering: .releasing) }

    /// Marks the failure as handled: an operation runs because of it, or waits to do so.
    func handle() { handled.store(true, ordering: .releasing) }

    /// Returns true once: for the caller that is to decide what follows from the failure.
    func take() -> Bool { !isTaken.exchange(true, ordering: .acquiringAndReleasing) }

    /// Whether an operation runs because of the failure, did so, or waits to do so.
    var isHandled: Bool { handled.load(ordering: .acquiring) }
}
