import OperationsRuntime
import Synchronization

/// The task of an operation with an async body that has a task of its own, from before the task
/// exists until its end.
final class TaskRun: Sendable {
    private enum State {
        /// The body does not run.
        case idle
        /// The body, from just before it begins. Its task follows once the task is known, unless
        /// the task was made together with the operation.
        case starting(AsyncBody, Task<Void, Never>?)
        /// The body, from its beginning to its end.
        case running(AsyncBody, Task<Void, Never>?)
        case ended

        var body: AsyncBody? {
            switch self {
            case .idle, .ended: nil
            case .starting(let body, _), .running(let body, _): body
            }
        }
    }

    private let state = Locked(State.idle)
    private let isDriven = Atomic<Bool>(false)
    /// The time at which the task was started.
    let startTime = Atomic<UInt64>(0)
    /// A task that was created together with the operation and waits for its work.
    private let prepared: PreparedTask?

    init(prepared: PreparedTask? = nil) { self.prepared = prepared }

    private func change(to new: State) { state.replace(with: new) }

    /// Runs the body of an operation in its task.
    func start(for operation: Operation, work: @escaping @Sendable () async -> Void) {
        startTime.store(monotonicNanoseconds(), ordering: .relaxed)
        let queue = ThreadContext.currentQueue ?? TaskContext.queue
        let runsInPrepared =
            prepared != nil && !operation.needsOwnTask && !operation.mayRunAgain
        let executor = (runsInPrepared ? prepared?.executor : nil) ?? PoolExecutor()
        let body = AsyncBody(on: queue?.driver == nil ? executor : nil)
        // Publish the body before the task exists: the task may run on this thread, and for long,
        // before this method has a reference to it.
        change(to: .starting(body, nil))
        // Read the urgency after the body is published: a promotion from here on finds the body.
        executor.begins(with: operation.urgency)
        let (priority, name) = (operation.taskPriority, operation.taskName)
        let observer = operation.operationObserver
        let wholeWork: @Sendable () async -> Void = { [self] in
            await TaskContext.$body.withValue(body) {
                body.begin()
                enter(body, for: operation, of: queue)
                if let observer {
                    await observer.perform(work)
                } else {
                    await work()
                }
                leave(body)
                body.end()
            }
        }
        if let queue, let driver = queue.driver {
            return register(
                makeTask(for: operation, in: queue, driver: driver, wholeWork), of: body)
        }
        guard let prepared else {
            return register(
                PoolExecutor.start(wholeWork, name: name, priority: priority, on: executor),
                of: body)
        }
        if runsInPrepared {
            prepared.run(wholeWork)
            return register(prepared.task, of: body)
        }
        // A task that is created inside the prepared task inherits the same values and has its own
        // priority, whereas the priority of a child task could not be lower than that of its
        // creator. Besides, each of several attempts can then be cancelled separately.
        prepared.run(isLast: !operation.mayRunAgain) { [self] in
            register(
                PoolExecutor.start(wholeWork, name: name, priority: priority, on: executor),
                of: body)
        }
    }

    /// Records the task of a body, unless the body is over; in that case the next attempt may have
    /// begun.
    private func register(_ task: Task<Void, Never>?, of body: AsyncBody) {
        guard let task else { return }
        state.withLock { state in
            guard state.body === body else { return }
            switch state {
            case .idle, .ended: break
            case .starting: state = .starting(body, task)
            case .running: state = .running(body, task)
            }
        }
    }

    /// Records that the body begins, in its task.
    private func enter(_ body: AsyncBody, for operation: Operation, of queue: OperationQueue?) {
        body.enter(.passUnretained(operation), of: queue)
        state.withLock { state in
            if case .starting(let current, let task) = state, current === body {
                state = .running(body, task)
            }
        }
        // An earlier cancellation found no body that runs.
        if operation.isCancelled { cancel() }
    }

    /// Records that the body has ended. From here on no thread begins to cancel the task.
    private func leave(_ body: AsyncBody) {
        body.leave()
        state.withLock { state in
            if state.body === body { state = .idle }
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
        return PoolExecutor.start(work, name: operation.taskName, on: executor)
    }

    /// Whether there is a prepared task, with the task-local values of its creator.
    var isPrepared: Bool { prepared != nil }

    /// Whether the prepared task may have to run for a driver.
    var isForDrivers: Bool { prepared?.bodyExecutor != nil }

    /// Runs, in the prepared task and in place of the worker, the body of an operation that has
    /// begun.
    func runPrepared(_ operation: Operation, of claim: Claim, in queue: OperationQueue) {
        guard let prepared else { return }
        let body = AsyncBody(on: prepared.executor)
        let work = ThreadContext.withCurrent { thread in
            if let worker = thread.activeWorker { prepared.executor.stays(with: worker) }
            return ClaimedBody(
                .passUnretained(operation), of: claim, in: .passUnretained(queue), on: thread)
        }
        change(to: .starting(body, nil))
        if QualityOfServiceUse.isOn { prepared.executor.begins(with: operation.urgency) }
        prepared.run { [self] in
            await TaskContext.$body.withValue(body) {
                body.begin()
                let operation = work.operation.takeUnretainedValue()
                let queue = work.queue.takeUnretainedValue()
                enter(body, for: operation, of: queue)
                if queue.isObserved {
                    await operation.runRecorded(as: body, in: queue)
                } else {
                    await operation.runAsyncBlock(as: body)
                }
                leave(body)
                body.end()
            }
            if case .endOutside = work.end(mayRun: { _ in false }) { work.endOutside() }
        }
    }

    /// What is known of the task.
    var progress: TaskProgress {
        TaskProgress(
            start: startTime.load(ordering: .relaxed), state.withLock { $0.body }?.executor)
    }

    /// Cancels the task, if the body runs.
    func cancel() {
        let body: AsyncBody? = state.withLock { state in
            guard case .running(let body, _) = state else { return nil }
            body.markCancelled()
            return body
        }
        // Outside the lock: the call runs users' cancellation handlers.
        body?.cancelMarked()
    }

    /// Raises the urgency and the priority of the task to those of the operation, which has been
    /// promoted while it executes.
    func promote(_ operation: Operation) {
        let (body, task) = state.withLock { state -> (AsyncBody?, Task<Void, Never>?) in
            switch state {
            case .idle, .ended: (nil, nil)
            case .starting(let body, let task), .running(let body, let task): (body, task)
            }
        }
        guard let body else { return }
        body.executor?.offerAgain(body.raise(to: operation.urgency), operation.urgency)
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *), let task,
            let priority = operation.taskPriority,
            !isDriven.load(ordering: .relaxed)
        else { return }
        task.escalatePriority(to: priority)
    }

    func end() {
        change(to: .ended)
        prepared?.run(nil)
    }

    /// Prepares for another start.
    func prepareAgain() { change(to: .idle) }

    /// Ends the prepared task of an operation that will not be started.
    func abandon() { prepared?.run(nil) }
}
