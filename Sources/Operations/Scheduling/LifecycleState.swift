/// The state of one operation's life, packed into one word that changes in one atomic step.
///
/// The type is pure. Its methods are the events; each returns false where the event does not apply.
/// The state before an event determines what the caller must do after it. LifecycleStates.md draws
/// the events.
struct LifecycleState: Sendable, Equatable {
    private(set) var bits: UInt64

    init(bits: UInt64) { self.bits = bits }

    /// Creates the state of a new operation.
    init(usesFastPath: Bool = false) {
        self.bits = 0
        priority = .normal
        if usesFastPath { insert(.fastPath) }
    }

    enum Phase: UInt64 {
        /// Created, and in no queue.
        case created
        /// In a queue, and not ready.
        case waiting
        /// In a queue; one thread is finding out whether the operation is ready.
        case checkingReadiness
        /// In its queue's ready list, about to be put there by a thread, or taken from there by a
        /// worker.
        case queued
        /// The queue has called `start()`. An operation of a subclass that overrides `start()`
        /// stays in this phase.
        case starting
        /// The body runs.
        case executing
        /// The operation is over; no event leads out of this phase.
        case finished
    }

    // MARK: Layout

    private static var phaseMask: UInt64 { 0b111 }
    private static var priorityShift: UInt64 { 16 }
    private static var qualityShift: UInt64 { 20 }
    private static var onHoldShift: UInt64 { 38 }
    private static var countShift: UInt64 { 39 }

    // These are computed properties because a build without optimisation takes a runtime lock each
    // time a constant is read.

    struct Flags: OptionSet {
        let rawValue: UInt64

        static var cancelled: Flags { Flags(rawValue: 1 << 3) }
        /// The operation is being cancelled together with others, and its own `cancel()` is about
        /// to be called. `isCancelled` stays false until that call, because overrides of `cancel()`
        /// read it.
        static var cancellationPending: Flags { Flags(rawValue: 1 << 4) }
        /// The lock that guards the edges and the extras.
        static var locked: Flags { Flags(rawValue: 1 << 5) }
        /// Other operations may depend on this one.
        static var hasSuccessors: Flags { Flags(rawValue: 1 << 6) }
        /// Waiters or observers must be notified when the operation finishes.
        static var hasEndObservers: Flags { Flags(rawValue: 1 << 7) }
        /// Nothing about the operation can be overridden, and it runs on the worker that claims it.
        static var fastPath: Flags { Flags(rawValue: 1 << 8) }
        /// `main()` has returned. The operation is over unless a subclass says otherwise.
        static var returned: Flags { Flags(rawValue: 1 << 9) }
        /// The operation occupies a slot of its queue by itself, not through a batch.
        static var holdsSlot: Flags { Flags(rawValue: 1 << 10) }
        /// An event occurred while a thread was asking whether the operation is ready.
        static var askAgain: Flags { Flags(rawValue: 1 << 11) }
        /// The operation has more than a block to run: further blocks, a thread priority or a
        /// quality of service.
        static var needsSetup: Flags { Flags(rawValue: 1 << 12) }
        /// The operation was given another priority in the queue, or a deadline, so more than its
        /// place decides its turn.
        static var rescheduled: Flags { Flags(rawValue: 1 << 13) }
        /// The operation has dependencies, finished or not.
        static var hasDependencies: Flags { Flags(rawValue: 1 << 14) }
        /// Changes of the operation's properties are observed.
        static var observed: Flags { Flags(rawValue: 1 << 15) }
        /// The operation keeps operations that were added after it from starting before it.
        static var barrier: Flags { Flags(rawValue: 1 << 19) }
        /// The operation was claimed by itself or detached from its batch, and leaves its queue by
        /// itself.
        static var claimedAlone: Flags { Flags(rawValue: 1 << 28) }
        /// The body threw, or reported a failure, before the operation was cancelled.
        static var failed: Flags { Flags(rawValue: 1 << 29) }
        /// Some successors may start or not depending on how this operation ends.
        static var hasConditions: Flags { Flags(rawValue: 1 << 30) }
        /// A queue is about to add the operation. Nothing else may start it or add it elsewhere.
        static var reserved: Flags { Flags(rawValue: 1 << 31) }
        /// Handlers must be called when the operation is cancelled.
        static var hasCancelHandlers: Flags { Flags(rawValue: 1 << 32) }
        /// The body is an `async` function.
        static var asynchronous: Flags { Flags(rawValue: 1 << 35) }
        /// The operation is cancelled, or about to be, because an operation that it depends on
        /// failed.
        static var failedUpstream: Flags { Flags(rawValue: 1 << 33) }
        /// The attempt has exceeded its time. To the body this is a cancellation; the next attempt
        /// does not see it.
        static var expired: Flags { Flags(rawValue: 1 << 34) }
        /// The operation's override of `isReady` returned true although dependencies are
        /// unfinished.
        static var insists: Flags { Flags(rawValue: 1 << 36) }
        /// Only the operation's override of `isReady` holds it back, and its queue has it on a list
        /// to be asked again.
        static var hesitates: Flags { Flags(rawValue: 1 << 37) }
        /// The operation is delayed, or waits for permits of a budget. The bit lies next to the
        /// count of dependencies, so that one comparison shows that neither holds the operation
        /// back.
        static var onHold: Flags { Flags(rawValue: 1 << 38) }
    }

    @inline(__always)
    func has(_ flags: Flags) -> Bool { bits & flags.rawValue != 0 }
    @inline(__always)
    mutating func insert(_ flags: Flags) { bits |= flags.rawValue }
    @inline(__always)
    mutating func remove(_ flags: Flags) { bits &= ~flags.rawValue }

    var phase: Phase {
        @inline(__always) get { Phase(rawValue: bits & Self.phaseMask).unsafelyUnwrapped }
        @inline(__always) set { bits = bits & ~Self.phaseMask | newValue.rawValue }
    }

    /// The number of dependencies that have not finished.
    var unfinishedDependencies: UInt64 {
        @inline(__always) get { bits >> Self.countShift }
        @inline(__always) set {
            bits = bits & (1 << Self.countShift - 1) | newValue << Self.countShift
        }
    }

    var priority: Operation.QueuePriority {
        get { Operation.QueuePriority(lane: lane) }
        set {
            bits =
                bits & ~(0b111 << Self.priorityShift) | UInt64(newValue.lane) << Self.priorityShift
        }
    }

    /// The priority as a number from 0.
    var lane: Int {
        @inline(__always) get { Int(bits >> Self.priorityShift & 0b111) }
    }

    /// The part of the state that decides the effective quality of service.
    var quality: QualityOfServiceState {
        @inline(__always) get {
            QualityOfServiceState(bits: bits >> Self.qualityShift & 0xFF)
        }
        set {
            bits = bits & ~(0xFF << Self.qualityShift) | newValue.bits << Self.qualityShift
            if newValue.isUnusual { insert(.needsSetup) }
        }
    }

    // MARK: Derived properties

    var isCancelled: Bool { has([.cancelled, .expired]) }
    /// Whether the attempt has exceeded its time and the operation was not cancelled.
    var isExpired: Bool { has(.expired) && !has(.cancelled) }

    /// How the operation ended; valid once it has finished.
    var outcome: Outcome {
        if has(.failed) { return .failed }
        guard has(.cancelled) else { return .succeeded }
        return has(.failedUpstream) ? .failedUpstream : .cancelled
    }

    enum Outcome {
        case succeeded
        case failed
        /// Cancelled because an operation that it depends on failed.
        case failedUpstream
        case cancelled
    }

    /// Whether nothing but an override of `isReady` can hold the operation back.
    var isReady: Bool { bits >> Self.onHoldShift == 0 || has(.cancelled) }

    /// Whether the operation must not begin its body.
    var isStopped: Bool { has([.cancelled, .cancellationPending]) }

    /// Whether the operation must neither begin its body nor end without it, because its own
    /// `cancel()`, which a subclass may have overridden, is about to be called.
    var awaitsCancel: Bool { has(.cancellationPending) && !has([.cancelled, .fastPath]) }

    /// Whether nothing but a slot or the suspension of its queue keeps a worker from starting the
    /// operation.
    var mayStart: Bool {
        isStopped ? !awaitsCancel : isReady || has(.insists)
    }

    /// Whether a yes from an override of `isReady` could make the operation ready.
    private var mayBeAsked: Bool {
        (isReady || (has(.insists) && !has(.onHold))) && !awaitsCancel
    }

    var isInQueue: Bool {
        switch phase {
        case .waiting, .checkingReadiness, .queued, .starting: true
        case .created, .executing, .finished: false
        }
    }

    // MARK: Events of becoming ready

    /// A queue reserves the operation, which it will add together with others or not at all.
    mutating func reserved() -> Bool {
        guard phase == .created, !has(.reserved) else { return false }
        insert(.reserved)
        return true
    }

    mutating func reservationEnded() -> Bool {
        remove(.reserved)
        return true
    }

    /// A queue is about to add the operation.
    ///
    /// - Parameter qualityRank: the rank of the queue's quality of service.
    @inline(__always)
    mutating func enqueued(reserved: Bool = false, qualityRank: Int = 0) -> Bool {
        guard phase == .created, has(.reserved) == reserved else { return false }
        remove(.reserved)
        phase = has(.fastPath) ? (isReady ? .queued : .waiting) : .checkingReadiness
        if qualityRank != 0 { _ = quality.promoteByQueue(to: qualityRank) }
        return true
    }

    /// Something happened that may have made the operation ready. The thread whose event moves the
    /// operation out of `waiting` makes it ready.
    ///
    /// If `isReady` may be overridden, the event applies even where it changes nothing. The thread
    /// that asks `isReady` next must not see an older answer, and its exchange of the state
    /// synchronizes with the exchange that this event makes.
    mutating func mayBeReady() -> Bool {
        switch phase {
        case .waiting where mayBeAsked: phase = has(.fastPath) ? .queued : .checkingReadiness
        case .checkingReadiness: insert(.askAgain)
        case .waiting, .queued: return !has(.fastPath)
        case .created, .starting, .executing, .finished: return false
        }
        return true
    }

    /// A subclass announced a change of `isReady`. Its override is asked even while dependencies
    /// are unfinished, because the override need not call `super`.
    mutating func readinessAnnounced() -> Bool {
        if phase == .waiting, !has([.fastPath, .onHold]), !awaitsCancel {
            phase = .checkingReadiness
            return true
        }
        return mayBeReady()
    }

    /// `isReady` returned true or need not be asked. The operation stays in `checkingReadiness` if
    /// the answer belongs to another state.
    ///
    /// - Parameter wasReady: whether nothing but an override could hold the operation back when it
    ///   was asked.
    mutating func becameReady(wasReady: Bool) -> Bool {
        guard phase == .checkingReadiness else { return false }
        if isReady {
            remove(.insists)
        } else if wasReady || has(.askAgain) || has(.onHold) {
            // A dependency was added during the question, or had just finished, so the yes may have
            // been the answer of the base class.
            remove(.askAgain)
            return true
        } else {
            insert(.insists)
        }
        phase = .queued
        remove(.askAgain)
        return true
    }

    /// `isReady` returned false. The operation stays in `checkingReadiness` if an event has
    /// occurred since the question.
    mutating func stillNotReady() -> Bool {
        guard phase == .checkingReadiness else { return false }
        if has(.askAgain) { remove(.askAgain) } else { phase = .waiting }
        return true
    }

    /// The operation cannot stay in the ready list because it has an unfinished dependency again.
    mutating func removedFromReady() -> Bool {
        guard phase == .queued, !isReady, !has(.insists) else { return false }
        phase = .waiting
        return true
    }

    /// A worker claimed the operation and cannot start it now. If the operation stays `queued`, the
    /// worker puts it back into the ready list.
    mutating func returnedToQueue() -> Bool {
        guard phase == .queued else { return false }
        if !mayStart {
            phase = .waiting
            remove(.insists)
        }
        remove([.holdsSlot, .claimedAlone])
        return true
    }

    mutating func dependencyAdded() -> Bool {
        unfinishedDependencies += 1
        insert(.hasDependencies)
        return true
    }

    /// One dependency has finished. If that was the last one, the caller makes the operation ready.
    mutating func dependencyFinished() -> Bool {
        unfinishedDependencies -= 1
        if unfinishedDependencies == 0 { _ = mayBeReady() }
        return true
    }

    // MARK: Events of being on hold

    /// The operation's delay is not over. The calling thread is the one that asks whether the
    /// operation is ready.
    mutating func putOnHold() -> Bool {
        guard phase == .checkingReadiness else { return false }
        insert(.onHold)
        return true
    }

    /// The queue wanted to claim the operation, and there are not enough permits. An operation that
    /// is about to leave needs no permits, so the event does not apply to it.
    mutating func permitsRefused() -> Bool {
        guard phase == .queued, !isStopped else { return false }
        phase = .waiting
        insert(.onHold)
        return true
    }

    /// The operation has its permits and takes a slot of its queue.
    mutating func permitsGranted() -> Bool {
        guard phase == .waiting, has(.onHold), unfinishedDependencies == 0 || has(.insists),
            !isStopped
        else { return false }
        phase = .queued
        remove(.onHold)
        insert([.holdsSlot, .claimedAlone])
        return true
    }

    /// The hold is over. Only dependencies and the operation's own `isReady` can hold it back now.
    mutating func released() -> Bool {
        guard has(.onHold), phase != .finished else { return false }
        remove(.onHold)
        _ = mayBeReady()
        return true
    }

    /// The body has returned and is to run again later.
    mutating func attemptEnded() -> Bool {
        guard phase == .executing, !isStopped else { return false }
        phase = .waiting
        remove([.holdsSlot, .claimedAlone, .failed, .expired, .insists])
        insert(.onHold)
        return true
    }

    // MARK: Events of running

    /// A worker claims the operation by itself.
    ///
    /// - Parameter takesSlot: whether the operation takes a slot of its queue.
    mutating func claimed(takesSlot: Bool) -> Bool {
        guard phase == .queued else { return false }
        insert(takesSlot ? [.holdsSlot, .claimedAlone] : .claimedAlone)
        return true
    }

    /// The operation runs in a batch and will leave its queue by itself.
    ///
    /// - Parameter holdsSlot: whether the operation now has a slot of its own, which may be the
    ///   batch's.
    mutating func detachedFromBatch(holdsSlot: Bool = false) -> Bool {
        insert(holdsSlot ? [.claimedAlone, .holdsSlot] : .claimedAlone)
        return true
    }

    /// A worker begins a fast-path operation. A cancelled operation stays `queued`, and the worker
    /// then finishes it.
    mutating func begunOnFastPath() -> Bool {
        guard phase == .queued else { return false }
        if has(.cancellationPending) { insert(.cancelled) }
        if has(.cancelled) { return true }
        guard unfinishedDependencies == 0 else { return false }
        phase = .executing
        return true
    }

    /// A worker is about to call `start()`.
    mutating func startingFromQueue() -> Bool {
        guard phase == .queued, mayStart else { return false }
        phase = .starting
        if has(.cancellationPending) { insert(.cancelled) }
        return true
    }

    /// The default `start()` was called. An operation whose cancellation became pending only after
    /// its queue had called `start()` has begun. It sees the cancellation when its `cancel()` is
    /// called, like every executing operation.
    mutating func startRequested(isCancelled: Bool) -> Bool {
        guard phase == .starting ? !has(.cancelled) : phase == .created && !isStopped,
            !isCancelled, !has(.reserved)
        else { return false }
        phase = .executing
        return true
    }

    mutating func mainReturned() -> Bool {
        insert(.returned)
        return true
    }

    /// The quality of service may have changed.
    mutating func qualityEvent(_ event: (inout QualityOfServiceState) -> Bool) -> Bool {
        event(&quality)
    }

    // MARK: Events of ending

    mutating func cancelRequested() -> Bool {
        guard phase != .finished, !has(.cancelled) else { return false }
        insert(.cancelled)
        _ = mayBeReady()
        return true
    }

    /// The operation failed. An operation that was cancelled before counts as cancelled. So does an
    /// operation that has not begun and whose cancellation is pending.
    mutating func failed() -> Bool {
        guard phase != .finished, !has([.cancelled, .failed]),
            phase == .executing || phase == .starting || !has(.cancellationPending)
        else { return false }
        insert(.failed)
        return true
    }

    /// The attempt failed because it took too long. The body sees this as a cancellation.
    mutating func expired() -> Bool {
        guard phase == .executing || phase == .starting, has(.failed),
            !has([.cancelled, .expired])
        else { return false }
        insert(.expired)
        return true
    }

    /// Records a failure of a dependency as the reason for the cancellation that is about to
    /// happen.
    mutating func failedUpstream() -> Bool {
        guard phase != .finished, !has(.cancelled) else { return false }
        insert(.failedUpstream)
        return true
    }

    mutating func cancellationAnnounced() -> Bool {
        guard phase != .finished else { return false }
        insert(.cancellationPending)
        return true
    }

    mutating func finished() -> Bool {
        guard phase != .finished else { return false }
        // The body was skipped because of a cancellation whose call of `cancel()` has not come yet.
        // A subclass that reports by itself that it has finished was not cancelled.
        if has(.cancellationPending), has(.fastPath), phase != .executing, phase != .starting {
            insert(.cancelled)
        }
        phase = .finished
        return true
    }

    /// As ``finished()``. Also takes the operation's lock if it has edges, because the caller looks
    /// at them next.
    mutating func finishedAndLocked() -> Bool {
        guard finished() else { return false }
        if has([.hasSuccessors, .hasDependencies]) { insert(.locked) }
        return true
    }
}

extension Operation.QueuePriority {
    static let count = 5

    /// 0 for the lowest priority, 4 for the highest.
    var lane: Int { rawValue / 4 + 2 }

    init(lane: Int) {
        self = Operation.QueuePriority(rawValue: (lane - 2) * 4) ?? .normal
    }
}
