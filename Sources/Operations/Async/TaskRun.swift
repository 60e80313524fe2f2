import Synchronization

/// The task of an operation with an async body, from before it exists to its end.
final class TaskRun: Sendable {
    private enum State {
        case pending
        /// The body, from when it is about to begin; and its task, once that is known and if it is not one that
        /// runs others after it.
        case running(AsyncBody, Task<Void, Never>?)
        case ended
    }

    private let state = Locked(State.pending)
    /// When it was started.
    let startTime = Atomic<UInt64>(0)
    private let isDriven = Atomic<Bool>(false)
    /// A task made together with the operation, which waits to be told to run it.
    private let prepared: PreparedTask?

    /// - Parameter inherits: false if it will be started in a task that has what is to be inherited.
    init(inherits: Bool = true) {
        prepared = inherits ? PreparedTask.inheritingTaskLocals() : nil
    }

    /// Runs the work of an operation in its task.
    func start(for operation: Operation, work: @escaping @Sendable () async -> Void) {
        startTime.store(monotonicNanoseconds(), ordering: .relaxed)
        let queue = ThreadContext.currentQueue ?? TaskContext.queue
        let runsInPrepared =
            prepared != nil && operation.taskPriority == nil && !operation.mayRunAgain
        let executor = (runsInPrepared ? prepared?.executor : nil) ?? PoolExecutor()
        let body = AsyncBody(operation, in: queue, on: queue?.driver == nil ? executor : nil)
        // Before there is a task: it may run on this thread, and for long, before its maker knows it.
        state.withLock { $0 = .running(body, nil) }
        // After that: whoever promotes it from here on finds the body.
        executor.begins(with: operation.urgency)
        let priority = operation.taskPriority
        let witness = operation.witness
        let wholeWork: @Sendable () async -> Void = {
            await TaskContext.$body.withValue(body) {
                body.begin()
                // A cancellation that came before this found no task to cancel.
                if operation.isCancelled { body.cancel(operation) }
                if let witness {
                    await witness.perform(work)
                } else {
                    await work()
                }
                body.end()
            }
        }
        if let queue, let driver = queue.driver {
            return register(
                makeTask(for: operation, in: queue, driver: driver, wholeWork), of: body)
        }
        guard let prepared else {
            return register(
                PoolExecutor.start(wholeWork, priority: priority, on: executor), of: body)
        }
        if runsInPrepared {
            prepared.run(wholeWork)
            return register(prepared.task, of: body)
        }
        // A task that is made in the prepared one inherits the same values, and has its own priority; a child
        // would have no lower one than that of the maker. And of several attempts each can be cancelled alone.
        prepared.run(isLast: !operation.mayRunAgain) { [self] in
            register(PoolExecutor.start(wholeWork, priority: priority, on: executor), of: body)
        }
    }

    /// Unless the body is over: then the next attempt may have begun.
    private func register(_ task: Task<Void, Never>?, of body: AsyncBody) {
        guard let task else { return }
        state.withLock { state in
            guard case .running(let current, nil) = state, current === body else { return }
            state = .running(body, task)
        }
    }

    /// Nil for a task that was made earlier. A driver does not mind a priority, and must not be given a task more or
    /// less because of it.
    private func makeTask(
        for operation: Operation, in queue: OperationQueue, driver: any QueueDriver,
        _ work: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never>? {
        isDriven.store(true, ordering: .relaxed)
        if let prepared, let executor = prepared.bodyExecutor, !operation.mayRunAgain {
            executor.move(to: driver, for: operation, in: queue, isBegun: false)
            prepared.run(work)
            return nil
        }
        // Made before there was any driver. The task that runs the driver is as a rule the one that made
        // the operation, too; so the new one inherits the same values.
        prepared?.run(nil)
        let executor = BodyExecutor()
        executor.move(to: driver, for: operation, in: queue, isBegun: true)
        return PoolExecutor.start(work, on: executor)
    }

    /// Whether there is a task that carries what its maker had.
    var isPrepared: Bool { prepared != nil }

    /// Whether that task may have to run for a driver.
    var isForDrivers: Bool { prepared?.bodyExecutor != nil }

    /// Runs the body of an operation that has begun in the prepared task, in the place of the worker; false if
    /// the worker is to go on without it.
    func runPrepared(_ operation: Operation, of batch: Batch, in queue: OperationQueue) -> Bool {
        guard let prepared else { return false }
        let body = AsyncBody(operation, in: queue, on: prepared.executor)
        return prepared.run(on: .current, of: batch, in: queue) {
            prepared.run {
                await TaskContext.$body.withValue(body) {
                    body.begin()
                    defer { body.end() }
                    await operation.runAsyncBlock(in: body)
                    if prepared.isWithWorker { return prepared.endTurn() }
                    operation.finish()
                    Unmanaged.passUnretained(operation).release()
                }
            }
        }
    }

    /// The work is about to be done in a task that others share.
    func begin(in body: AsyncBody, for operation: Operation) {
        state.withLock { $0 = .running(body, nil) }
        if QualityOfServiceUse.isOn { body.executor?.begins(with: operation.urgency) }
        if operation.isCancelled { body.cancel(operation) }
    }

    func cancel(_ operation: Operation) {
        if case .running(let body, _) = state.withLock({ $0 }) { body.cancel(operation) }
    }

    /// The operation has become more urgent while it is at work.
    func raise(_ operation: Operation, to urgency: Urgency) {
        if case .running(let body, _) = state.withLock({ $0 }) {
            body.raise(operation, to: urgency)
        }
    }

    @available(macOS 26, *)
    func escalate(to priority: TaskPriority) {
        guard !isDriven.load(ordering: .relaxed) else { return }
        if case .running(_, let task?) = state.withLock({ $0 }) {
            task.escalatePriority(to: priority)
        }
    }

    func end() {
        state.withLock { $0 = .ended }
        prepared?.run(nil)
    }

    /// It is going to be started once more.
    func prepareAgain() { state.withLock { $0 = .pending } }

    /// It will not be started.
    func abandon() { prepared?.run(nil) }
}
