// What those are told who observe the queue.

extension QueueState {
    /// Whom to tell, when the lock is released, what was recorded in this hold of it.
    @inline(__always)
    mutating func takeChanges() -> Observations<OperationQueue>? {
        guard hasChanges else { return nil }
        hasChanges = false
        return observations
    }

    /// From here on each operation that comes or goes is recorded.
    mutating func beginNotifyingEach() {
        guard !notifiesEach else { return }
        notifiesEach = true
        givesEach = true
        for batch in batches {
            for operation in batch.taken
            where operation._withUnsafeGuaranteedRef({ $0.status.phase == .finished }) {
                alreadyGone.insert(ObjectIdentifier(operation.takeUnretainedValue()))
            }
        }
        recallBatches()
    }

    mutating func endNotifyingEach() {
        notifiesEach = false
        givesEach = hasDriver
        alreadyGone = []
    }

    /// The operations by what has been recorded: those that are about to leave are still here.
    var countedOperations: [Operation] {
        var operations: [Operation] = []
        ring.forEach { _, operation in
            let operation = operation.takeUnretainedValue()
            guard !operation.status.has(.barrier),
                !alreadyGone.contains(ObjectIdentifier(operation))
            else { return }
            operations.append(operation)
        }
        return operations
    }

    mutating func record(arrivalOf operation: Operation) {
        guard !operation.status.has(.barrier) else { return }
        hasChanges = true
        observations?.record(QueueProperties.operations) { $0 + [operation] }
        observations?.record(QueueProperties.operationCount) { $0 + 1 }
    }

    mutating func record(departureOf operation: Operation) {
        guard !operation.status.has(.barrier),
            alreadyGone.remove(ObjectIdentifier(operation)) == nil
        else { return }
        hasChanges = true
        observations?.record(QueueProperties.operations) { $0.filter { $0 !== operation } }
        observations?.record(QueueProperties.operationCount) { $0 - 1 }
    }
}
