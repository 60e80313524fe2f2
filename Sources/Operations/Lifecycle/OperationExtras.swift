import OperationsRuntime
import Synchronization

/// The properties that few operations have. Made when first needed; guarded by the operation's
/// lock.
final class OperationExtras {
    var name: String?
    var completionBlock: (@Sendable () -> Void)?
    var waiters = TicketList<Waiter>()
    var threadPriority = 0.5
    /// The blocks of a block operation after its first.
    var furtherBlocks: [@Sendable () -> Void] = []
    /// The time at which the queue started the operation outside a claim. Not guarded by the lock.
    let startTime = Atomic<UInt64>(0)
    /// The recorder of changes; set when the operation is first observed.
    var recorder: (any OperationRecorder)?
    /// The failure of the operation.
    var failure: FailureRecord?
    /// Whether a failure is expected, and ends no scope.
    var mayFail = false
    /// The reason for the cancellation.
    var cancellationReason: CancellationReason?
    /// The failure of another operation that led to the cancellation.
    var upstreamFailure: FailureRecord?
    /// The deadline by which the queue orders the operation; see ``Operation/sortDeadline``. Once
    /// the operation is in a queue, this deadline changes under the queue's lock.
    let sortDeadline = Atomic<Int64>(SortKey.noDeadline)
    var cancelHandlers: [CancelHandler] = []
    /// When the running body was told to stop; nil once any code has seen that.
    var stopTime: UInt64?
    /// The feature that accompanies the operation. Set before the operation is added, and then
    /// kept.
    var companion: (any OperationCompanion)?
    /// Whether the queue's progress has counted the addition, and no unit was made for a body.
    var isCounted = false
    /// The unit of the queue's progress that the running body stands for.
    var unit: Progress?
    /// The operation that this one is a member of.
    weak var group: Operation?
    /// The observer that accompanies the operation. Set before the operation is added, and then
    /// kept.
    var operationObserver: (any OperationObserver)?
}
