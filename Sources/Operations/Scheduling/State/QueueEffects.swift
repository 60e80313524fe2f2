import OperationsRuntime

/// What is left to do after one hold of a queue's lock, beside what the event returns. Usually
/// there is nothing, so a queue makes this object when it is needed.
///
/// The queue's lock guards the object until ``OperationQueue/eventOffering`` takes it.
final class QueueEffects {
    private var recorder: (any QueueRecorder)?
    private var promotions: [Promotion] = []
    private var declined: [Unmanaged<Operation>] = []

    /// Lets observers know of what was recorded.
    func notify(by recorder: any QueueRecorder) { self.recorder = recorder }

    func promote(_ more: [Promotion]) { promotions += more }

    func takePromotions() -> [Promotion] {
        defer { promotions = [] }
        return promotions
    }

    /// Reads the `isReady` of operations again, which are retained.
    func readAgain(_ operations: [Unmanaged<Operation>]) { declined += operations }

    /// Carries everything out. No lock is held, and the queue is not touched.
    consuming func perform() {
        recorder?.notifyObservers()
        if !promotions.isEmpty { Operation.perform(promotions) }
        for operation in declined { operation.takeRetainedValue().reevaluateReadiness() }
    }
}
