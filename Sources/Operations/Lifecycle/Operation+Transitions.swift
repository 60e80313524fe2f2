// How the lifecycle state of an operation changes: `exchange` makes a change, and `perform` does
// what the change requires. No other code changes the state, except for flags and the lock.

import OperationsRuntime

extension Operation {
    typealias Change = AtomicLifecycleState.Change

    var status: LifecycleState {
        @inline(__always) get { lifecycle.current }
    }

    /// Applies an event and does what it requires. Returns whether the event applied. The caller
    /// holds no lock.
    @discardableResult
    final func transition(_ event: (inout LifecycleState) -> LifecycleState.Actions?) -> Bool {
        guard let change = exchange(event) else { return false }
        perform(change)
        return true
    }

    /// Applies an event and returns the change; nil if the event does not apply. The caller
    /// performs the actions of the change, or knows that there are none.
    ///
    /// - Parameter whileUnlocked: whether the event must not occur while a thread holds the lock.
    @inline(__always)
    final func exchange(
        whileUnlocked: Bool = false,
        _ event: (inout LifecycleState) -> LifecycleState.Actions?
    ) -> Change? {
        var backoff = Backoff()
        while true {
            switch lifecycle.exchange(whileUnlocked: whileUnlocked, isRecorded: false, event) {
            case .made(let change): return change
            case .inapplicable: return nil
            case .locked: backoff.pause()
            case .observed: return exchangeObserved(whileUnlocked: whileUnlocked, event)
            }
        }
    }

    /// Does what a change requires, except returning a slot: the caller does that, because only the
    /// caller knows the queue if the operation has left it meanwhile. The caller holds no lock.
    ///
    /// The queue comes first, because observers and handlers are user code, which may wait for what
    /// the queue does next.
    final func perform(_ change: Change) {
        let actions = change.actions
        if actions.contains(.enqueue) { enqueueReady() }
        if actions.contains(.checkReadiness) { checkReadiness() }
        if actions.contains(.reconsiderReady) { reconsiderReady() }
        if actions.contains(.moveToCancelled) { retainedQueue()?.eventOffering { $0.cancel(self) } }
        if change.after.has(.observed) { notifyObservers() }
        if actions.contains(.readReadiness) { _ = isReady }
        if actions.contains(.callCancelHandlers) { callCancelHandlers() }
        if actions.contains(.noteStop) { stopRequested() }
    }

    // MARK: The lock

    @inline(__always)
    final func withLock<Result>(_ body: () -> Result) -> Result {
        lifecycle.lock()
        defer { lifecycle.unlock() }
        return body()
    }

    /// Takes two locks, in the order of addresses, which keeps two threads from waiting for each
    /// other.
    @inline(__always)
    final func lock(and other: Operation) {
        let selfIsFirst =
            UInt(bitPattern: ObjectIdentifier(self)) < UInt(bitPattern: ObjectIdentifier(other))
        if selfIsFirst {
            lifecycle.lock()
            other.lifecycle.lock()
        } else {
            other.lifecycle.lock()
            lifecycle.lock()
        }
    }

    @inline(__always)
    final func withLock<Result>(and other: Operation, _ body: () -> Result) -> Result {
        lock(and: other)
        defer {
            other.lifecycle.unlock()
            lifecycle.unlock()
        }
        return body()
    }
}
