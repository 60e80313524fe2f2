// Operations whose companion may refuse a claim, because they need permits of budgets. An operation
// that gets a slot takes its permits with it, and an operation that is given its permits takes a
// slot. See Permits.md.

import OperationsRuntime

extension QueueState {
    /// The number of refusals in one hold of the lock.
    static var refusalsAtOnce: Int { 64 }

    /// Asks the companion of an operation that is about to be claimed. If the companion refuses,
    /// the operation has gone back to `waiting`, and the result is false.
    func mayClaim(_ operation: Reference) -> Bool {
        operation._withUnsafeGuaranteedRef { operation in
            guard let companion = operation.companion else { return true }
            return companion.mayBeClaimed {
                operation.exchange { $0.permitsRefused() } != nil
            }
        }
    }

    /// Keeps later operations from starting in a strict order while the operation that was to start
    /// next waits for permits.
    mutating func blockRest(_ operation: Reference) {
        ready.order.moveBack(to: operation._withUnsafeGuaranteedRef { $0.place })
    }

    func retainedIfObserved(_ operation: Reference) -> Reference? {
        let isObserved = operation._withUnsafeGuaranteedRef { $0.status.has(.observed) }
        return isObserved ? operation.retain() : nil
    }

    /// Claims an operation that was given its permits. Returns false if the operation cannot start
    /// now.
    mutating func grant(_ operation: Operation) -> Bool {
        guard slots.mayBegin, firstStrictly(before: operation.place) == nil,
            operation.exchange({ $0.permitsGranted() }) != nil
        else { return false }
        slots.take()
        ready.admitted.append(.passRetained(operation), urgency(of: operation))
        return true
    }

    mutating func claimAdmitted(_ urgency: Urgency?) -> Work? {
        ready.admitted.popFirst(urgency).map { .single($0) }
    }
}
