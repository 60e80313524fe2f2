public import Dispatch
import Synchronization

/// A queue that runs operations, as soon as they are ready and as many at a time as it is told.
///
/// Among ready operations the one with the highest ``Operation/queuePriority`` starts first, and among
/// equals the one that was added first, unless another ``order`` is set. A queue keeps its operations
/// until they have finished, and they keep the queue, so it may be dropped while they run.
///
/// Every property and method can be used from any thread.
open class OperationQueue: @unchecked Sendable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    // Unchecked because it is open: all the class has is guarded by locks or constant.

    /// Guarded by `lock`.
    let state = UnsafeMutablePointer<QueueState>.allocate(capacity: 1)
    let observations = Atomic<Unmanaged<Observations<OperationQueue>>?>(nil)
    let insight = Atomic<Unmanaged<QueueInsight>?>(nil)
    private let settings: Locked<Settings>
    /// What runs its operations in place of the workers, in tests.
    package let driver: (any QueueDriver)?
    /// What ``withOperationQueue(name:maxConcurrentOperationCount:isolation:_:)`` made it for.
    let scope: QueueScope?
    /// Where its operations run, if they are to have the task-local values of somebody.
    let tasks: TaskLocalExecutor?

    // What workers look at before each operation, and what changes with each addition, lie apart: each
    // would otherwise wait for the other to get the memory from another processor.
    private let gapBeforeSigns = CacheLine()
    /// What `state` says, for workers that look without the lock.
    let recallEpoch = Atomic<UInt32>(0)
    /// Whether workers of ours run it, and not a dispatch queue.
    let runsOnWorkers = Atomic<Bool>(true)
    /// What has to be done around each operation: a `Care`. Nothing, as a rule.
    let instrumentation = Atomic<UInt8>(0)
    /// The rank of ``qualityOfService``.
    private let ownQualityRank = Atomic<Int>(0)
    private let gapBehindSigns = CacheLine()

    let lock = SpinLock()
    /// What `state` says, as `recallEpoch`.
    let hasCompetingWork = Atomic<Bool>(false)

    struct Settings {
        var name: String?
        var progress: Progress?
        var time = TimeSource.continuous
        var random = RandomSource.system
        var keys: QueueKeys?
    }

    /// Stands for "as many as make sense": as many as there are cores, and one more for each that
    /// blocks, up to 512 threads for all queues of the process together.
    public static let defaultMaxConcurrentOperationCount = -1

    /// Makes a queue whose operations run on worker threads.
    public init() {
        state.initialize(to: QueueState())
        settings = Locked(Settings())
        driver = nil
        (scope, tasks) = (nil, nil)
        QueueRegistry.insert(self)
    }

    /// A queue whose operations run in tasks that inherit from somebody.
    init(tasks: TaskLocalExecutor, scope: QueueScope? = nil) {
        state.initialize(to: QueueState())
        settings = Locked(Settings())
        self.scope = scope
        self.tasks = tasks
        driver = nil
        QueueRegistry.insert(self)
    }

    deinit {
        QueueRegistry.remove(self)
        insight.load(ordering: .acquiring)?.release()
        state.deinitialize(count: 1)
        state.deallocate()
        observations.load(ordering: .acquiring)?.release()
    }

    /// The main queue.
    init(executor: QueueExecutor, name: String, qualityOfService: QualityOfService, width: Int) {
        state.initialize(to: QueueState(executor: executor, width: width))
        state.pointee.qualityRank = qualityOfService.rank
        runsOnWorkers.store(false, ordering: .relaxed)
        ownQualityRank.store(qualityOfService.rank, ordering: .relaxed)
        settings = Locked(Settings(name: name))
        driver = nil
        (scope, tasks) = (nil, nil)
        QueueRegistry.insert(self)
    }

    /// Makes a queue that something else than the workers runs.
    package init(driver: any QueueDriver, name: String, time: TimeSource) {
        state.initialize(to: QueueState(executor: .driver))
        runsOnWorkers.store(false, ordering: .relaxed)
        settings = Locked(Settings(name: name, time: time))
        self.driver = driver
        (scope, tasks) = (nil, nil)
        clock = { Int64(clamping: time.now().wholeNanoseconds) }
        QueueRegistry.insert(self)
    }

    /// The queue that runs its operations one by one on the main thread.
    ///
    /// The main thread must serve the main dispatch queue for that: with `dispatchMain()`, a run loop,
    /// or an `async` main function. Its width, suspension, name and quality of service are fixed;
    /// setting them has no effect.
    public static let main = OperationQueue(
        executor: .mainThread, name: "NSOperationQueue Main Queue",
        qualityOfService: .userInteractive, width: 1)

    /// The queue of the operation that the caller runs in.
    ///
    /// On the main thread outside of operations it is ``main``; elsewhere nil.
    public static var current: OperationQueue? {
        TaskContext.queue ?? ThreadContext.currentQueue ?? (MainThread.isCurrent ? main : nil)
    }

    // MARK: Adding

    /// Adds an operation, which may start before this method returns.
    ///
    /// - Precondition: the operation is in no queue, not executing and not finished.
    open func addOperation(_ operation: consuming Operation) {
        enqueue(operation)
    }

    /// Adds several operations at once.
    ///
    /// - Parameters:
    ///   - operations: what to add, in this order.
    ///   - wait: whether to block the calling thread until all of them have finished.
    /// - Precondition: none of them is in a queue, executing or finished, and none is given twice.
    @available(
        *, noasync,
        message:
            "write: await queue.addOperations(…), at the top level of main.swift inside a function"
    )
    open func addOperations(_ operations: [Operation], waitUntilFinished wait: Bool) {
        add(operations)
        if wait {
            for operation in operations { operation.waitUntilFinished() }
        }
    }

    /// Adds several operations at once and, if asked to, suspends the task until they have finished.
    public func addOperations(_ operations: [Operation], waitUntilFinished wait: Bool) async {
        add(operations)
        if wait {
            for operation in operations { await operation.waitUntilFinished() }
        }
    }

    /// Adds a block as an operation with the queue's quality of service.
    open func addOperation(_ block: @escaping @Sendable () -> Void) {
        let operation = BlockOperation(block: block)
        let qualityOfService = qualityOfService
        if qualityOfService != .default { operation.qualityOfService = qualityOfService }
        addOperation(operation)
    }

    /// Adds a block that runs when everything that was added before it has finished, and before anything
    /// that is added later starts.
    ///
    /// It is not among the ``operations`` and not in ``operationCount``, but waits for the whole queue
    /// include it. ``cancelAllOperations()`` drops a barrier whose block has not begun.
    open func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
        enqueue(Barrier(block: barrier))
    }

    // MARK: Looking

    /// What the queue is called in text: the name, how many operations there are, and whether it is suspended.
    open var description: String {
        let (count, isSuspended) = snapshot { ($0.operationCount, $0.isSuspended) }
        let operations = "\(count) operation\(count == 1 ? "" : "s")"
        return "\(label) (\(operations)\(isSuspended ? ", suspended" : ""))"
    }

    /// What a debugger shows; the ``description`` unless overridden.
    open var debugDescription: String { description }

    /// The operations that have not finished, in the order they were added.
    ///
    /// A snapshot: by the time it is read some may have finished.
    ///
    /// - Complexity: O(n).
    open var operations: [Operation] { snapshot { $0.operations() } }

    /// How many operations have not finished.
    open var operationCount: Int { snapshot { $0.operationCount } }

    /// A name for people.
    open var name: String? {
        get { settings.withLock { $0.name } ?? unnamed }
        set {
            guard !isMain else { return }
            settings.withLock { settings in
                settings.name = newValue
                existingObservations?.record(QueueProperties.name, newValue ?? unnamed)
            }
            existingObservations?.tell()
        }
    }

    /// The name that it was given, if it was.
    package final var givenName: String? { settings.withLock { $0.name } }

    private var unnamed: String { "NSOperationQueue \(address)" }

    private var address: String {
        "0x" + String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
    }

    /// How far the queue's operations have come.
    ///
    /// Counts nothing until its `totalUnitCount` is set; from then on each operation that ends its work
    /// completes one unit, also if it was cancelled while it worked. One that was cancelled before
    /// completes none: lower the total by hand, best in a barrier block. While an operation's `main()` runs,
    /// a unit of this progress is the current one, so that progresses made there become parts of it.
    /// Cancelling the progress does not cancel operations.
    open var progress: Progress {
        settings.withLock { settings in
            if let progress = settings.progress { return progress }
            let new = Progress.discreteProgress(totalUnitCount: 0)
            settings.progress = new
            begin(.progress)
            return new
        }
    }

    // MARK: Configuration

    /// How many operations may run at the same time.
    ///
    /// ``defaultMaxConcurrentOperationCount`` by default. 1 makes the queue serial, but readiness and
    /// priority still decide the order. 0 starts nothing. Lowering it stops nothing that runs.
    ///
    /// - Precondition: not negative, or ``defaultMaxConcurrentOperationCount``.
    open var maxConcurrentOperationCount: Int {
        get { snapshot { $0.width } }
        set {
            do { try checkWidth(newValue) } catch { misuse(error) }
            change(.width(min(newValue, Int(Int32.max))))
        }
    }

    /// Whether the queue starts nothing new.
    ///
    /// What runs goes on, and operations can be added. Cancelled operations still leave, unless they override
    /// ``Operation/start()``: that is called when the queue goes on.
    open var isSuspended: Bool {
        get { snapshot { $0.isSuspended } }
        set { change(.suspended(newValue)) }
    }

    /// The least quality of service that the queue's operations have; `default`, which asks for nothing,
    /// unless set.
    ///
    /// An operation is promoted to it when it is added. Raising it promotes all that are in the queue, those
    /// that run included; lowering it affects only those that are added afterwards. Blocks that are
    /// added to the queue have it as their own. See ``Operation/effectiveQualityOfService``.
    open var qualityOfService: QualityOfService {
        get { QualityOfService(rank: ownQualityRank.load(ordering: .relaxed)) }
        set {
            guard !isMain else { return }
            settings.withLock { _ in
                ownQualityRank.store(newValue.rank, ordering: .relaxed)
                existingObservations?.record(QueueProperties.qualityOfService, newValue)
            }
            setQualityRank(newValue.rank)
            existingObservations?.tell()
        }
    }

    /// Where delays, deadlines and the like of this queue's operations take their time from.
    package final var time: TimeSource {
        get { settings.withLock { $0.time } }
        set {
            settings.withLock { $0.time = newValue }
            clock = { Int64(clamping: newValue.now().wholeNanoseconds) }
        }
    }

    /// Where the jitter of this queue's operations comes from.
    package final var random: RandomSource {
        get { settings.withLock { $0.random } }
        set { settings.withLock { $0.random = newValue } }
    }

    /// What operations of this queue are known by keys.
    final var keys: QueueKeys {
        settings.withLock { settings in
            if let keys = settings.keys { return keys }
            let new = QueueKeys()
            settings.keys = new
            return new
        }
    }

    /// The dispatch queue that runs the operations; nil unless set: then workers of our own do.
    ///
    /// With one the operations' qualities of service have no effect, and the queue's width holds as well
    /// as the dispatch queue's. Suspending the operation queue does not suspend the dispatch queue. For
    /// ``main`` it is `DispatchQueue.main`, and cannot be changed.
    ///
    /// - Precondition: set only while ``operationCount`` is 0, and not to `DispatchQueue.main`.
    open var underlyingQueue: DispatchQueue? {
        get { snapshot { $0.executor.underlyingQueue } }
        set {
            guard !isMain else { return }
            do { try setUnderlyingQueueChecked(newValue) } catch { misuse(error) }
        }
    }

    // MARK: Cancelling and waiting

    /// Cancels every operation that has not finished.
    ///
    /// All are marked before any leaves, so no dependent of a cancelled operation starts in between. Then
    /// ``Operation/cancel()`` of each is called, on the calling thread, in the order in which they were added,
    /// and none of them ends as cancelled before that. An override that blocks holds back those after it,
    /// unless it waits for an operation or a queue: then the others are cancelled first.
    open func cancelAllOperations() { CancelRound.cancel(cancelFastPathOperations()) }

    /// Blocks the calling thread until the queue is empty.
    ///
    /// Operations that are added meanwhile are waited for too. A worker thread that waits here is
    /// replaced by another one meanwhile.
    ///
    /// - Precondition: not called from inside an unfinished operation of this queue, or from inside one that
    ///   an operation of this queue waits for.
    @available(
        *, noasync,
        message:
            "write: await queue.waitUntilAllOperationsAreFinished(), at the top level of main.swift inside a function"
    )
    open func waitUntilAllOperationsAreFinished() {
        if isOverForCaller() { return }
        let gate = Latch()
        guard addWaiter(.thread(gate)) else { return }
        CancelRound.willBlock()
        OperationsDiagnostics.waitBegins(for: "the operations of \(label)")
        promoteAllForWait()
        gate.waitOnWorker(for: .queue(self))
    }

    /// Suspends the calling task until the queue is empty.
    public final func waitUntilAllOperationsAreFinished() async {
        if TaskContext.queue === self, let operation = TaskContext.operation,
            operation.status.phase != .finished
        {
            misuseOfOwnWait(by: operation)
        }
        let wait = BlockedWait.task(.queue(self))
        defer { wait?.end() }
        await withCheckedContinuation { continuation in
            if !addWaiter(.task(continuation)) { return continuation.resume() }
            if let operation = TaskContext.operation { promoteAll(byWaitOf: operation) }
        }
    }
}

extension OperationQueue {
    var isMain: Bool { self === OperationQueue.main }

    /// The progress, if anybody has asked for it and set how much there is to do.
    var activeProgress: Progress? {
        guard traces(for: .progress) else { return nil }
        return settings.withLock { $0.progress }.flatMap { $0.totalUnitCount > 0 ? $0 : nil }
    }

    /// True if nothing but finished operations is left, one of which the calling thread is in. A wait inside of
    /// an operation that the queue cannot lose before the wait returns stops the program.
    ///
    /// - Parameter isTimed: whether the wait ends by itself: then nothing stops the program.
    func isOverForCaller(isTimed: Bool = false) -> Bool {
        for operation in ThreadContext.operations(of: self) {
            if operation.status.phase != .finished || ThreadContext.isLeaving(operation) {
                if isTimed { return false }
                misuseOfOwnWait(by: operation)
            }
            // It leaves when its worker, the calling thread, has come to the end of its batch.
            guard operation.leavesWithBatch else { continue }
            if snapshot({ $0.hasOnlyFinished }) { return true }
            if !isTimed { misuseOfOwnWait(by: operation) }
        }
        return false
    }

    private func misuseOfOwnWait(by operation: Operation) -> Never {
        misuse(
            "\(operation) waits for all operations of its own \(label), itself "
                + "included, and would never finish: remove this wait")
    }
}

extension OperationQueue: Hashable {
    /// Queues are equal if they are the same object.
    public static func == (a: OperationQueue, b: OperationQueue) -> Bool { a === b }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
