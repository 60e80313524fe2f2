// Change notifications for observers of the queue.

extension QueueState {
    /// Takes the observations to notify after the lock is released; nil if nothing was recorded in
    /// this hold of the lock.
    @inline(__always)
    mutating func takeChanges() -> Observations<OperationQueue>? {
        guard hasChanges else { return nil }
        hasChanges = false
        return observations
    }

    /// Starts to record each operation that arrives or leaves.
    mutating func beginNotifyingEach() {
        guard !notifiesEach else { return }
        notifiesEach = true
        claimsIndividually = true
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
        claimsIndividually = hasDriver
        alreadyGone = []
    }

    /// The operations according to the records. Operations that are about to leave are still
    /// included.
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
