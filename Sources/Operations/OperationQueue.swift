public import Dispatch
package import OperationsRuntime
import Synchronization

/// A queue that runs operations as soon as they are ready, up to a given number at a time.
///
/// ```swift
/// let queue = OperationQueue(name: "pages", width: 4)
/// let page = queue.add("page", .retry(3), .timeout(.seconds(5))) { try await fetch(url) }
/// let text = queue.add(after: page) { page in try parse(page) }
/// queue.add(onFailureOf: page) { error in show(error) }
/// print(try await text.value)
/// print(queue.explain())
/// ```
///
/// Among ready operations the one with the highest ``Operation/queuePriority`` starts first. Among
/// operations of equal priority the one that was added first starts first, unless another ``order``
/// is set. A queue keeps its operations until they have finished, and they keep the queue, so it
/// may be dropped while they run.
///
/// Every property and method can be used from any thread.
open class OperationQueue: @unchecked Sendable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    // Unchecked because the class is open: locks guard all of its state that is not constant.

    /// Guarded by `lock`.
    let state = UnsafeMutablePointer<QueueState>.allocate(capacity: 1)
    /// The list of observers, which `Tracing/` makes when the queue is first observed. Retained.
    let observers = Atomic<Unmanaged<AnyObject>?>(nil)
    private let settings: Locked<Settings>
    /// The driver that runs the operations in place of the workers, in tests.
    package let driver: (any QueueDriver)?
    /// The scope of the ``withOperationQueue(name:width:onFailure:isolation:_:)`` call that made
    /// the queue.
    let companion: (any QueueCompanion)?
    /// Whether there are ``additionSteps``. Each addition reads this; usually it is all that they
    /// cost.
    let hasAdditionSteps: Atomic<Bool>
    /// What features do around each addition, in the order of their turns; guarded by `lock`.
    var additionSteps: [any AdditionStep]
    /// Runs the operations in tasks, if they inherit the task-local values of another task.
    let tasks: (any QueueTasks)?

    // Workers read the fields between the two gaps before each operation; every addition changes
    // the fields outside. On one cache line, each side would wait for the other to get the memory
    // from another processor.
    private let gapBeforeHints = CacheLine()
    /// What workers read of `state` without the lock: the recall epoch and, in the lowest bit,
    /// whether there is competing work.
    let hints = Atomic<UInt64>(0)
    /// Whether the library's workers run the queue, and not a dispatch queue or a driver.
    let runsOnWorkers = Atomic<Bool>(true)
    /// The work to be done around each operation, as the raw value of an `Instrumentation`. Usually
    /// 0, for none.
    let instrumentation = Atomic<UInt8>(0)
    /// The rank of ``qualityOfService``.
    private let ownQualityRank = Atomic<Int>(0)
    private let gapBehindHints = CacheLine()

    let lock = SpinLock()

    struct Settings {
        var name: String?
        /// The place that made the queue, if it is known.
        var site = CallSite()
        /// The recorder of changes; set when the queue is first observed.
        var recorder: (any QueueRecorder)?
        var progress: Progress?
        var time = TimeSource.continuous
        var random = RandomSource.system
        /// What features keep with the queue, by its type.
        var attachments: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    /// Lets the queue choose how many operations run at the same time.
    ///
    /// The number is the number of cores, plus one for each operation that blocks, up to 512
    /// threads for all queues of the process together.
    public static let defaultMaxConcurrentOperationCount = -1

    /// Makes a queue whose operations run on worker threads.
    public init() {
        state.initialize(to: QueueState())
        settings = Locked(Settings())
        driver = nil
        (companion, tasks) = (nil, nil)
        hasAdditionSteps = Atomic(false)
        additionSteps = []
        state.pointee.queue = .passUnretained(self)
        QueueRegistry.insert(opaque)
    }

    /// Makes a queue with a name, a width and an order.
    ///
    /// ```swift
    /// let uploads = OperationQueue(name: "uploads", width: 4)
    /// let log = OperationQueue(name: "log", width: 1, order: .fifo)
    /// ```
    ///
    /// - Parameters:
    ///   - name: a name for people to read; see ``name``.
    ///   - width: how many operations may run at the same time; see
    ///     ``maxConcurrentOperationCount``.
    ///   - order: the order in which operations start; see ``order``.
    ///   - file: the file of the call. Messages call a queue without a name by the place that made
    ///     it.
    ///   - line: the line of the call.
    /// - Precondition: the width is not negative, or is ``defaultMaxConcurrentOperationCount``.
    public convenience init(
        name: String? = nil, width: Int = OperationQueue.defaultMaxConcurrentOperationCount,
        order: OperationQueueOrder = .priority,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        self.init()
        if let name {
            self.name = name
        } else {
            settings.replace(\.site, with: CallSite(file, line))
        }
        maxConcurrentOperationCount = width
        if order != .priority { self.order = order }
    }

    /// Makes a queue of any kind. `init()` cannot call this: subclasses call `init()`, so it must
    /// be a designated initializer itself.
    private init(
        _ state: consuming QueueState, _ settings: Settings, driver: (any QueueDriver)? = nil,
        companion: (any QueueCompanion)? = nil, tasks: (any QueueTasks)? = nil
    ) {
        runsOnWorkers.store(state.executor.isSame(as: .workers), ordering: .relaxed)
        ownQualityRank.store(state.qualities.rank, ordering: .relaxed)
        self.state.initialize(to: state)
        self.settings = Locked(settings)
        (self.driver, self.companion, self.tasks) = (driver, companion, tasks)
        hasAdditionSteps = Atomic(companion != nil)
        additionSteps = companion.map { [$0] } ?? []
        self.state.pointee.queue = .passUnretained(self)
        QueueRegistry.insert(opaque)
    }

    /// Makes a queue whose operations run in tasks that inherit from the task which made `tasks`.
    convenience init(tasks: any QueueTasks, companion: (any QueueCompanion)? = nil) {
        self.init(QueueState(), Settings(), companion: companion, tasks: tasks)
    }

    /// Makes a queue whose operations a driver runs in place of the workers.
    package convenience init(driver: any QueueDriver, name: String, time: TimeSource) {
        var state = QueueState(executor: .driver)
        state.ready.clock = time.nanoseconds
        self.init(state, Settings(name: name, time: time), driver: driver)
    }

    deinit {
        QueueRegistry.remove(opaque)
        observers.load(ordering: .acquiring)?.release()
        state.pointee.qualities.marks.endUse()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// The queue that runs its operations one by one on the main thread.
    ///
    /// For that, the main thread must serve the main dispatch queue: with `dispatchMain()`, a run
    /// loop, or an `async` main function. The width, suspension, name and quality of service of the
    /// queue are fixed; setting them has no effect.
    ///
    /// A subclass may return a queue of its own. For a queue whose operations run on the main
    /// thread too, set its ``underlyingQueue`` to `DispatchQueue.main`.
    open class var main: OperationQueue { theMain }

    /// The main queue, whatever a subclass returns as its own.
    private static let theMain: OperationQueue = {
        var state = QueueState(executor: .mainThread, width: 1)
        state.qualities.rank = QualityOfService.userInteractive.rank
        return OperationQueue(state, Settings(name: "NSOperationQueue Main Queue"))
    }()

    /// The queue of the operation that the caller runs in.
    ///
    /// Outside of operations it is ``main`` on the main thread, and nil elsewhere.
    open class var current: OperationQueue? {
        TaskContext.queue ?? ThreadContext.currentQueue ?? (MainThread.isCurrent ? main : nil)
    }

    // MARK: Adding

    /// Adds an operation, which may start before this method returns.
    ///
    /// - Precondition: the operation is in no queue, not executing and not finished.
    open func addOperation(_ operation: Operation) {
        // No `open` method has a `consuming` parameter: the compiler makes no thunk for an override
        // without that word, and each call would leak the argument.
        enqueue(operation)
    }

    /// Adds several operations at once.
    ///
    /// - Parameters:
    ///   - operations: the operations to add, in this order.
    ///   - wait: whether to block the calling thread until all of them have finished.
    /// - Precondition: none of them is in a queue, executing or finished, and none is given twice.
    @available(
        *, noasync,
        message:
            "write: await queue.addOperations(…); at the top level of main.swift, where await finds no other method, call it in a function"
    )
    open func addOperations(_ operations: [Operation], waitUntilFinished wait: Bool) {
        add(operations)
        if wait {
            for operation in operations { operation.waitUntilFinished() }
        }
    }

    /// Adds several operations at once and, if `wait` is true, suspends the task until all have
    /// finished.
    public func addOperations(_ operations: [Operation], waitUntilFinished wait: Bool) async {
        add(operations)
        if wait {
            for operation in operations { await operation.waitUntilFinished() }
        }
    }

    /// Adds a block as an operation with the queue's quality of service.
    open func addOperation(_ block: @escaping @Sendable () -> Void) {
        guard let block = addWithoutOperation(Block(block)) else { return }
        let operation = BlockOperation(block: block.body)
        let qualityOfService = qualityOfService
        if qualityOfService != .default { operation.qualityOfService = qualityOfService }
        addOperation(operation)
    }

    /// Adds a block that separates the operations added before it from those added after it.
    ///
    /// The block runs when every operation that was added before it has finished, and before any
    /// operation that is added later starts. It is not among the ``operations`` and not in
    /// ``operationCount``, but waits for the whole queue include it. ``cancelAllOperations()``
    /// drops a barrier whose block has not begun.
    open func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
        enqueue(Barrier(block: barrier))
    }

    // MARK: Inspection

    /// A description of the queue: its name, the number of its operations, and whether it is
    /// suspended.
    open var description: String {
        let (count, isSuspended) = snapshot { ($0.operationCount, $0.slots.isSuspended) }
        let operations = "\(count) operation\(count == 1 ? "" : "s")"
        return "\(label) (\(operations)\(isSuspended ? ", suspended" : ""))"
    }

    /// The text that a debugger shows: the ``description``, unless overridden.
    open var debugDescription: String { description }

    /// The operations that have not finished, in the order they were added.
    ///
    /// The array is a snapshot: by the time the caller reads it some operations may have finished.
    ///
    /// - Complexity: O(n).
    open var operations: [Operation] { allOperations() }

    /// The number of operations that have not finished.
    open var operationCount: Int { snapshot { $0.operationCount } }

    /// A name for people to read; `NSOperationQueue` and the queue's address unless set.
    open var name: String? {
        get { settings.withLock { $0.name } ?? unnamed }
        set {
            guard !isMain else { return }
            let recorder = settings.withLock { settings in
                settings.name = newValue
                settings.recorder?.record(.name(newValue ?? unnamed))
                return settings.recorder
            }
            recorder?.notifyObservers()
        }
    }

    /// The name that the program gave the queue; nil if it gave none.
    package final var givenName: String? { settings.withLock { $0.name } }

    private var unnamed: String { "NSOperationQueue \(address)" }

    private var address: String {
        "0x" + String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
    }

    /// The progress of the queue's operations.
    ///
    /// With ``progressCountsAdditions``, the progress counts by itself. Otherwise it counts nothing
    /// until its `totalUnitCount` is set. From then on each operation that ends its work completes
    /// one unit, also if it was cancelled while it worked. An operation that was cancelled before
    /// its work began completes none: lower the total by hand, best in a barrier block. As Apple
    /// documents it, an operation that overrides ``Operation/start()`` and does not call `super`
    /// completes none either: it may add a progress of its own as a child, and is then not counted
    /// twice. While an operation's `main()` runs, a unit of this progress is the current progress,
    /// so that progresses made there become parts of it. Cancelling the progress does not cancel
    /// operations.
    open var progress: Progress {
        settings.withLock { settings in
            if let progress = settings.progress { return progress }
            let new = makeProgress()
            settings.progress = new
            return new
        }
    }

    // MARK: Configuration

    /// How many operations may run at the same time; the width of the queue.
    ///
    /// ``defaultMaxConcurrentOperationCount`` by default. 1 makes the queue serial, but readiness
    /// and priority still decide the order. With 0 no operation starts. Lowering the width stops no
    /// running operation.
    ///
    /// - Precondition: not negative, or ``defaultMaxConcurrentOperationCount``.
    open var maxConcurrentOperationCount: Int {
        get { snapshot { $0.slots.width } }
        set {
            do { try checkWidth(newValue) } catch { return error.refuse() }
            change(.width(min(newValue, Int(Int32.max))))
        }
    }

    /// Whether the queue starts nothing new.
    ///
    /// While a queue is suspended, running operations go on and operations can be added. Cancelled
    /// operations still leave, unless they override ``Operation/start()``: the queue calls that
    /// override when it resumes.
    open var isSuspended: Bool {
        get { snapshot { $0.slots.isSuspended } }
        set { change(.suspended(newValue)) }
    }

    /// The minimum quality of service of the queue's operations; `default`, which asks for nothing,
    /// unless set.
    ///
    /// An operation is promoted to this quality of service when it is added. Raising it promotes
    /// every operation in the queue, running ones included; lowering it affects only operations
    /// that are added afterwards. Blocks that are added to the queue take it as their own quality
    /// of service. See ``Operation/effectiveQualityOfService``.
    open var qualityOfService: QualityOfService {
        get { QualityOfService(rank: ownQualityRank.load(ordering: .relaxed)) }
        set {
            guard !isMain else { return }
            let recorder = settings.withLock { settings in
                ownQualityRank.store(newValue.rank, ordering: .relaxed)
                settings.recorder?.record(.qualityOfService(newValue))
                return settings.recorder
            }
            setQualityRank(newValue.rank)
            recorder?.notifyObservers()
        }
    }

    /// The source of time for delays, deadlines and other times of this queue's operations.
    package final var time: TimeSource {
        get { settings.withLock { $0.time } }
        set {
            settings.replace(\.time, with: newValue)
            clock = newValue.nanoseconds
        }
    }

    /// The time for ``aging``, in nanoseconds; the monotonic clock's unless this is set.
    ///
    /// Deadlines are only compared with each other, but should be on the same time axis. The queue
    /// calls the closure with its lock held. The closure must not call anything of an operation or
    /// a queue, and must not take a lock that is held while any thread makes such a call. For
    /// aging, a time that goes back counts as one that stands still, and a negative time as 0.
    package final var clock: (@Sendable () -> Int64)? {
        get { snapshot { $0.ready.clock } }
        set {
            // The replaced closure is released outside the lock.
            let previous = event { state in
                let previous = state.ready.clock
                state.ready.clock = newValue
                return previous
            }
            withExtendedLifetime(previous) {}
        }
    }

    /// The source of random numbers for the jitter of this queue's operations.
    package final var random: RandomSource {
        get { settings.withLock { $0.random } }
        set { settings.replace(\.random, with: newValue) }
    }

    /// Returns the recorder of changes. The recorder is made when the queue is first observed, and
    /// then kept.
    final func recorder(orMake make: () -> any QueueRecorder) -> any QueueRecorder {
        let recorder = settings.withLock { settings in
            let recorder = settings.recorder ?? make()
            settings.recorder = recorder
            return recorder
        }
        event { $0.records.recorder = recorder }
        return recorder
    }

    /// Returns the object that a feature keeps with the queue. The object is made when it is first
    /// needed, and then kept.
    final func attachment<Object: AnyObject & Sendable>(orMake make: () -> Object) -> Object {
        settings.withLock { settings in
            let id = ObjectIdentifier(Object.self)
            if let object = settings.attachments[id] as? Object { return object }
            let new = make()
            settings.attachments[id] = new
            return new
        }
    }

    /// The dispatch queue that runs the operations; nil, for the library's workers, unless set.
    ///
    /// With a dispatch queue the operations' qualities of service have no effect, and both the
    /// queue's width and that of the dispatch queue hold. Suspending the operation queue does not
    /// suspend the dispatch queue. For ``main`` it is `DispatchQueue.main`, and cannot be changed.
    ///
    /// With `DispatchQueue.main`, operations run on the main thread, one by one, as on Apple's
    /// systems, although Apple's documentation forbids it. The main thread must serve the main
    /// dispatch queue, as for ``main``. Unlike that queue, this one can be suspended and
    /// configured.
    ///
    /// - Precondition: set only while ``operationCount`` is 0.
    open var underlyingQueue: DispatchQueue? {
        get { snapshot { $0.executor.underlyingQueue } }
        set {
            guard !isMain else { return }
            do { try setUnderlyingQueueChecked(newValue) } catch { error.refuse() }
        }
    }

    // MARK: Cancelling and waiting

    /// Cancels every operation that has not finished. A block that was added to the queue and has
    /// not begun does not run.
    ///
    /// All operations are marked before any of them leaves, so no dependent of a cancelled
    /// operation starts in between. Then ``Operation/cancel()`` of each operation is called, on the
    /// calling thread, in the order in which they were added; no operation ends as cancelled before
    /// its own call. An override that blocks holds back the calls after it, unless it waits for an
    /// operation or a queue: then the other operations are cancelled first.
    open func cancelAllOperations() { cancelAll(because: .requested) }

    /// Blocks the calling thread until the queue is empty.
    ///
    /// Operations that are added meanwhile are waited for too. While a worker thread waits here,
    /// another worker replaces it.
    ///
    /// - Precondition: not called from inside an unfinished operation of this queue, nor from
    ///   inside an operation that an operation of this queue waits for.
    @available(
        *, noasync,
        message: "write: await queue.finished()"
    )
    open func waitUntilAllOperationsAreFinished() {
        if isOverForCaller() { return }
        let latch = Latch()
        guard addWaiter(.thread(latch)) else { return }
        blockThread(at: latch)
    }

    /// As ``finished()``, under Foundation's name: code that waits in a task needs only an `await`.
    public final func waitUntilAllOperationsAreFinished() async {
        if TaskContext.queue === self, let operation = TaskContext.operation,
            operation.status.phase != .finished
        {
            return refuseOwnWait(by: operation)
        }
        let wait = recordWaitOfTask()
        let companion = waitBegins()
        defer {
            companion?.waitEnded()
            wait?.end()
        }
        if wait?.refusal != nil { return }
        await withCheckedContinuation { continuation in
            if !addWaiter(.task(continuation)) { return continuation.resume() }
            if let operation = TaskContext.operation { promoteAll(byWaitOf: operation) }
        }
    }
}

extension OperationQueue {
    /// The name of the queue in messages.
    package final var label: String {
        let name = name
        if name == unnamed, let place = settings.withLock({ $0.site.text }) {
            return "queue '\(place)'"
        }
        return name.map { "queue '\($0)'" } ?? "a queue without a name"
    }

    /// The address of the queue.
    var opaque: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    var isMain: Bool { self === OperationQueue.main }

    /// Whether the operations run on the main thread.
    var runsOnMainThread: Bool { snapshot { $0.executor }.isMainThread }

    func checkWidth(_ width: Int) throws(OperationMisuse) {
        guard width >= 0 || width == Self.defaultMaxConcurrentOperationCount else {
            throw .width(width, of: label)
        }
    }

    /// The progress, if it was requested and its total is above 0.
    var activeProgress: Progress? {
        guard has(.progress) else { return nil }
        return settings.withLock { $0.progress }.flatMap { $0.totalUnitCount > 0 ? $0 : nil }
    }

    /// Makes the progress of the queue. The queue has work to do around each operation only while
    /// the total of the progress is not 0.
    private func makeProgress() -> Progress {
        let entry = QueueRegistry.entry(of: self)
        return Progress(discreteTotalUnitCount: 0) { entry.queue?.progressActivityChanged() }
    }

    private func progressActivityChanged() {
        guard let progress = settings.withLock({ $0.progress }) else { return }
        let isActive = { progress.isActive.load(ordering: .acquiring) }
        if isActive() {
            begin(.progress, if: isActive)
        } else {
            end(.progress, unless: isActive)
        }
    }

    /// Whether the calling thread is inside a finished operation of the queue and only finished
    /// operations are left.
    ///
    /// A wait inside an operation that cannot leave the queue before the wait returns is refused:
    /// if that does not stop the program, the result is true.
    ///
    /// - Parameter isTimed: whether the wait ends by itself: then it is not refused.
    func isOverForCaller(isTimed: Bool = false) -> Bool {
        for operation in ThreadContext.operations(of: self) {
            if operation.status.phase != .finished || ThreadContext.isLeaving(operation) {
                if isTimed { return false }
                refuseOwnWait(by: operation)
                return true
            }
            // The operation leaves when its worker, the calling thread, reaches the end of its
            // claim.
            guard operation.leavesWithClaim else { continue }
            if snapshot({ $0.hasOnlyFinished }) { return true }
            if isTimed { continue }
            refuseOwnWait(by: operation)
            return true
        }
        return false
    }

    private func refuseOwnWait(by operation: Operation) {
        OperationMisuse.ownWait(by: operation, for: label).refuse(waitInside: operation)
    }
}

extension OperationQueue: Hashable {
    /// Queues are equal if they are the same object.
    public static func == (a: OperationQueue, b: OperationQueue) -> Bool { a === b }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
