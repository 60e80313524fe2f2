import Synchronization

// How changes of an operation are recorded. All events of an observed operation change its state
// with the lock of its observations held, so their records have the order of the changes. Flags on
// which no property depends, and the lock bit, change without that lock.

extension Operation {
    /// The observations of an observed operation.
    ///
    /// They are set before the flag *observed* is set, and never again, so a thread that has seen
    /// the flag needs no lock.
    final var existingObservations: Observations<Operation> {
        guard let observations = existingExtras?.observations else {
            fatalError("unreachable: an observed operation has observations")
        }
        return observations
    }

    /// Changes the lifecycle state as `exchange` does, while the operation is observed.
    @inline(never)
    final func exchangeObserved(
        whileUnlocked: Bool, _ event: (inout LifecycleState) -> LifecycleState.Actions?
    ) -> Change? {
        let observations = existingObservations
        var backoff = Backoff()
        while true {
            let exchange = observations.record {
                let exchange = lifecycle.exchange(
                    whileUnlocked: whileUnlocked, isRecorded: true, event)
                if case .made(let change) = exchange, change.before.has(.observed) {
                    observations.stateChanged(change)
                }
                return exchange
            }
            switch exchange {
            case .made(let change): return change
            case .inapplicable: return nil
            // The lock of the observations comes after the operation's lock in the lock order, so
            // it is not held during this wait.
            case .locked: backoff.pause()
            case .observed: fatalError("unreachable: the lock of the observations is held")
            }
        }
    }

    /// Notifies observers of the recorded changes. No lock is held.
    @inline(never)
    final func notifyObservers() {
        // When the last observer goes, the flag is cleared.
        if status.has(.observed) { existingObservations.notifyObservers() }
    }

    /// Records the announcement of a property, and notifies observers.
    final func announce(
        _ property: any AnyObservedProperty, as announcement: Announcement = .possible
    ) {
        guard status.has(.observed) else { return }
        let observations = existingObservations
        observations.record {
            observations.announceLocked(property.id, as: announcement)
            // `isConcurrent` is the older name of `isAsynchronous` and has the same value.
            if property.id == OperationProperties.isAsynchronous.id {
                observations.announceLocked(
                    OperationProperties.isConcurrent.id, as: announcement)
            }
            // The property may be one of those that make the state.
            observations.announceLocked(OperationProperties.state.id)
        }
        observations.notifyObservers()
    }

    /// Announces the properties that an override of `isFinished` affects, when the default
    /// `start()` has come to its end and the override may have kept the operation from finishing.
    @inline(never)
    final func mainDidReturn() {
        guard status.phase != .finished else { return }
        announce(OperationProperties.isExecuting)
        announce(OperationProperties.isFinished)
    }

    /// Records the present list of dependencies. The lock is held.
    final func recordDependencies() {
        guard status.has(.observed) else { return }
        existingObservations.record(
            OperationProperties.dependencies,
            Self.withoutRepetition(edges.load(ordering: .relaxed).map(Edges.dependencies) ?? []))
    }
}

/// Notifications and cancellations that have to wait until a lock is released.
final class DeferredNotifications {
    var observations: [Observations<Operation>] = []
    var rejections: [UnmetCondition] = []

    func send() {
        for observations in observations { observations.notifyObservers() }
        for rejection in rejections { rejection.cancelDependent() }
    }
}

extension Observations where Object == Operation {
    /// Records the changes of properties that follow from a change of the lifecycle state. The lock
    /// is held.
    fileprivate func stateChanged(_ change: Operation.Change) {
        let (before, after) = (change.before, change.after)
        if before.phase != .finished, after.phase == .finished {
            // Observers are notified once the operation has left its queue.
            holdLocked()
            // A subclass that keeps its own state may be about to announce that it does not execute
            // any more; that announcement comes first. Observers are not notified twice of what the
            // subclass announces then, or has just announced of its end.
            if before.phase != .executing {
                announceLocked(OperationProperties.isExecuting.id, as: .early)
            }
            expectAnnouncementLocked(OperationProperties.isFinished.id)
        }
        record(OperationProperties.queuePriority, before.priority, after.priority)
        record(OperationProperties.isCancelled, before.isCancelled, after.isCancelled)
        record(
            OperationProperties.isReady, before.isReady || before.phase == .finished,
            after.isReady || after.phase == .finished)
        // As on Apple's systems: a cancelled operation could be started now in any case, in order
        // to end.
        if !before.has(.cancelled), after.has(.cancelled), before.isReady, !before.isAtWork {
            announceLocked(OperationProperties.isReady.id, as: .unconditional)
            announceLocked(OperationProperties.state.id)
        }
        record(
            OperationProperties.isExecuting, before.phase == .executing, after.phase == .executing)
        record(
            OperationProperties.qualityOfService, before.quality.property, after.quality.property)
        record(OperationProperties.isFinished, before.phase == .finished, after.phase == .finished)
        record(OperationProperties.state, before.observedState, after.observedState)
    }

    private func record<Value: Equatable>(
        _ property: ObservedProperty<Operation, Value>, _ old: Value, _ new: Value
    ) {
        if old != new { recordLocked(property, new) }
    }
}
