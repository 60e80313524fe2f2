/// The state of one operation's life, packed into 64 bits that change in one atomic step.
///
/// The type is a pure value: its methods are the events of an operation's life, and each returns
/// what the thread that brings about the event must do next. ``AtomicLifecycleState`` holds the
/// value. LifecycleStates.md draws the events.
package struct LifecycleState: Sendable, Equatable {
    private(set) var bits: UInt64

    init(bits: UInt64) { self.bits = bits }

    /// Creates the state of a new operation.
    init(usesFastPath: Bool = false) {
        self.bits = 0
        lane = PriorityLanes.normal
        if usesFastPath { insert(.fastPath) }
    }

    package enum Phase: UInt64, Sendable {
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

    // These are computed properties because a build without optimization takes a runtime lock each
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
        /// The operation occupies a slot of its queue by itself, not through a claim.
        static var holdsSlot: Flags { Flags(rawValue: 1 << 10) }
        /// An event occurred while a thread was asking whether the operation is ready.
        static var askAgain: Flags { Flags(rawValue: 1 << 11) }
        /// The `start()` of a subclass that replaces it has returned to the queue. Only means
        /// something in the phase `starting`, and shares the bit of ``askAgain``, which means
        /// nothing there.
        static var startReturned: Flags { Flags(rawValue: 1 << 11) }
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
        /// The operation was claimed by itself or detached from its claim, and leaves its queue by
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
        static var forced: Flags { Flags(rawValue: 1 << 36) }
        /// Only the operation's override of `isReady` holds it back, and its queue has it on the
        /// list of operations whose `isReady` is read again.
        static var declined: Flags { Flags(rawValue: 1 << 37) }
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

    /// The priority as a number from 0; see ``PriorityLanes``.
    var lane: Int {
        @inline(__always) get { Int(bits >> Self.priorityShift & 0b111) }
        set {
            bits = bits & ~(0b111 << Self.priorityShift) | UInt64(newValue) << Self.priorityShift
        }
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
        isStopped ? !awaitsCancel : isReady || has(.forced)
    }

    /// Whether the thread that has just added the operation to a queue has more to do for it.
    var isHandledAfterAdding: Bool {
        @inline(__always) get { phase == .checkingReadiness || quality.isGivenByQueue }
    }

    /// Whether the operation is in a queue and has not begun.
    var isHeldInQueue: Bool {
        @inline(__always) get {
            switch phase {
            case .waiting, .checkingReadiness, .queued: true
            case .created, .starting, .executing, .finished: false
            }
        }
    }

    /// Whether the operation has begun and not ended.
    var isAtWork: Bool { phase == .starting || phase == .executing }

    /// Whether the library has called all that it calls of a subclass, so that only the subclass's
    /// announcement of its end is missing.
    var awaitsAnnouncement: Bool {
        switch phase {
        case .starting: has(.startReturned)
        case .executing: has(.returned)
        case .created, .waiting, .checkingReadiness, .queued, .finished: false
        }
    }

    var isInQueue: Bool {
        switch phase {
        case .waiting, .checkingReadiness, .queued, .starting: true
        case .created, .executing, .finished: false
        }
    }
}

/// The priorities of operations as numbers: 0 for the lowest, 4 for the highest.
enum PriorityLanes {
    static let count = 5
    static var normal: Int { 2 }
}

extension LifecycleState.Phase {
    /// The phase in messages.
    var description: String {
        switch self {
        case .created: "in no queue"
        case .waiting, .checkingReadiness: "waiting"
        case .queued: "ready"
        case .starting: "starting"
        case .executing: "executing"
        case .finished: "finished"
        }
    }
}
