import OperationsRuntime
import Synchronization

/// The task of an operation with an async body, from before the task exists until its end.
///
/// Unchecked because its superclass is: all state is constant, locked or atomic.
final class TaskRun: OperationTask, @unchecked Sendable {
    private enum State {
        case pending
        /// The body, from just before it begins. Its task follows once the task is known, unless
        /// the task also runs other operations.
        case running(AsyncBody, Task<Void, Never>?)
        case ended
    }

    private let state = Locked(State.pending)
    private let isDriven = Atomic<Bool>(false)
    /// A task that was created together with the operation and waits for its work.
    private let prepared: PreparedTask?

    /// - Parameter inherits: Whether a prepared task has to inherit task-local values. False if the
    ///   operation will be started inside a task that already has these values.
    init(inherits: Bool = true) {
        prepared = inherits ? PreparedTask.inheritingTaskLocals() : nil
    }

    private func change(to new: State) { state.replace(with: new) }

    /// Runs the body of an operation in its task.
    func start(for operation: Operation, work: @escaping @Sendable () async -> Void) {
        startTime.store(monotonicNanoseconds(), ordering: .relaxed)
        let queue = ThreadContext.currentQueue ?? TaskContext.queue
        let runsInPrepared =
            prepared != nil && !operation.needsTaskPriority && !operation.mayRunAgain
        let executor = (runsInPrepared ? prepared?.executor : nil) ?? PoolExecutor()
        let body = AsyncBody(operation, in: queue, on: queue?.driver == nil ? executor : nil)
        // Publish the body before the task exists: the task may run on this thread, and for long,
        // before this method has a reference to it.
        change(to: .running(body, nil))
        // Read the urgency after the body is published: a promotion from here on finds the body.
        executor.begins(with: operation.urgency)
        let priority = operation.taskPriority
        let observer = operation.operationObserver
        let wholeWork: @Sendable () async -> Void = {
            await TaskContext.$body.withValue(body) {
                body.begin()
                // An earlier cancellation found no task to cancel.
                if operation.isCancelled { body.cancel(operation) }
                if let observer {
                    await observer.perform(work)
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
        // A task that is created inside the prepared task inherits the same values and has its own
        // priority, whereas the priority of a child task could not be lower than that of its
        // creator. Besides, each of several attempts can then be cancelled separately.
        prepared.run(isLast: !operation.mayRunAgain) { [self] in
            register(PoolExecutor.start(wholeWork, priority: priority, on: executor), of: body)
        }
    }

    /// Records the task of a body, unless the body is over; in that case the next attempt may have
    /// begun.
    private func register(_ task: Task<Void, Never>?, of body: AsyncBody) {
        guard let task else { return }
        state.withLock { state in
            guard case .running(let current, nil) = state, current === body else { return }
            state = .running(body, task)
        }
    }

    /// Starts the task on a driver. Returns nil if the task was prepared earlier.
    ///
    /// A driver ignores priorities, and the number of tasks that it gets must not depend on them.
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
        // The prepared task was created before there was any driver. The task that runs the driver
        // usually also created the operation, so a new task inherits the same values.
        prepared?.run(nil)
        let executor = BodyExecutor()
        executor.move(to: driver, for: operation, in: queue, isBegun: true)
        return PoolExecutor.start(work, on: executor)
    }

    /// Whether there is a prepared task, with the task-local values of its creator.
    var isPrepared: Bool { prepared != nil }

    /// Whether the prepared task may have to run for a driver.
    var isForDrivers: Bool { prepared?.bodyExecutor != nil }

    /// Runs, in the prepared task and in place of the worker, the body of an operation that has
    /// begun. Returns false if the worker has to continue without the operation.
    func runPrepared(_ operation: Operation, of claim: Claim, in queue: OperationQueue) -> Bool {
        guard let prepared else { return false }
        let body = AsyncBody(operation, in: queue, on: prepared.executor)
        return prepared.run(on: .current, of: claim, in: queue) {
            prepared.run {
                let isWithWorker = await TaskContext.$body.withValue(body) {
                    body.begin()
                    defer { body.end() }
                    await operation.runAsyncBlock(in: body)
                    return prepared.isWithWorker
                }
                if isWithWorker { return prepared.endTurn() }
                // Out here the task is inside no operation, and may release the body.
                operation.finish()
                Unmanaged.passUnretained(operation).release()
            }
        }
    }

    /// Records that a task shared with other operations is about to run the body.
    func begin(in body: AsyncBody, for operation: Operation) {
        change(to: .running(body, nil))
        if QualityOfServiceUse.isOn { body.executor?.begins(with: operation.urgency) }
        if operation.isCancelled { body.cancel(operation) }
    }

    func cancel(_ operation: Operation) {
        if case .running(let body, _) = state.withLock({ $0 }) { body.cancel(operation) }
    }

    /// Raises the urgency and the priority of the task to those of the operation, which has been
    /// promoted while it executes.
    override func promote(_ operation: Operation) {
        guard case .running(let body, let task) = state.withLock({ $0 }) else { return }
        body.raise(operation, to: operation.urgency)
        guard #available(macOS 26, *), let task, let priority = operation.taskPriority,
            !isDriven.load(ordering: .relaxed)
        else { return }
        task.escalatePriority(to: priority)
    }

    func end() {
        change(to: .ended)
        prepared?.run(nil)
    }

    /// Prepares for another start.
    override func prepareAgain() { change(to: .pending) }

    /// Ends the prepared task of an operation that will not be started.
    func abandon() { prepared?.run(nil) }
}

extension Operation {
    /// The operation's task run, if a task was created together with the operation.
    final var preparedRun: Unmanaged<TaskRun>? {
        // No other class is the task of an operation.
        guard let run = taskRun.map({ Unmanaged<TaskRun>.fromOpaque($0.toOpaque()) }),
            run._withUnsafeGuaranteedRef({ $0.isPrepared })
        else { return nil }
        return run
    }
}
