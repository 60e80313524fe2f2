extension Operation {
    /// Marks the operation, unless it has begun, so that it will not begin. Returns whether that is
    /// so; the caller must then cancel it by a ``CancelRound``.
    final func keepFromBeginning(because reason: CancellationReason) -> Bool {
        withExtras { extras in
            // Who reads the reason takes this lock, so both change together.
            guard exchange({ $0.keptFromBeginning() }) != nil else { return false }
            if extras.cancellationReason == nil, !status.has(.cancelled) {
                extras.cancellationReason = reason
            }
            return true
        }
    }
}

extension LifecycleState {
    /// The operation must not begin, if it has not. An operation that is to be cancelled anyway
    /// counts as kept from that, too.
    fileprivate mutating func keptFromBeginning() -> Actions? {
        switch phase {
        case .starting, .executing, .finished: return nil
        case .created, .waiting, .checkingReadiness, .queued:
            insert(.cancellationPending)
            return []
        }
    }
}
