import OperationsRuntime
import Synchronization

/// A unit of work that runs at most once, and everything that is known about it.
///
/// `queue.add { … }` makes an operation of a function. Its body asks now and then whether to stop,
/// and a call that blocks ends by a handler:
///
/// ```swift
/// let index = queue.add("index") {
///     let connection = try Connection.open()
///     Operation.current?.onCancel { connection.close() }
///     for file in files {
///         try Operation.checkCancellation()
///         try connection.store(file)
///     }
/// }
/// index.cancel(because: "the user has left")
/// await index.finished()
/// ```
///
/// For work that ends when ``main()`` returns, subclass `Operation` and override `main()`. For work
/// that goes on after that, use ``TypedOperation``, or override ``start()``, ``isExecuting``,
/// ``isFinished`` and ``isAsynchronous`` and announce changes with ``willChangeValue(forKey:)`` and
/// ``didChangeValue(forKey:)``, as with Foundation's class of the same name.
///
/// Usually an ``OperationQueue`` calls `start()`, on a worker thread. Every property and method can
/// be used from any thread.
open class Operation: @unchecked Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    // Unchecked because the class is open: the base class keeps all its state in these atomics and
    // in the memory they point to. LifecycleStates.md and Lifetimes.md say which thread may touch
    // each of them. A subclass answers for the state that it adds.

    let lifecycle = AtomicLifecycleState()
    /// The queue, once the operation has its slot in the queue's ring.
    let queueReference = Atomic<Unmanaged<OperationQueue>?>(nil)
    /// The number of the operation's slot in the queue's ring; changes under the queue's lock.
    let sequence = Atomic<Int>(OperationRing.nowhere)
    let edges = Atomic<UnsafeMutablePointer<Edges>?>(nil)
    let extras = Atomic<Unmanaged<OperationExtras>?>(nil)
    /// The last `PhaseTimestamp` recorded for the operation, if its queue is observed.
    let mark = Atomic<UInt64>(0)

    /// Makes an operation that does nothing unless a subclass overrides ``main()``.
    public init() {
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
    /// A queue calls this method. Call it by hand only for an operation that is in no queue and is
    /// ready. A finished operation returns at once; a cancelled operation finishes without calling
    /// ``main()``. A subclass that overrides this method must not call `super`.
    ///
    /// An operation counts as cancelled here if the ``cancel()`` of this class was called, whatever
    /// an override of ``isCancelled-property`` returns. A subclass that keeps a flag of its own and
    /// does not call `super.cancel()` checks that flag in its `main()`, as in Foundation.
    ///
    /// - Precondition: the operation is ready, in no queue, and not executing. Otherwise the call
    ///   stops the program with a message that says what was wrong.
    open func start() {
        guard beginExecuting() else { return }
        ThreadContext.current.inside(self) {
            // A queue's worker has already set the priority of its thread.
            if queueReference.load(ordering: .relaxed) != nil {
                runMain()
            } else {
                withThreadPriority { runMain() }
            }
        }
        bodyReturned()
    }

    /// Finishes the operation after the body has returned for the last time.
    func conclude() {
        let after = lifecycle.insert(.returned)
        // A subclass that overrides `isFinished` may have more to do, and announces its own end.
        if !finishIfReported() { SilenceWatch.suspect() }
        if after.has(.observed) { mainDidReturn() }
    }

    /// Called when the operation is cancelled before its body ran, just before it finishes.
    func willEndUnbegun() {}

    /// Whether ``releaseBody()`` has something to release.
    var keepsBody: Bool { false }

    /// Releases the body, and what the body has captured. Called once the operation has left its
    /// queue, by a thread that is not inside the operation.
    func releaseBody() {}

    /// Performs the operation's work; override it. The default does nothing.
    ///
    /// Check ``isCancelled-property`` now and then, and return early if it is true.
    open func main() {}

    /// Not available: subclass ``TypedOperation``, whose `main()` may be `async`.
    ///
    /// An override that is `async` gets this message. The result is optional so that the override
    /// of a `TypedOperation<Void>` still has exactly one method of its own type.
    @available(
        *, unavailable,
        message: """
            an async main() belongs to TypedOperation: subclass TypedOperation<Void>, or write \
            queue.add { … }
            """
    )
    @_disfavoredOverload
    open func main() async throws -> Void? { nil }

    /// Asks the operation to stop.
    ///
    /// - An operation that has not started never runs its ``main()`` and leaves its queue at once,
    ///   even a suspended queue. There are two exceptions. If a subclass overrides ``start()``, the
    ///   queue calls that override all the same, and the call needs a slot of the queue as any
    ///   other. If a subclass overrides ``isReady``, the operation leaves once that is true.
    /// - A running operation sees ``isCancelled-property`` and decides for itself.
    /// - A finished operation is not affected.
    ///
    /// Dependents are not cancelled: for them a cancelled dependency is a finished dependency.
    open func cancel() {
        if status.has(.failed), ThreadContext.isStoppingBody(of: self) {
            return ThreadContext.whileStoppingBody(of: self) { markExpired() }
        }
        markCancelled()
        reevaluateReadiness()
    }

    // MARK: State

    /// Whether the operation could start now: all dependencies have finished, or it is cancelled.
    ///
    /// An override includes `super.isReady` and calls `didChangeValue(forKey: "isReady")` whenever
    /// its own answer changes. A queue reads the property when the answer may have changed, and
    /// starts the operation after the first `true`. An override that returns `true` without asking
    /// `super` lets the operation start before its dependencies have finished. If an override
    /// changes its answer without an announcement, the queue reads it again at the queue's next
    /// event: when an operation leaves, when the queue resumes after a suspension, or when its
    /// width changes. As in Foundation, an override that returns `false` also keeps an operation
    /// that was cancelled: the queue reads the property during the call of ``cancel()`` of this
    /// class, and so long as the answer is `false`, the operation stays in its queue, and what
    /// depends on it waits.
    ///
    /// The property of an operation that is in no queue is read once when its last unfinished
    /// dependency has finished or is removed, on the thread that finished or removed it. The result
    /// has no effect, but an override may do something in that call, such as adding the operation
    /// to a queue.
    open var isReady: Bool {
        let state = status
        return state.isReady || state.phase == .finished
    }

    /// Whether the operation's work is going on.
    open var isExecuting: Bool {
        let state = status
        return state.phase == .executing && !state.has(.returned)
    }

    /// Whether the operation has ended: its work is done, or was cancelled and left undone.
    open var isFinished: Bool {
        let state = status
        return state.phase == .finished || state.has(.returned)
    }

    /// Whether ``cancel()`` was called before the operation finished.
    open var isCancelled: Bool {
        guard status.isCancelled else { return false }
        stopNoticed()
        return true
    }

    /// Whether the work may go on after ``start()`` has returned; false unless overridden.
    ///
    /// Queues ignore this property. Code that calls `start()` by hand may need it.
    open var isAsynchronous: Bool { false }

    /// The older name of ``isAsynchronous``.
    open var isConcurrent: Bool { isAsynchronous }

    // MARK: Dependencies

    /// The operations that this one waits for, in the order added; finished ones stay in the list.
    ///
    /// When an operation has finished, its dependencies drop their own lists of dependencies.
    ///
    /// - Complexity: O(number of dependencies).
    open var dependencies: [Operation] { listedDependencies }

    /// Makes the operation wait for another operation, in any queue or none.
    ///
    /// Adding a dependency twice, or adding a finished operation, changes nothing but the list.
    /// Configure dependencies before the operation goes into a queue: a dependency that is added
    /// later is honored only if the operation has not been started yet.
    ///
    /// The operations of a cycle can never run by themselves. Within about two seconds after one
    /// of them has entered a queue, the cycle is reported (``OperationsDiagnostics``) with the
    /// names of its members; cancelling one of them, or removing an edge, lets the others go on.
    /// ``addDependencyChecked(_:)`` refuses a cycle instead.
    ///
    /// - Precondition: `dependency` is another operation.
    open func addDependency(_ dependency: Operation) {
        addDependency(dependency, on: .always)
    }

    /// Makes the operation wait for another operation, and run only if that operation ends in a
    /// given way.
    ///
    /// ``addDependency(_:)`` is this method with ``DependencyCondition/always``. If the condition
    /// turns out not to be met, the operation is cancelled, whatever else it waits for; the unmet
    /// condition is its ``cancellationReason``. Several conditions for the same dependency must all
    /// be met.
    public final func addDependency(_ dependency: Operation, on condition: DependencyCondition) {
        guard dependency !== self else { return OperationMisuse.selfDependency(self).refuse() }
        guard connect(to: dependency, on: condition) != nil else { return }
        CycleWatch.suspect(dependency, before: self)
    }

    /// Removes a dependency; this may make the operation ready.
    ///
    /// - Complexity: O(dependencies) for the first removal, and amortised O(1) for further ones,
    ///   while `dependencies` is not observed.
    open func removeDependency(_ dependency: Operation) {
        disconnect(from: dependency)
    }

    // MARK: Waiting

    /// Blocks the calling thread until the operation has finished.
    ///
    /// Returns at once if the operation has finished already. On return the operation has left its
    /// queue; its completion block may still be running. While a worker thread waits here, another
    /// worker replaces it. The main thread should never wait here: meanwhile it can serve nothing
    /// else in the program.
    ///
    /// - Precondition: not called from inside the unfinished operation itself, nor from inside an
    ///   operation that it waits for, through dependencies, other waits or a queue's width. A wait
    ///   that could never end stops the program with the names of all operations that wait for each
    ///   other.
    @available(
        *, noasync,
        message: "write: await operation.finished()"
    )
    open func waitUntilFinished() {
        if status.phase != .finished, ThreadContext.isInside(self) {
            return OperationMisuse.ownWait(by: self).refuse(waitInside: self)
        }
        let latch = Latch()
        guard addWaiter(.thread(latch)) else { return }
        blockThread(at: latch)
    }

    /// As ``finished()``, under Foundation's name: code that waits in a task needs only an `await`.
    public final func waitUntilFinished() async { _ = await waitInTask() }

    /// Suspends the calling task until the operation has finished.
    ///
    /// - Returns: why the wait was given up, because it could never end; nil if the operation has
    ///   finished.
    final func waitInTask() async -> OperationMisuse? {
        if TaskContext.operation === self, status.phase != .finished {
            let misuse = OperationMisuse.ownWait(by: self)
            misuse.refuse(waitInside: self)
            return misuse
        }
        let wait = recordWaitOfTask()
        let companion = companionOfWait()
        defer {
            companion?.waitEnded()
            wait?.end()
        }
        if let refusal = wait?.refusal { return refusal }
        await promotingWhenRaised {
            await withCheckedContinuation { continuation in
                if !addWaiter(.task(continuation)) { return continuation.resume() }
                if let operation = TaskContext.operation { promote(byWaitOf: operation) }
            }
        }
        return nil
    }

    /// Runs the body on the fast path, where no subclass can override ``main()``.
    func runBlock() {}

    /// Runs the async body on the fast path, in the current task.
    ///
    /// - Parameter body: what stands for the body in the task.
    nonisolated(nonsending) func runAsyncBlock(as body: any RunningBody) async {}

    /// The work of the operation, if it goes on in a task after `start()` has returned.
    var taskBody: (any TaskBody)? { nil }

    /// Whether the operation only runs a piece of a task. Code of the task is inside no operation.
    var isPieceOfTask: Bool { false }

    /// Whether the success of one dependency is enough for the operation to run. If so, its class
    /// sets the flag `hasConditions` of its dependencies.
    var needsOneDependency: Bool { false }

    /// The unfinished operations that were made for the nodes of a graph, if the operation is a run
    /// of such a graph.
    var nodesAsOperations: [Operation] { [] }

    /// Begins the work of an operation on the fast path that may go on after its claim. Returns the
    /// entry that follows at once in the claim.
    func runBeyondClaim(_ claim: Claim, in queue: OperationQueue) -> Entry? {
        runInTask(of: claim, in: queue)
    }

    /// Whether a subclass outside the library replaces ``start()``.
    var replacesStart: Bool { Self.startOverride.isPresent(in: type(of: self)) }

    // MARK: Describing

    /// A description of the operation: its name, the place that made it, or its type and address;
    /// and its state.
    ///
    /// Messages of this module identify an operation by its ``name``; few include an override of
    /// this property.
    open var description: String {
        let state = status
        return "\(label) (\(state.isCancelled ? "cancelled, " : "")\(state.phase.description))"
    }

    /// The text that a debugger shows: the ``description``, unless overridden.
    open var debugDescription: String { description }

    // MARK: Configuration

    /// A name for people to read; it appears in messages about the operation.
    ///
    /// Messages call an operation without a name by the place that made it, if that is a method
    /// such as `queue.add`: `'main.swift:12'`. The property is nil then.
    open var name: String? {
        get { existingExtras == nil ? nil : withExtras { $0.name } }
        set {
            withExtras { extras in
                extras.name = newValue
                extras.recorder?.record(.name(newValue))
            }
            notifyObservers()
        }
    }

    /// A block that is called once after the operation has finished, even if cancelled, and then
    /// dropped.
    ///
    /// The block runs on a worker thread, outside any queue; no wait includes it. The operation is
    /// kept while the block runs, so the block may refer to it as `[weak operation]` or
    /// `[unowned operation]`. A block that is set after the operation has finished is never called.
    open var completionBlock: (@Sendable () -> Void)? {
        // Blocks leave the closures below in variables. The result of a generic function would be
        // the block in a thunk, and in one more each time that a program sets what it has read.
        get {
            var block: (@Sendable () -> Void)?
            if existingExtras != nil { withExtras { block = $0.completionBlock } }
            return block
        }
        set {
            // The replaced block is released outside the lock.
            var previous: (@Sendable () -> Void)?
            withExtras { extras in
                guard status.phase != .finished else { return }
                previous = extras.completionBlock
                extras.completionBlock = newValue
                extras.recorder?.record(.completionBlock(newValue))
                lifecycle.insert(.hasEndObservers)
            }
            withExtendedLifetime(previous) {}
            notifyObservers()
        }
    }

    /// The operation's priority among the ready operations of its queue; `normal` unless set.
    ///
    /// A change while the operation waits in a queue puts it behind the other operations of the new
    /// priority. In a queue with ``OperationQueue/aging``, a change also starts the span of the
    /// operation anew. An operation that waits for tokens of a ``RateLimit`` moves in that line,
    /// too, behind the others of its new priority. Setting the same priority again changes nothing.
    /// A priority never replaces a dependency.
    open var queuePriority: QueuePriority {
        get { status.priority }
        set {
            guard newValue != queuePriority else { return }
            defer { notifyObservers() }
            var backoff = Backoff()
            while true {
                if let queue = retainedQueue(), queue.changePriority(of: self, to: newValue) {
                    companion?.priorityChanged(of: self)
                    return
                }
                if ThreadContext.isLeaving(self) { return }
                // A queue that holds the operation looks for it in the ready list of its priority,
                // so only that queue may change the priority.
                let change = exchange { state in
                    isLeaving ? nil : state.priorityChanged(toLane: newValue.lane, inQueue: false)
                }
                if change != nil { return }
                backoff.pause()
            }
        }
    }

    /// How much the work matters; `default` unless set, or unless a queue made the operation.
    ///
    /// Setting this property, even to `default`, replaces the quality of service that the operation
    /// took over from where it was made; see ``effectiveQualityOfService``. It can be set at any
    /// time. Raising it also promotes the operations that this one waits for; lowering it takes no
    /// promotion back. It has no effect on an operation that is started by hand.
    open var qualityOfService: QualityOfService {
        get { status.quality.property }
        set {
            setQualityOfService(newValue)
            notifyObservers()
        }
    }

    /// The priority of the thread while the operation runs, from 0.0 to 1.0; 0.5 unless set.
    ///
    /// On Linux the value becomes the thread's niceness: 0.0 is niceness 19, 0.5 is 0 and 1.0 is
    /// -20, linear on both sides of 0. A process without the right to lower niceness gets no less
    /// than its own; see ``QualityOfService``. For the thread, any value but 0.5 replaces the
    /// quality of service.
    ///
    /// An operation with a value other than 0.5 runs on a thread made for it, which ends with the
    /// operation. Making the thread takes some ten microseconds. An async body is not affected.
    ///
    /// Values outside the range are moved to its ends, and NaN counts as 0.5; the same holds for
    /// values that an override returns. Set the priority before the operation starts. When the
    /// operation is started by hand, only the default ``start()`` honors it, around ``main()``,
    /// and only on a thread that is not a worker of this library.
    open var threadPriority: Double {
        get { existingExtras == nil ? 0.5 : withExtras { $0.threadPriority } }
        set {
            withExtras { extras in
                extras.threadPriority = Self.clampedThreadPriority(newValue)
                extras.recorder?.record(.threadPriority(extras.threadPriority))
            }
            lifecycle.insert(.needsSetup)
            notifyObservers()
        }
    }

    /// The five priorities an operation can have in its queue.
    public enum QueuePriority: Int, Sendable, Hashable, CaseIterable, Comparable {
        /// Starts after all other operations.
        case veryLow = -8
        /// Starts after normal operations.
        case low = -4
        /// The priority unless set.
        case normal = 0
        /// Starts before normal operations.
        case high = 4
        /// Starts before all other operations.
        case veryHigh = 8

        /// Makes the legal priority for any raw value.
        ///
        /// A value between two priorities is pulled towards `normal`; a value beyond the ends
        /// becomes the nearest end.
        public init(clamping rawValue: Int) {
            switch rawValue {
            case 8...: self = .veryHigh
            case 4...: self = .high
            case ...(-8): self = .veryLow
            case ...(-4): self = .low
            default: self = .normal
            }
        }

        /// 0 for the lowest priority, 4 for the highest; see ``PriorityLanes``.
        var lane: Int { rawValue / 4 + 2 }

        package init(lane: Int) { self = QueuePriority(rawValue: (lane - 2) * 4) ?? .normal }

        /// Orders priorities from the lowest to the highest.
        public static func < (a: QueuePriority, b: QueuePriority) -> Bool {
            a.rawValue < b.rawValue
        }
    }
}

extension Operation {
    /// Runs `main()`, as a unit of the queue's progress if that is active.
    func runMain() {
        // A barrier does not count as an operation.
        guard !status.has(.barrier), let queue = ThreadContext.currentQueue,
            let progress = progress(in: queue), !mayRunAgain
        else { return main() }
        beginUnit(of: progress).performAsCurrent(withPendingUnitCount: 1) { main() }
        completeUnit()
    }

    /// Adds a unit to the progress, for the body that is about to run.
    func beginUnit(of progress: Progress) -> Progress {
        let unit = progress.makeUnit()
        withExtras { extras in
            extras.unit = unit
            extras.isCounted = false
        }
        return unit
    }

    /// Completes the unit for which the addition of the operation was counted, if no attempt of its
    /// work has: the operation ends. Runs code of users.
    func completeCountedUnit(in queue: OperationQueue) {
        guard existingExtras != nil else { return }
        let isCounted = withExtras { extras in
            defer { extras.isCounted = false }
            return extras.isCounted
        }
        if isCounted { queue.activeProgress?.completeUnit() }
    }

    /// Completes the unit of the body: when the body has returned, or before that when a body that
    /// goes on has announced the operation's end.
    func completeUnit() {
        guard existingExtras != nil else { return }
        withExtras { $0.unit.take() }?.completedUnitCount = 1
    }

    /// The progress that counts this operation as a unit, if that progress is active.
    func progress(in queue: OperationQueue) -> Progress? {
        guard let progress = queue.activeProgress else { return nil }
        // An operation that another operation starts by hand does not belong to the queue.
        let own = queueReference.load(ordering: .acquiring)
        return own?.toOpaque() == Unmanaged.passUnretained(queue).toOpaque() ? progress : nil
    }

    /// Registers `waiter`; returns false if the operation has finished already.
    func addWaiter(_ waiter: Waiter) -> Bool { register(waiter) != nil }

    /// Registers a waiter that may give up; returns its ticket, or nil if the operation has
    /// finished already.
    func register(_ waiter: Waiter) -> TicketList<Waiter>.Ticket? {
        let ticket: TicketList<Waiter>.Ticket? = withExtras { extras in
            guard status.phase != .finished else { return nil }
            let ticket = extras.waiters.append(waiter)
            lifecycle.insert(.hasEndObservers)
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
    /// How messages identify the operation: its quoted name, the quoted place that made it, or its
    /// type and address.
    package var label: String {
        if let name = nameOrPlace { return "'\(name)'" }
        if isPieceOfTask { return "a piece of a task" }
        let address = String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
        return "\(type(of: self)) 0x\(address)"
    }

    /// The name, or the place that made the operation.
    var nameOrPlace: String? {
        if let name, !name.isEmpty { return name }
        return (self as? any PlacedOperation)?.site.text
    }
}

extension LifecycleState {
    var priority: Operation.QueuePriority { Operation.QueuePriority(lane: lane) }
}
