import Synchronization

/// The task of an operation with an async body, from before it exists to its end.
///
/// Unchecked: `body` is touched by who makes it, and then by who runs it.
final class TaskRun<Output: Sendable>: @unchecked Sendable {
    private enum State {
        case pending
        case running(Task<Void, Never>)
        /// In a runner, which runs others after it.
        case runningInBody(AsyncBody)
        case ended
    }

    /// Nil if a subclass overrides `main()`, and when it has run.
    private(set) var body: (@Sendable () async throws -> Output)?
    private let state = Protected(State.pending)
    /// When it was started.
    let startTime = Atomic<UInt64>(0)
    private let isDriven = Atomic<Bool>(false)
    /// A task made together with the operation, which waits to be told to run it.
    private let prepared: PreparedTask?

    /// - Parameter inherits: false if it will be started in a task that has what is to be inherited.
    init(_ body: (@Sendable () async throws -> Output)?, inherits: Bool = true) {
        self.body = body
        prepared = inherits ? PreparedTask.inheritingTaskLocals() : nil
    }

    /// Runs the work of an operation in its task.
    func start(for operation: Operation, work: @escaping @Sendable () async -> Void) {
        startTime.store(monotonicNanoseconds(), ordering: .relaxed)
        let queue = ThreadContext.currentQueue ?? TaskContext.queue
        let body = AsyncBody(operation, in: queue)
        let wholeWork: @Sendable () async -> Void = {
            await TaskContext.$body.withValue(body) {
                body.begin()
                await work()
                body.end()
            }
        }
        guard let prepared, operation.mayRunAgain, queue?.driver == nil else {
            return register(makeTask(for: operation, in: queue, wholeWork), of: operation)
        }
        let priority = operation.taskPriority
        // That task stays for further attempts: each has one of its own, which can be cancelled alone.
        prepared.run(isLast: false) { [self] in
            register(PoolExecutor.start(wholeWork, priority: priority), of: operation)
        }
    }

    private func register(_ task: Task<Void, Never>, of operation: Operation) {
        let isRunning = state.withLock { state in
            guard case .pending = state else { return false }
            state = .running(task)
            return true
        }
        // A cancellation that came before the task was known found nothing to cancel.
        if isRunning, operation.isCancelled { task.cancel() }
    }

    private func makeTask(
        for operation: Operation, in queue: OperationQueue?,
        _ work: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        var priority = operation.taskPriority
        if let queue, let driver = queue.driver {
            // A driver does not mind it, and must not be given a task more or less because of it.
            priority = nil
            isDriven.store(true, ordering: .relaxed)
            if let executor = prepared?.executor, !operation.mayRunAgain {
                executor.move(to: driver, for: operation, in: queue, isBegun: false)
            } else {
                // Made before there was any driver. The task that runs the driver is as a rule the one that made
                // the operation, too; so the new one inherits the same values.
                prepared?.run(nil)
                let executor = BodyExecutor()
                executor.move(to: driver, for: operation, in: queue, isBegun: true)
                return PoolExecutor.start(work, on: executor)
            }
        }
        guard let prepared else { return PoolExecutor.start(work, priority: priority) }
        guard let priority else { return prepared.run(work) }
        // That task was made with the priority of its maker; a child can have its own.
        return prepared.run {
            await withTaskGroup { $0.addTask(priority: priority, operation: work) }
        }
    }

    /// Whether there is a task that carries what its maker had.
    var isPrepared: Bool { prepared != nil }

    /// The work is about to be done in a task that others share.
    func begin(in body: AsyncBody, for operation: Operation) {
        state.withLock { $0 = .runningInBody(body) }
        if operation.isCancelled { body.cancel(operation) }
    }

    func cancel(_ operation: Operation) {
        switch state.withLock({ $0 }) {
        case .running(let task): task.cancel()
        case .runningInBody(let body): body.cancel(operation)
        case .pending, .ended: break
        }
    }

    @available(macOS 26, *)
    func escalate(to priority: TaskPriority) {
        guard !isDriven.load(ordering: .relaxed) else { return }
        if case .running(let task) = state.withLock({ $0 }) {
            task.escalatePriority(to: priority)
        }
    }

    func end() {
        state.withLock { $0 = .ended }
        body = nil
        prepared?.run(nil)
    }

    /// It is going to be started once more.
    func prepareAgain() { state.withLock { $0 = .pending } }

    /// It will not be started.
    func abandon() { prepared?.run(nil) }
}

/// A task that was made early, to inherit the task-local values of its maker, and runs something later.
private final class PreparedTask: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Work?, Never>)
        case told(Work?, isLast: Bool)
    }

    typealias Work = @Sendable () async -> Void

    private let state: StateBox
    /// Where it waits to be told for the first time; nil where there may be drivers.
    private let hold: Hold?
    private let task: Task<Void, Never>
    /// What it runs on if that may have to be a driver.
    let executor: BodyExecutor?

    /// Keeps the first job of a task, so that one which has nothing to do yet costs the workers nothing.
    private final class Hold: TaskExecutor {
        private enum State {
            /// The task is being made.
            case empty
            case holding(UnownedJob)
            /// The task runs like any other.
            case open
        }

        private let state = Protected(State.empty)

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            let isOpen = state.withLock { state in
                guard case .empty = state else { return true }
                state = .holding(job)
                return false
            }
            if isOpen { PoolExecutor.shared.enqueue(job) }
        }

        /// The task has something to do: up to where it waits for something it runs on the calling thread.
        func open() {
            let job: UnownedJob? = state.withLock { state in
                defer { state = .open }
                if case .holding(let job) = state { return job }
                return nil
            }
            job?.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    private final class StateBox: Sendable {
        let state = Protected(State.idle)

        func tell(_ work: Work?, isLast: Bool) {
            let continuation: CheckedContinuation<Work?, Never>? = state.withLock { state in
                switch state {
                case .idle:
                    state = .told(work, isLast: isLast)
                    return nil
                case .waiting(let continuation):
                    state = isLast ? .told(nil, isLast: true) : .idle
                    return continuation
                case .told:
                    return nil
                }
            }
            continuation?.resume(returning: work)
        }

        var isWaiting: Bool {
            state.withLock { if case .waiting = $0 { true } else { false } }
        }

        func wait() async -> Work? {
            await withCheckedContinuation { continuation in
                let told: Work?? = state.withLock { state in
                    guard case .told(let work, let isLast) = state else {
                        state = .waiting(continuation)
                        return nil
                    }
                    // Not kept: the work holds the operation, which holds this.
                    state = isLast ? .told(nil, isLast: true) : .idle
                    return .some(work)
                }
                if let told { continuation.resume(returning: told) }
            }
        }
    }

    /// Nil outside tasks, where there is nothing to inherit.
    static func inheritingTaskLocals() -> PreparedTask? {
        withUnsafeCurrentTask { $0 == nil } ? nil : PreparedTask()
    }

    private init() {
        let state = StateBox()
        self.state = state
        let loop: @Sendable () async -> Void = {
            while let work = await state.wait() { await work() }
        }
        guard BodyExecutor.areNeeded else {
            let hold = Hold()
            (self.hold, executor) = (hold, nil)
            task = Task(executorPreference: hold, operation: loop)
            return
        }
        hold = nil
        let executor = BodyExecutor()
        self.executor = executor
        task = PoolExecutor.start(loop, on: executor)
        // From here on it is enqueued when it is told, and not before.
        var backoff = Backoff()
        while !state.isWaiting { backoff.pause() }
    }

    /// Lets the task run `work`, or end; the first call that is the last counts.
    @discardableResult
    func run(isLast: Bool = true, _ work: Work?) -> Task<Void, Never> {
        state.tell(work, isLast: isLast)
        hold?.open()
        return task
    }
}

extension Operation {
    /// The priority that goes with the quality of service. Nil if tasks have it anyway, and if the operation was
    /// started by hand. What was only inferred does not count before anybody in the process uses qualities: it
    /// would cost another task.
    var taskPriority: TaskPriority? {
        let quality = status.quality
        guard queueReference.load(ordering: .relaxed) != nil,
            QualityOfServiceUse.isOn || quality.property != .default
        else { return nil }
        return quality.taskPriority
    }
}

extension QualityOfServiceState {
    /// Nil for the one that tasks have anyway.
    fileprivate var taskPriority: TaskPriority? {
        switch QualityOfService(rank: rankInForce) {
        case .userInteractive, .userInitiated: .userInitiated
        case .default: nil
        case .utility: .utility
        case .background: .background
        }
    }
}

/// The body of an operation, for the task that runs it; a runner's runs several, one after the other.
///
/// Other tasks that the body makes inherit it, and may outlive the operation: they must neither keep the
/// operation nor be taken for its body.
final class AsyncBody: Sendable {
    let queue: OperationQueue?
    private let running: Protected<Running>

    private struct Running {
        var operation: Operation?
        var task: UInt?
        var isCancelled = false
        /// Who is cancelling the task; it must not end meanwhile.
        var cancellers = 0
    }

    init(_ operation: Operation, in queue: OperationQueue?) {
        self.queue = queue
        running = Protected(Running(operation: operation))
    }

    /// The current task is the one that runs it.
    func begin() {
        let task = TaskContext.currentTask
        running.withLock { $0.task = task }
    }

    /// The task goes on with another operation; false if it was cancelled for the one before.
    ///
    /// Decided in one step: somebody may still be about to cancel it for that one.
    func goOn(with operation: Operation) -> Bool {
        let (ended, goesOn) = running.withLock { running -> (Operation?, Bool) in
            guard !running.isCancelled else { return (nil, false) }
            defer { running.operation = operation }
            return (running.operation, true)
        }
        withExtendedLifetime(ended) {}
        return goesOn
    }

    func end() {
        let ended = running.withLock { $0.operation.take() }
        withExtendedLifetime(ended) {}
        var backoff = Backoff()
        while running.withLock({ $0.cancellers > 0 }) { backoff.pause() }
    }

    /// Cancels the task if it runs this operation; then it runs no other.
    func cancel(_ operation: Operation) {
        let task: UInt? = running.withLock { running in
            guard running.operation === operation, let task = running.task else { return nil }
            running.isCancelled = true
            running.cancellers += 1
            return task
        }
        guard let task else { return }
        // Without the lock: this calls handlers of users.
        unsafeBitCast(task, to: UnsafeCurrentTask.self).cancel()
        running.withLock { $0.cancellers -= 1 }
    }

    /// The operation, if the current task is the one that runs it.
    var operation: Operation? {
        guard let task = TaskContext.currentTask else { return nil }
        return running.withLock { $0.task == task ? $0.operation : nil }
    }
}

/// What an async body can ask about where it runs.
enum TaskContext {
    @TaskLocal static var body: AsyncBody?

    /// Tells the current task from others that live at the same time.
    static var currentTask: UInt? {
        withUnsafeCurrentTask { $0.map { unsafeBitCast($0, to: UInt.self) } }
    }

    static var queue: OperationQueue? { body?.queue }

    /// The operation of which the current task is the body.
    static var operation: Operation? { body?.operation }
}
