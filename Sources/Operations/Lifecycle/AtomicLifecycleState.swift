import OperationsRuntime
import Synchronization

/// The atomic that holds an operation's lifecycle state, and the lock that is one of its bits.
///
/// All changes of the state go through this type. Each is one atomic read-modify-write operation,
/// which acquires what earlier changes released, and releases what the thread did before.
struct AtomicLifecycleState: ~Copyable {
    private let bits = Atomic<UInt64>(LifecycleState().bits)

    var current: LifecycleState {
        @inline(__always) get { LifecycleState(bits: bits.load(ordering: .acquiring)) }
    }

    /// Changes the state of an operation that no other thread can see yet.
    @inline(__always)
    func initialize(_ change: (inout LifecycleState) -> Void) {
        var state = LifecycleState(bits: bits.load(ordering: .relaxed))
        change(&state)
        bits.store(state.bits, ordering: .relaxed)
    }

    // MARK: Events

    /// A change of the state. The thread that made it performs its actions.
    struct Change {
        let before: LifecycleState
        let after: LifecycleState
        let actions: LifecycleState.Actions
    }

    enum Exchange {
        case made(Change)
        /// The event does not apply to the present state.
        case inapplicable
        /// Another thread holds the lock.
        case locked
        /// Observers are registered, so the change must be made with the lock of the observations
        /// held.
        case observed
    }

    /// Applies an event to the state.
    ///
    /// - Parameters:
    ///   - whileUnlocked: whether the event must not occur while a thread holds the lock.
    ///   - isRecorded: whether the caller holds the lock of the observations.
    ///   - event: called again if another thread changed the state meanwhile.
    @inline(__always)
    func exchange(
        whileUnlocked: Bool, isRecorded: Bool,
        _ event: (inout LifecycleState) -> LifecycleState.Actions?
    ) -> Exchange {
        var before = current
        while true {
            if !isRecorded, before.has(.observed) { return .observed }
            if whileUnlocked, before.has(.locked) { return .locked }
            var after = before
            guard let actions = event(&after) else { return .inapplicable }
            let (exchanged, original) = bits.weakCompareExchange(
                expected: before.bits, desired: after.bits,
                successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if exchanged { return .made(Change(before: before, after: after, actions: actions)) }
            before = LifecycleState(bits: original)
        }
    }

    // MARK: Flags

    // No observed property depends on the flags that these methods are called with, so they need
    // no lock of the observations.

    /// Sets flags; returns the state after that.
    @discardableResult
    @inline(__always)
    func insert(_ flags: LifecycleState.Flags) -> LifecycleState {
        LifecycleState(
            bits: bits.bitwiseOr(flags.rawValue, ordering: .acquiringAndReleasing).newValue)
    }

    /// Clears flags.
    @inline(__always)
    func remove(_ flags: LifecycleState.Flags) {
        bits.bitwiseAnd(~flags.rawValue, ordering: .acquiringAndReleasing)
    }

    // MARK: The lock

    /// Takes the lock. Its holder keeps it for a few instructions and waits for nothing else
    /// meanwhile.
    @inline(__always)
    func lock() {
        var backoff = Backoff()
        while !tryLock() { backoff.pause() }
    }

    /// Takes the lock if it is free. Returns false if another thread holds it.
    @inline(__always)
    func tryLock() -> Bool {
        var before = current
        while !before.has(.locked) {
            var after = before
            after.insert(.locked)
            let (exchanged, original) = bits.weakCompareExchange(
                expected: before.bits, desired: after.bits,
                successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if exchanged { return true }
            before = LifecycleState(bits: original)
        }
        return false
    }

    @inline(__always)
    func unlock() {
        bits.bitwiseAnd(~LifecycleState.Flags.locked.rawValue, ordering: .releasing)
    }

    /// Releases the lock and clears flags that only change under it, in one step.
    @inline(__always)
    func unlock(removing flags: LifecycleState.Flags) {
        bits.bitwiseAnd(~LifecycleState.Flags.locked.union(flags).rawValue, ordering: .releasing)
    }

    /// Releases the lock and sets `flag`, which only changes under it, in one step.
    ///
    /// What the thread reads afterwards is not older than the state that the flag was added to: an
    /// operation that has entered a queue before that is found there (Cycles.md).
    @inline(__always)
    func unlock(inserting flag: LifecycleState.Flags) {
        // The difference between the state and the wanted one.
        let flags: LifecycleState.Flags = current.has(flag) ? .locked : [.locked, flag]
        bits.bitwiseXor(flags.rawValue, ordering: .acquiringAndReleasing)
    }
}
