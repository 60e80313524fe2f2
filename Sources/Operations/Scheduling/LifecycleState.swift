/// All that decides about an operation's life, in one word that changes in one step.
///
/// Pure: the methods are the events, each returns false where it does not apply. What the caller must do
/// after an event follows from the word before it. The events are drawn in Scheduling.md.
struct LifecycleState: Sendable, Equatable {
    private(set) var bits: UInt64

    init(bits: UInt64) { self.bits = bits }

    /// A new operation.
    init(usesFastPath: Bool = false) {
        self.bits = 0
        priority = .normal
        if usesFastPath { insert(.fastPath) }
    }

    enum Phase: UInt64 {
        /// Made, in no queue.
        case created
        /// In a queue, not ready.
        case waiting
        /// In a queue; one thread finds out whether it is ready.
        case checkingReadiness
        /// In its queue's ready list, or in the hands of somebody who brings it there or takes it away.
        case queued
        /// The queue has called `start()`; a subclass that replaces it stays here.
        case starting
        /// At work.
        case executing
        /// Over; nothing leads out.
        case finished
    }

    // MARK: Layout

    private static var phaseMask: UInt64 { 0b111 }
    private static var priorityShift: UInt64 { 16 }
    private static var qualityShift: UInt64 { 20 }
    private static var onHoldShift: UInt64 { 38 }
    private static var countShift: UInt64 { 39 }

    // Computed: builds without optimisation would take a lock of the runtime each time a constant is read.

    struct Flags: OptionSet {
        let rawValue: UInt64

        static var cancelled: Flags { Flags(rawValue: 1 << 3) }
        /// It is cancelled together with others, and its own `cancel()` is about to be called. Until then
        /// `isCancelled` stays false, because overrides of `cancel()` look at it.
        static var cancellationPending: Flags { Flags(rawValue: 1 << 4) }
        /// Guards the edges and the extras.
        static var locked: Flags { Flags(rawValue: 1 << 5) }
        /// Somebody may depend on it.
        static var hasSuccessors: Flags { Flags(rawValue: 1 << 6) }
        /// Somebody has to be told when it finishes.
        static var hasEndObservers: Flags { Flags(rawValue: 1 << 7) }
        /// Nothing about it can be overridden, and it runs where a worker comes to it.
        static var fastPath: Flags { Flags(rawValue: 1 << 8) }
        /// `main()` has returned; over, unless a subclass says otherwise.
        static var returned: Flags { Flags(rawValue: 1 << 9) }
        /// It counts towards its queue's width by itself, not with a batch.
        static var holdsSlot: Flags { Flags(rawValue: 1 << 10) }
        /// Something happened while it was asked whether it is ready.
        static var askAgain: Flags { Flags(rawValue: 1 << 11) }
        /// It has more than a block to run: more blocks, or a thread priority or quality of service.
        static var needsSetup: Flags { Flags(rawValue: 1 << 12) }
        /// It was given another priority while it was in the queue.
        static var rescheduled: Flags { Flags(rawValue: 1 << 13) }
        /// It has dependencies, finished or not.
        static var hasDependencies: Flags { Flags(rawValue: 1 << 14) }
        /// Changes of its properties are observed.
        static var observed: Flags { Flags(rawValue: 1 << 15) }
        /// It keeps what comes after it from starting before it.
        static var barrier: Flags { Flags(rawValue: 1 << 19) }
        /// It was claimed by itself, not in a batch, and leaves its queue by itself.
        static var claimedAlone: Flags { Flags(rawValue: 1 << 28) }
        /// Its work threw, or said that it failed, before it was cancelled.
        static var failed: Flags { Flags(rawValue: 1 << 29) }
        /// Whether some of its successors may start depends on how it ends.
        static var hasConditions: Flags { Flags(rawValue: 1 << 30) }
        /// A queue is about to take it: nobody else may start it or add it elsewhere.
        static var reserved: Flags { Flags(rawValue: 1 << 31) }
        /// Somebody wants to be called when it is cancelled.
        static var hasCancelHandlers: Flags { Flags(rawValue: 1 << 32) }
        /// Its body is an `async` function.
        static var asynchronous: Flags { Flags(rawValue: 1 << 35) }
        /// It is cancelled, or about to be, because of a failure of what it depends on.
        static var failedUpstream: Flags { Flags(rawValue: 1 << 33) }
        /// Its attempt is over time: for the body a cancellation, of which the next attempt knows nothing.
        static var expired: Flags { Flags(rawValue: 1 << 34) }
        /// Its override of `isReady` said yes although dependencies are unfinished.
        static var insists: Flags { Flags(rawValue: 1 << 36) }
        /// Only its override of `isReady` says no, and its queue has it on a list to be asked again.
        static var hesitates: Flags { Flags(rawValue: 1 << 37) }
        /// Its time has not come, or it waits for units of a budget. Next to the count of dependencies, so
        /// that one comparison tells that there is neither.
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

    /// How many dependencies have not finished.
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

    /// What decides about its effective quality of service.
    var quality: QualityOfServiceState {
        @inline(__always) get {
            QualityOfServiceState(bits: bits >> Self.qualityShift & 0xFF)
        }
        set {
            bits = bits & ~(0xFF << Self.qualityShift) | newValue.bits << Self.qualityShift
            if newValue.isUnusual { insert(.needsSetup) }
        }
    }

    // MARK: What follows from it

    var isCancelled: Bool { has([.cancelled, .expired]) }
    /// Its attempt has taken too long, and it was not cancelled.
    var isExpired: Bool { has(.expired) && !has(.cancelled) }

    /// How it has ended, once it has.
    var outcome: Outcome {
        if has(.failed) { return .failed }
        guard has(.cancelled) else { return .succeeded }
        return has(.failedUpstream) ? .failedUpstream : .cancelled
    }

    enum Outcome {
        case succeeded
        case failed
        /// Cancelled, because something that it depends on failed.
        case failedUpstream
        case cancelled
    }

    /// Nothing but an override can hold it back.
    var isReady: Bool { bits >> Self.onHoldShift == 0 || has(.cancelled) }

    /// It must not begin its work.
    var isStopped: Bool { has([.cancelled, .cancellationPending]) }

    /// It must neither begin its work nor end without it: its own `cancel()`, which a subclass may have
    /// overridden, is about to be called.
    var awaitsCancel: Bool { has(.cancellationPending) && !has([.cancelled, .fastPath]) }

    /// Nothing but a slot, or the suspension of its queue, keeps a worker from starting it.
    var mayStart: Bool {
        isStopped ? !awaitsCancel : isReady || has(.insists)
    }

    /// An override of `isReady` could bring it to its queue.
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

    /// It is promised to a queue that takes it together with others, or with none of them.
    mutating func reserved() -> Bool {
        guard phase == .created, !has(.reserved) else { return false }
        insert(.reserved)
        return true
    }

    mutating func reservationEnded() -> Bool {
        remove(.reserved)
        return true
    }

    /// It is about to be put into a queue.
    ///
    /// - Parameter qualityRank: of the queue.
    @inline(__always)
    mutating func enqueued(reserved: Bool = false, qualityRank: Int = 0) -> Bool {
        guard phase == .created, has(.reserved) == reserved else { return false }
        remove(.reserved)
        phase = has(.fastPath) ? (isReady ? .queued : .waiting) : .checkingReadiness
        if qualityRank != 0 { _ = quality.promoteByQueue(to: qualityRank) }
        return true
    }

    /// Something happened that may have made it ready. The one who sees it go from *waiting* brings it on.
    ///
    /// Applies also where it changes nothing, if `isReady` may be overridden: the one who asks next must not
    /// see an older answer, and it is this exchange of the word that it meets.
    mutating func mayBeReady() -> Bool {
        switch phase {
        case .waiting where mayBeAsked: phase = has(.fastPath) ? .queued : .checkingReadiness
        case .checkingReadiness: insert(.askAgain)
        case .waiting, .queued: return !has(.fastPath)
        case .created, .starting, .executing, .finished: return false
        }
        return true
    }

    /// `isReady` is said to have changed. An override of it is asked also while dependencies are unfinished:
    /// it need not ask `super`.
    mutating func readinessAnnounced() -> Bool {
        if phase == .waiting, !has([.fastPath, .onHold]), !awaitsCancel {
            phase = .checkingReadiness
            return true
        }
        return mayBeReady()
    }

    /// `isReady` said yes, or need not be asked. Stays *asking* if that was said of another state.
    ///
    /// - Parameter wasReady: whether nothing but an override could hold it back when it was asked.
    mutating func becameReady(wasReady: Bool) -> Bool {
        guard phase == .checkingReadiness else { return false }
        if isReady {
            remove(.insists)
        } else if wasReady || has(.askAgain) || has(.onHold) {
            // A dependency came meanwhile, or had just gone: the class's own answer may have been a yes.
            remove(.askAgain)
            return true
        } else {
            insert(.insists)
        }
        phase = .queued
        remove(.askAgain)
        return true
    }

    /// `isReady` said no. Stays *asking* if something has happened since it was asked.
    mutating func stillNotReady() -> Bool {
        guard phase == .checkingReadiness else { return false }
        if has(.askAgain) { remove(.askAgain) } else { phase = .waiting }
        return true
    }

    /// It cannot stay among the ready: it has a dependency again.
    mutating func removedFromReady() -> Bool {
        guard phase == .queued, !isReady, !has(.insists) else { return false }
        phase = .waiting
        return true
    }

    /// A worker took it and cannot start it now. If it stays *filed*, the worker brings it back to the ready
    /// list.
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

    /// One dependency less; if it was the last one, the caller brings the operation on.
    mutating func dependencyFinished() -> Bool {
        unfinishedDependencies -= 1
        if unfinishedDependencies == 0 { _ = mayBeReady() }
        return true
    }

    // MARK: Events of being held

    /// Its time has not come; the caller is the one who asks.
    mutating func putOnHold() -> Bool {
        guard phase == .checkingReadiness else { return false }
        insert(.onHold)
        return true
    }

    /// Its queue wanted to claim it, and there are not enough units. One that is about to leave needs none.
    mutating func permitsRefused() -> Bool {
        guard phase == .queued, !isStopped else { return false }
        phase = .waiting
        insert(.onHold)
        return true
    }

    /// It has its units, and takes a slot of its queue.
    mutating func permitsGranted() -> Bool {
        guard phase == .waiting, has(.onHold), unfinishedDependencies == 0 || has(.insists),
            !isStopped
        else { return false }
        phase = .queued
        remove(.onHold)
        insert([.holdsSlot, .claimedAlone])
        return true
    }

    /// Nothing holds it back but its dependencies, and what it says itself.
    mutating func released() -> Bool {
        guard has(.onHold), phase != .finished else { return false }
        remove(.onHold)
        _ = mayBeReady()
        return true
    }

    /// Its body has returned, and is to run again, later.
    mutating func attemptEnded() -> Bool {
        guard phase == .executing, !isStopped else { return false }
        phase = .waiting
        remove([.holdsSlot, .claimedAlone, .failed, .expired, .insists])
        insert(.onHold)
        return true
    }

    // MARK: Events of running

    /// A worker takes a slot of the queue for it alone.
    mutating func claimed(takesSlot: Bool) -> Bool {
        guard phase == .queued else { return false }
        insert(takesSlot ? [.holdsSlot, .claimedAlone] : .claimedAlone)
        return true
    }

    /// It is at work in a batch, and will leave its queue by itself.
    ///
    /// - Parameter holdsSlot: whether the batch's slot is now its own.
    mutating func detachedFromBatch(holdsSlot: Bool = false) -> Bool {
        insert(holdsSlot ? [.claimedAlone, .holdsSlot] : .claimedAlone)
        return true
    }

    /// A worker begins with a plain operation; one that is cancelled stays *filed*, to be finished.
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

    /// The default `start()` was entered. One that is doomed only after its queue has called `start()` has
    /// begun: it sees the cancellation when that comes, like all that are at work.
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

    /// Its quality of service may have changed.
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

    /// Its work has come to an error. One that was cancelled before counts as cancelled, and so does one that
    /// is about to be cancelled and has not begun.
    mutating func failed() -> Bool {
        guard phase != .finished, !has([.cancelled, .failed]),
            phase == .executing || phase == .starting || !has(.cancellationPending)
        else { return false }
        insert(.failed)
        return true
    }

    /// Its attempt has failed because it took too long; the body is told that it is cancelled.
    mutating func expired() -> Bool {
        guard phase == .executing || phase == .starting, has(.failed),
            !has([.cancelled, .expired])
        else { return false }
        insert(.expired)
        return true
    }

    /// A failure of what it depends on is noted as the reason for which it is about to be cancelled.
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
        // Its work was left out because of a cancellation that has not reached it yet. A subclass that says
        // by itself that it has finished was not cancelled.
        if has(.cancellationPending), has(.fastPath), phase != .executing, phase != .starting {
            insert(.cancelled)
        }
        phase = .finished
        return true
    }

    /// As ``finished()``; locks it, too, if it has edges, which are then the next to be looked at.
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
