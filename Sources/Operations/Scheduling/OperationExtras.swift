import Synchronization

/// What few operations have. Made when first needed; guarded by the operation's lock.
final class OperationExtras {
    var name: String?
    var completionBlock: (@Sendable () -> Void)?
    var waiters: [Waiter] = []
    var threadPriority = 0.5
    /// The blocks of a block operation after its first.
    var furtherBlocks: [@Sendable () -> Void] = []
    /// When its queue started it, unless it is plain; not guarded.
    let startTime = Atomic<UInt64>(0)
    var observations: Observations<Operation>?
    /// What its work came to.
    var failure: FailureRecord?
    /// Why it was cancelled, and the failure elsewhere that led to it.
    var cancellationReason: CancellationReason?
    var upstreamFailure: FailureRecord?
    var cancelHandlers: [@Sendable () -> Void] = []
    weak var group: GroupOperation?
}

/// Somebody who is told that an operation, or all of a queue's, have finished.
enum Waiter: Sendable {
    case thread(Gate)
    case task(CheckedContinuation<Void, Never>)
    case timed(TimedWait)
    /// Called on the thread that brought the end about; with no lock held.
    case handler(@Sendable () -> Void)

    func wake() {
        switch self {
        case .thread(let gate): gate.open()
        case .task(let continuation): continuation.resume()
        case .timed(let wait): wait.end(inTime: true)
        case .handler(let handler): handler()
        }
    }
}
