// Change notifications for observers of the queue.

import OperationsRuntime

/// Records the changes of a queue that is observed, in their order, and notifies its observers.
///
/// A queue has a recorder from the moment it is first observed; see Doors.md.
protocol QueueRecorder: AnyObject, Sendable {
    /// Records a change. A lock of the queue is held.
    func record(_ change: RecordedQueueChange)

    /// Notifies observers of the recorded changes. No lock is held.
    func notifyObservers()
}

/// The new value of a property of a queue, or the operation that has made the change.
enum RecordedQueueChange {
    case arrival(Operation)
    case departure(Operation)
    case isSuspended(Bool)
    case width(Int)
    case name(String)
    case qualityOfService(QualityOfService)
}

extension QueueState {
    /// Starts to record each operation that arrives or leaves.
    mutating func beginNotifyingEach() {
        guard !records.notifiesEach else { return }
        materializeRunning()
        var finished: [Operation] = []
        for claim in slots.claims {
            claim.forEachTaken { entry in
                guard let operation = entry.operation?.takeUnretainedValue(),
                    operation.status.phase == .finished
                else { return }
                finished.append(operation)
            }
        }
        records.beginNotifyingEach(besides: finished)
        decideAboutBlocks()
        slots.recall()
    }

    mutating func endNotifyingEach() {
        records.endNotifyingEach()
        decideAboutBlocks()
    }

    /// The operations according to the records. Operations that are about to leave are still
    /// included.
    var countedOperations: [Operation] {
        mutating get {
            materializeAll()
            var operations: [Operation] = []
            ring.forEach { _, entry in
                guard let operation = entry.operation?.takeUnretainedValue(),
                    !operation.status.has(.barrier), !records.isAlreadyGone(operation)
                else { return }
                operations.append(operation)
            }
            return operations
        }
    }

    /// The number of operations according to the records, which is that of ``countedOperations``.
    /// Makes no operation.
    ///
    /// ``operationCount`` is another number: a worker that has not seen the recall yet may end an
    /// operation in its claim at any moment, and that operation leaves, as a recorded change, only
    /// with the claim.
    var countedOperationCount: Int {
        // While each operation leaves by itself, the blocks that were taken have ended.
        var endedBlocks = 0
        for claim in slots.claims where !claim.isCancelled {
            claim.forEachTaken { entry in if entry.isBlock { endedBlocks += 1 } }
        }
        return ring.count - barriers.count - droppedCount - records.alreadyGoneCount - endedBlocks
    }
}
