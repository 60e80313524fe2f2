import Synchronization

/// A unit of work that runs at most once, and everything that is known about it.
///
/// Subclass it and override ``main()`` for work that ends when `main()` returns. For work that goes
/// on after that, use ``TypedOperation``, or override ``start()``, ``isExecuting``, ``isFinished`` and
/// ``isAsynchronous`` and announce changes with ``willChangeValue(forKey:)`` and
/// ``didChangeValue(forKey:)``, as with Foundation's class of the same name.
///
/// Usually an ``OperationQueue`` calls `start()`, on a worker thread. Every property and method can be
/// used from any thread.
open class Operation: @unchecked Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    // Unchecked because it is open: the base class itself keeps all it has in these atomics and in what
    // they point at, which Scheduling.md says who may touch; a subclass answers for what it adds.

    /// An `LifecycleState`.
    let word = Atomic<UInt64>(LifecycleState().bits)
    /// The queue, once the operation has its place there.
    let queueReference = Atomic<Unmanaged<OperationQueue>?>(nil)
    /// The place in the queue's ring; changes under the queue's lock.
    let sequence = Atomic<Int>(OperationRing.nowhere)
    /// Its place in the order of the graph; see `TopologicalOrder`.
    let rank = Atomic<Int>(0)
    let edges = Atomic<UnsafeMutablePointer<Edges>?>(nil)
    let extras = Atomic<Unmanaged<OperationExtras>?>(nil)
    /// An `PhaseTimestamp`: the last that was noted of it, if anybody looks on.
    let mark = Atomic<UInt64>(0)

    /// Makes an operation that does nothing until it is subclassed.
    public init() {
        rank.store(TopologicalOrder.nextRank(), ordering: .relaxed)
        inferQualityOfService()
    }

    deinit {
        releaseEdges()
        if let extras = extras.load(ordering: .acquiring) {
            ThreadContext.releasing {
                extras.release()
            } later: {
                extras.takeRetainedValue()
            }
        }
    }

    // MARK: Running

    /// Runs the operation now, on the calling thread.
    ///
    /// A queue calls this; by hand, call it only for an operation that is in no queue and is ready.
    /// A finished operation returns at once; a cancelled one finishes without ``main()``. A subclass
    /// that overrides this method must not call `super`.
    ///
    /// - Precondition: the operation is ready, in no queue, and not executing. Anything else stops the
    ///   program with a sentence that says what was wrong.
    open func start() {
        guard beginExecuting() else { return }
        ThreadContext.current.inside(self) {
            // A queue's worker has seen to its thread already.
            if queueReference.load(ordering: .relaxed) != nil {
                runMain()
            } else {
                withThreadPriority { runMain() }
            }
        }
        bodyReturned()
    }

    /// What follows when the body has returned for the last time.
    func conclude() {
        let change = update { $0.mainReturned() }
        // A subclass that overrides `isFinished` may have more to do; it says so when it has.
        finishIfReported()
        if let change, change.after.has(.observed) { mainDidReturn() }
    }

    /// The body has returned, and is about to be run again.
    func prepareBodyAgain() {}

    /// It has been stopped before its work, and is about to finish.
    func willEndUnbegun() {}

    /// It has finished without its work, which is let go of. Called by the one who ended it.
    func dropWork() {}

    /// The work; override it. The default does nothing.
    ///
    /// Check ``isCancelled`` now and then, and return early if it is true.
    open func main() {}

    /// Asks the operation to stop.
    ///
    /// One that has not started never runs its ``main()`` and leaves its queue at once, even a
    /// suspended one; unless it overrides ``start()``, which is called all the same and needs a slot of the
    /// queue, as any other. One that runs sees ``isCancelled`` and decides for itself. A finished one is not
    /// affected. Dependents are not cancelled: for them a cancelled dependency is a finished one.
    open func cancel() {
        if status.has(.failed), ThreadContext.isStoppingBody(of: self) {
            return ThreadContext.whileStoppingBody(of: self) { markExpired() }
        }
        markCancelled()
        reevaluateReadiness()
    }

    // MARK: State

    /// Whether it could be started now: all dependencies have finished, or it is cancelled.
    ///
    /// An override includes `super.isReady` and calls `didChangeValue(forKey: "isReady")` whenever its own
    /// answer changes. A queue asks it when something may have changed, and starts the operation after the
    /// first yes. One that says yes without asking `super` starts before its dependencies have finished. One
    /// that changes its answer without an announcement is asked again at the queue's next event: when an
    /// operation leaves, the queue goes on after a suspension, or its width changes. Once the operation is
    /// cancelled it is not asked any more.
    open var isReady: Bool {
        let word = status
        return word.isReady || word.phase == .finished
    }

    /// Whether its work is going on.
    open var isExecuting: Bool {
        let word = status
        return word.phase == .executing && !word.has(.returned)
    }

    /// Whether it is over: the work is done, or was cancelled and left.
    open var isFinished: Bool {
        let word = status
        return word.phase == .finished || word.has(.returned)
    }

    /// Whether ``cancel()`` was called before it finished.
    open var isCancelled: Bool { status.isCancelled }

    /// Whether the work may go on after ``start()`` has returned; false unless overridden.
    ///
    /// Queues do not care; whoever calls `start()` by hand may.
    open var isAsynchronous: Bool { false }

    /// The older name of ``isAsynchronous``.
    open var isConcurrent: Bool { isAsynchronous }

    // MARK: Dependencies

    /// What the operation waits for, in the order added; finished ones stay in the list.
    ///
    /// When an operation has finished, its dependencies forget theirs.
    ///
    /// - Complexity: O(number of dependencies).
    open var dependencies: [Operation] { listedDependencies }

    /// Makes the operation wait for another one, in any queue or none.
    ///
    /// Adding one twice, or one that has finished, changes nothing but the list. Configure dependencies
    /// before the operation goes into a queue: added later they are honoured only if it has not been
    /// started yet.
    ///
    /// A cycle can never run by itself: it is reported (``OperationsDiagnostics``) with the names of
    /// its members, and cancelling one of them, or removing an edge, lets the others go on.
    /// ``addDependencyChecked(_:)`` refuses it instead.
    ///
    /// - Precondition: `dependency` is another operation.
    open func addDependency(_ dependency: Operation) {
        addDependency(dependency, on: .always)
    }

    /// Makes the operation wait for another one, and run only if that one ends in a certain way.
    ///
    /// As ``addDependency(_:)``, which means ``DependencyCondition/always``. If the condition turns out not to
    /// be met, the operation is cancelled with that as its ``cancellationReason``, whatever else it
    /// waits for. Several conditions for the same dependency must all be met.
    public final func addDependency(_ dependency: Operation, on condition: DependencyCondition) {
        guard dependency !== self else { misuse(.selfDependency(self)) }
        guard let edge = connect(to: dependency, on: condition) else { return }
        TopologicalOrder.check(edge, from: dependency, to: self)
    }

    /// Takes a dependency away; the operation may become ready by that.
    ///
    /// - Complexity: O(number of dependencies).
    open func removeDependency(_ dependency: Operation) {
        disconnect(from: dependency)
    }

    // MARK: Waiting

    /// Blocks the calling thread until the operation has finished.
    ///
    /// Returns at once if it has. On return the operation has left its queue; its completion block may
    /// still be running. A worker thread that waits here is replaced by another one meanwhile. The main
    /// thread should never wait: nothing else of the program gets to it meanwhile.
    ///
    /// - Precondition: not called from inside the operation itself before it has finished, or from inside one
    ///   that it waits for, through dependencies, other waits or a queue's width. A wait that could never end stops the
    ///   program with the names of all who wait for each other.
    @available(
        *, noasync,
        message:
            "write: await operation.waitUntilFinished(), at the top level of main.swift inside a function"
    )
    open func waitUntilFinished() {
        if status.phase != .finished, ThreadContext.isInside(self) {
            misuse("\(self) waits for itself and would never finish: remove this wait")
        }
        let gate = Latch()
        guard addWaiter(.thread(gate)) else { return }
        CancelRound.willBlock()
        OperationsDiagnostics.waitBegins(for: label)
        promoteForWait()
        gate.waitOnWorker(for: .operation(self))
    }

    /// Suspends the calling task until the operation has finished.
    ///
    /// Not affected by cancellation of the task: cancel the operation to make it end early.
    public final func waitUntilFinished() async {
        if TaskContext.operation === self, status.phase != .finished {
            misuse("\(self) waits for itself and would never finish: remove this wait")
        }
        let wait = BlockedWait.task(.operation(self))
        defer { wait?.end() }
        await withCheckedContinuation { continuation in
            if !addWaiter(.task(continuation)) { return continuation.resume() }
            if let operation = TaskContext.operation { promote(byWaitOf: operation) }
        }
    }

    /// Runs the body of one that nobody subclassed.
    func runBlock() {}

    /// Runs the async body of one that nobody subclassed, in the current task.
    nonisolated(nonsending) func runAsyncBlock(in body: AsyncBody) async {}

    /// Whether a task was made together with it.
    var hasOwnTask: Bool { false }

    /// Runs the async body of one that nobody subclassed in its own task, in the place of the worker; false if
    /// the worker is to go on without it.
    func runInOwnTask(of batch: Batch, in queue: OperationQueue) -> Bool { false }

    /// Starts the task of one that is executing already.
    func startTask() {}

    /// Its work goes on in a task; it was begun at this time, or a little later.
    func recordTaskStart(_ time: UInt64) {}

    /// When its work was started, if it notes that itself.
    var ownStartTime: UInt64? { nil }

    /// Whether a subclass of a user replaces ``start()``.
    var replacesStart: Bool { StartOverride.isPresent(in: type(of: self)) }

    /// Whether the work is over when `start()` returns to the thread that called it.
    var runsOnItsThread: Bool { true }

    /// The work goes on in a task, and the effective quality of service has risen.
    func promoteTask() {}

    // MARK: Describing

    /// What the operation is called in text: the name, or the type and address, and the state.
    ///
    /// Messages of this module call an operation by its ``name``; few include an override of this property.
    open var description: String {
        let word = status
        return "\(label) (\(word.isCancelled ? "cancelled, " : "")\(word.phase.description))"
    }

    /// What a debugger shows; the ``description`` unless overridden.
    open var debugDescription: String { description }

    // MARK: Configuration

    /// A name for people: it appears in messages about the operation.
    open var name: String? {
        get { existingExtras == nil ? nil : withExtras { $0.name } }
        set {
            withExtras { extras in
                extras.name = newValue
                extras.observations?.record(OperationProperties.name, newValue)
            }
            notifyObservers()
        }
    }

    /// Called once after the operation has finished, also when it was cancelled; then dropped.
    ///
    /// It runs on a worker thread, outside any queue; no wait includes it. The operation is kept while it
    /// runs, so a block may refer to it as `[weak operation]` or `[unowned operation]`. Set after the
    /// operation has finished, it is never called.
    open var completionBlock: (@Sendable () -> Void)? {
        get { existingExtras == nil ? nil : withExtras { $0.completionBlock } }
        set {
            // What is replaced is let go of outside the lock.
            let previous = withExtras { extras in
                guard status.phase != .finished else { return newValue }
                defer {
                    extras.completionBlock = newValue
                    extras.observations?.record(OperationProperties.completionBlock, newValue)
                }
                update { word in
                    word.insert(.hasEndObservers)
                    return true
                }
                return extras.completionBlock
            }
            withExtendedLifetime(previous) {}
            notifyObservers()
        }
    }

    /// Orders the ready operations of one queue; `normal` unless set.
    ///
    /// A change while the operation waits in a queue puts it behind the others of the new priority.
    /// A priority never replaces a dependency.
    open var queuePriority: QueuePriority {
        get { status.priority }
        set {
            guard newValue != queuePriority else { return }
            defer { notifyObservers() }
            var backoff = Backoff()
            while true {
                if let queue = retainedQueue(), queue.changePriority(of: self, to: newValue) {
                    return
                }
                if ThreadContext.isLeaving(self) { return }
                // A queue that has it finds it in the ready list of its priority.
                let change = update { word in
                    guard !word.isInQueue, !isLeaving else { return false }
                    word.priority = newValue
                    return true
                }
                if change != nil { return }
                backoff.pause()
            }
        }
    }

    /// How much the work matters; `default` unless set, or unless a queue made the operation.
    ///
    /// Setting it, even to `default`, replaces what the operation took over from where it was made; see
    /// ``effectiveQualityOfService``. It can be set at any time. Raising it also promotes what the
    /// operation waits for; lowering it takes no promotion back. It has no effect on an operation that
    /// is started by hand.
    open var qualityOfService: QualityOfService {
        get { status.quality.property }
        set {
            setQualityOfService(newValue)
            notifyObservers()
        }
    }

    /// The priority of the thread while the operation runs, from 0.0 to 1.0; 0.5 unless set.
    ///
    /// On Linux the value becomes the thread's niceness: 0.0 is 19, 1.0 is -20, linear on both sides of 0,
    /// which is 0.5. A process without the right to lower niceness gets no less than its own; see
    /// ``QualityOfService``. Any value but 0.5 replaces the quality of service as far as the
    /// thread is concerned. Values outside the range are moved to its ends, and NaN counts as 0.5; the
    /// same holds for what an override returns. Set it before the operation starts. Started by hand, only the default ``start()`` honours it, around ``main()``.
    open var threadPriority: Double {
        get { existingExtras == nil ? 0.5 : withExtras { $0.threadPriority } }
        set {
            withExtras { extras in
                extras.threadPriority = Self.clampedThreadPriority(newValue)
                extras.observations?.record(
                    OperationProperties.threadPriority, extras.threadPriority)
            }
            update { word in
                word.insert(.needsSetup)
                return true
            }
            notifyObservers()
        }
    }

    /// The five priorities an operation can have in its queue.
    public enum QueuePriority: Int, Sendable, Hashable, CaseIterable, Comparable {
        /// After everything else.
        case veryLow = -8
        /// After normal operations.
        case low = -4
        /// Where nothing is set.
        case normal = 0
        /// Before normal operations.
        case high = 4
        /// Before everything else.
        case veryHigh = 8

        /// The legal priority for any raw value: one in between is pulled towards `normal`, one beyond
        /// the ends becomes the nearest end.
        public init(clamping rawValue: Int) {
            switch rawValue {
            case 8...: self = .veryHigh
            case 4...: self = .high
            case ...(-8): self = .veryLow
            case ...(-4): self = .low
            default: self = .normal
            }
        }

        /// Orders priorities from the lowest to the highest.
        public static func < (a: QueuePriority, b: QueuePriority) -> Bool {
            a.rawValue < b.rawValue
        }
    }
}

extension Operation {
    /// Runs `main()` with what is to be in force meanwhile.
    func runMain() {
        // A barrier is not one of the operations that are counted.
        guard !status.has(.barrier), let queue = ThreadContext.currentQueue,
            let progress = progress(in: queue), !mayRunAgain
        else { return main() }
        let unit = progress.makeUnit()
        unit.performAsCurrent(withPendingUnitCount: 1) { main() }
        unit.completedUnitCount = 1
    }

    /// The progress of which it is a unit, if that is active.
    func progress(in queue: OperationQueue) -> Progress? {
        guard let progress = queue.activeProgress else { return nil }
        // One that another one starts by hand is none of the queue's.
        let own = queueReference.load(ordering: .acquiring)
        return own?.toOpaque() == Unmanaged.passUnretained(queue).toOpaque() ? progress : nil
    }

    /// False if it has finished already.
    func addWaiter(_ waiter: Waiter) -> Bool { register(waiter) != nil }

    /// Adds a waiter that may give up, with this ticket; nil if the operation has finished already.
    func register(_ waiter: Waiter) -> TicketList<Waiter>.Ticket? {
        let ticket: TicketList<Waiter>.Ticket? = withExtras { extras in
            guard status.phase != .finished else { return nil }
            let ticket = extras.waiters.append(waiter)
            update { word in
                word.insert(.hasEndObservers)
                return true
            }
            return ticket
        }
        if ticket == nil, !ThreadContext.isLeaving(self) {
            var backoff = Backoff()
            while isLeaving { backoff.pause() }
        }
        return ticket
    }
}

extension Operation: Hashable {
    /// Operations are equal if they are the same object.
    public static func == (a: Operation, b: Operation) -> Bool { a === b }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Operation {
    /// What messages call it.
    var label: String {
        if let name, !name.isEmpty { return "'\(name)'" }
        let address = String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
        return "\(type(of: self)) 0x\(address)"
    }
}

extension LifecycleState.Phase {
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
