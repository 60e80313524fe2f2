import Synchronization

// How changes of an operation are recorded. All events of an observed operation change its state
// with the lock of its observations held, so their records have the order of the changes. Flags on
// which no property depends, and the lock bit, change without that lock.

extension Operation {
    /// The observations of an observed operation.
    private var existingObservations: Observations<Operation> {
        unsafeDowncast(recorder, to: Observations<Operation>.self)
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
}

extension Observations: OperationRecorder where Object == Operation {
    func exchange(
        _ operation: Operation, whileUnlocked: Bool,
        _ event: (inout LifecycleState) -> LifecycleState.Actions?
    ) -> AtomicLifecycleState.Exchange {
        record {
            let exchange = operation.lifecycle.exchange(
                whileUnlocked: whileUnlocked, isRecorded: true, event)
            if case .made(let change) = exchange, change.before.has(.observed) {
                stateChanged(change)
            }
            return exchange
        }
    }

    func record(_ change: RecordedChange) {
        switch change {
        case .name(let name): record(OperationProperties.name, name)
        case .completionBlock(let block): record(OperationProperties.completionBlock, block)
        case .threadPriority(let priority): record(OperationProperties.threadPriority, priority)
        case .dependencies(let list): record(OperationProperties.dependencies, list())
        }
    }

    func mainDidReturn(_ operation: Operation) {
        operation.announce(OperationProperties.isExecuting)
        operation.announce(OperationProperties.isFinished)
    }

    /// Records the changes of properties that follow from a change of the lifecycle state. The lock
    /// is held.
    private func stateChanged(_ change: Operation.Change) {
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
