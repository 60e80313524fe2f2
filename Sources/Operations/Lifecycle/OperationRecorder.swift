import OperationsRuntime

/// Records the changes of an operation that is observed, in their order, and notifies its
/// observers.
///
/// An operation has a recorder from the moment it is first observed. It calls the recorder at
/// changes of its state while its flag *observed* is set. Doors.md says which locks are held.
protocol OperationRecorder: AnyObject, Sendable {
    /// Applies an event to the state of the operation, and records the changes of properties that
    /// follow, in one step. Returns `locked` if another thread holds the lock of the operation.
    func exchange(
        _ operation: Operation, whileUnlocked: Bool,
        _ event: (inout LifecycleState) -> LifecycleState.Actions?
    ) -> AtomicLifecycleState.Exchange

    /// Records the new value of a property that is not part of the state. The lock of the operation
    /// may be held.
    func record(_ change: RecordedChange)

    /// Called when the default `start()` has come to its end and an override of `isFinished` may
    /// have kept the operation from finishing.
    func mainDidReturn(_ operation: Operation)

    /// Notifies observers of the end too, which was held back until the operation has left its
    /// queue.
    func release()

    /// Notifies observers of the recorded changes. No lock is held.
    func notifyObservers()
}

/// The new value of a property of an operation.
enum RecordedChange {
    case name(String?)
    case completionBlock((@Sendable () -> Void)?)
    case threadPriority(Double)
    /// Returns the list; called at once if the property is observed, under the operation's lock.
    case dependencies(() -> [Operation])
}

extension Operation {
    /// The recorder of an observed operation.
    ///
    /// It is set before the flag *observed* is set, and never again, so a thread that has seen the
    /// flag needs no lock.
    final var recorder: any OperationRecorder {
        guard let recorder = existingExtras?.recorder else {
            fatalError("unreachable: an observed operation has a recorder")
        }
        return recorder
    }

    /// Changes the lifecycle state as `exchange` does, while the operation is observed.
    @inline(never)
    final func exchangeObserved(
        whileUnlocked: Bool, _ event: (inout LifecycleState) -> LifecycleState.Actions?
    ) -> Change? {
        let recorder = recorder
        var backoff = Backoff()
        while true {
            switch recorder.exchange(self, whileUnlocked: whileUnlocked, event) {
            case .made(let change): return change
            case .inapplicable: return nil
            // The lock of the recorder comes after the operation's lock in the lock order, so it is
            // not held during this wait.
            case .locked: backoff.pause()
            case .observed: fatalError("unreachable: the lock of the recorder is held")
            }
        }
    }

    /// Notifies observers of the recorded changes. No lock is held.
    @inline(never)
    final func notifyObservers() {
        // When the last observer goes, the flag is cleared.
        if status.has(.observed) { recorder.notifyObservers() }
    }

    /// Announces the properties that an override of `isFinished` affects, when the default
    /// `start()` has come to its end and the override may have kept the operation from finishing.
    @inline(never)
    final func mainDidReturn() {
        if status.phase != .finished { recorder.mainDidReturn(self) }
    }
}
