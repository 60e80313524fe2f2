import Synchronization

/// What few operations have. Made when first needed; guarded by the operation's lock.
final class OperationExtras {
    var name: String?
    var completionBlock: (@Sendable () -> Void)?
    var waiters = TicketList<Waiter>()
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
    /// Of those in a queue it changes under the queue's lock, too.
    let deadline = Atomic<Int64>(SortKey.noDeadline)
    var cancelHandlers: [CancelHandler] = []
    /// Reported cycles that it is a member of.
    var standingCycles: [StandingCycle] = []
    /// What traits say, and how far the operation has come with it; set before it is added, and then kept.
    var attemptController: AttemptController?
    weak var group: GroupOperation?
    /// Who is told of it; set before it is added, and then kept.
    var witness: (any OperationObserver)?
}

/// What is called when an operation is cancelled.
struct CancelHandler: Sendable {
    /// Whether the body itself registered it: then it goes with the attempt.
    let isOfAttempt: Bool
    let call: @Sendable () -> Void
}

/// Somebody who is told that an operation, or all of a queue's, have finished.
enum Waiter: Sendable {
    case thread(Latch)
    case task(CheckedContinuation<Void, Never>)
    case timed(TimedWait)
    /// Waits for room; resumed with whether it has a place.
    case room(CheckedContinuation<Bool, Never>)
    /// Called on the thread that brought the end about; with no lock held.
    case handler(@Sendable () -> Void)

    func wake() {
        switch self {
        case .thread(let gate): gate.open()
        case .task(let continuation): continuation.resume()
        case .timed(let wait): wait.end(inTime: true)
        case .room(let continuation): continuation.resume(returning: true)
        case .handler(let handler): handler()
        }
    }
}
