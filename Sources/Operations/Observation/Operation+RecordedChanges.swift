import Synchronization

// How changes of an operation come to be recorded. All changes of the word of an observed operation are
// made with its observations' lock held, so their records have the order in which they happened.

extension OperationExtras {
    /// Made when the operation is first observed, and then kept. The operation's lock is held.
    func observations(of operation: Operation) -> Observations<Operation> {
        if let observations { return observations }
        let new = Observations(operation)
        observations = new
        return new
    }
}

extension Operation {
    /// Set before the flag *observed* is, and never again, so whoever has seen the flag needs no lock.
    private var existingObservations: Observations<Operation> {
        guard let observations = existingExtras?.observations else {
            fatalError("unreachable: an observed operation has observations")
        }
        return observations
    }

    /// What `update` does while the operation is observed.
    @inline(never)
    @discardableResult
    final func updateObserved(
        whileUnlocked: Bool, _ event: (inout LifecycleState) -> Bool
    ) -> Change? {
        let observations = existingObservations
        var backoff = Backoff()
        while true {
            // Not waited for with the observations' lock held: it comes after this one.
            if whileUnlocked, status.has(.locked) {
                backoff.pause()
                continue
            }
            var isBlocked = false
            let change = observations.record {
                exchange(whileUnlocked, &isBlocked, event) { change in
                    if change.before.has(.observed) { observations.wordChanged(change) }
                }
            }
            if !isBlocked { return change }
        }
    }

    private func exchange(
        _ whileUnlocked: Bool, _ isBlocked: inout Bool, _ event: (inout LifecycleState) -> Bool,
        then: (Change) -> Void
    ) -> Change? {
        var before = status
        while true {
            if whileUnlocked, before.has(.locked) {
                isBlocked = true
                return nil
            }
            var after = before
            guard event(&after) else { return nil }
            let (exchanged, original) = word.compareExchange(
                expected: before.bits, desired: after.bits,
                successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if exchanged {
                let change = Change(before: before, after: after)
                then(change)
                return change
            }
            before = LifecycleState(bits: original)
        }
    }

    /// Tells observers what was recorded. No lock is held.
    @inline(never)
    final func notifyObservers() {
        // Observers that have gone meanwhile took the flag with them.
        if status.has(.observed) { existingObservations.tell() }
    }

    /// Records that a property was announced, and tells observers.
    ///
    /// - Parameter isSaid: whether a subclass has said so, and observers are told of it whatever the value is.
    final func announce(_ property: any AnyObservedProperty, isSaid: Bool = false) {
        guard status.has(.observed) else { return }
        let observations = existingObservations
        observations.announce(property.id, isSaid: isSaid)
        // The second is the older name of the first, and answers what it answers.
        if property.id == OperationProperties.isAsynchronous.id {
            observations.announce(OperationProperties.isConcurrent.id, isSaid: isSaid)
        }
        observations.tell()
    }

    /// The default `start()` has come to its end; an override of `isFinished` may have kept the operation
    /// from finishing.
    @inline(never)
    final func mainDidReturn() {
        guard status.phase != .finished else { return }
        announce(OperationProperties.isExecuting)
        announce(OperationProperties.isFinished)
    }

    /// One dependency has finished; true if the caller is to bring the operation on. As
    /// `dependencyGone()`, whose lock is held.
    @inline(never)
    final func observedDependencyGone(_ told: inout DeferredNotifications?) -> Bool {
        let list = told ?? DeferredNotifications()
        told = list
        list.observations.append(existingObservations)
        var isRetained = false
        let change = updateObserved(whileUnlocked: false) { word in
            let before = word
            _ = word.dependencyFinished()
            // Before the exchange: after it others may finish the operation, and let go of it.
            if !isRetained, before.phase == .waiting, word.phase == .checkingReadiness {
                _ = Unmanaged.passUnretained(self).retain()
                isRetained = true
            }
            return true
        }
        let isOurs = change?.before.phase == .waiting && change?.after.phase != .waiting
        if isRetained, !isOurs { Unmanaged.passUnretained(self).release() }
        return isOurs
    }

    /// Records the dependencies as they are now. The lock is held.
    final func recordDependencies() {
        guard status.has(.observed) else { return }
        existingObservations.record(
            OperationProperties.dependencies,
            Self.withoutRepetition(edges.load(ordering: .relaxed).map(Edges.dependencies) ?? []))
    }
}

/// Those who are to be told something when a lock was released.
final class DeferredNotifications {
    var observations: [Observations<Operation>] = []
    var rejections: [UnmetCondition] = []

    func tell() {
        for observations in observations { observations.tell() }
        for rejection in rejections { rejection.tell() }
    }
}

extension Observations where Object == Operation {
    /// The lock is held.
    fileprivate func wordChanged(_ change: Operation.Change) {
        let (before, after) = (change.before, change.after)
        if before.phase != .finished, after.phase == .finished {
            // Told when the operation has left its queue.
            holdLocked()
            // A subclass that keeps its own state may be about to say that it does not execute any more;
            // that comes first. What it says then, or has just said of its end, is not told twice.
            if before.phase != .executing {
                announceLocked(OperationProperties.isExecuting.id, isSaidNext: true)
            }
            expectAnnouncementLocked(OperationProperties.isFinished.id)
        }
        record(OperationProperties.queuePriority, before.priority, after.priority)
        record(OperationProperties.isCancelled, before.isCancelled, after.isCancelled)
        record(
            OperationProperties.isReady, before.isReady || before.phase == .finished,
            after.isReady || after.phase == .finished)
        // As on Apple's systems: it could be started now in any case, to end.
        if !before.has(.cancelled), after.has(.cancelled), before.isReady, !before.isAtWork {
            announceLocked(OperationProperties.isReady.id, isSaid: true)
        }
        record(
            OperationProperties.isExecuting, before.phase == .executing, after.phase == .executing)
        record(
            OperationProperties.qualityOfService, before.quality.property, after.quality.property)
        record(OperationProperties.isFinished, before.phase == .finished, after.phase == .finished)
    }

    private func record<Value: Equatable>(
        _ property: ObservedProperty<Operation, Value>, _ old: Value, _ new: Value
    ) {
        if old != new { recordLocked(property, new) }
    }
}
