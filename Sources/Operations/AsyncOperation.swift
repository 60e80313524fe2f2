import Synchronization

/// An operation whose work is an `async` function; it ends when the function returns or throws.
///
/// Give it a body, or subclass it and override `main() async throws`. It keeps its place in the queue's
/// width until the function has returned, so a queue limits asynchronous work as it does any other.
/// ``Operation/cancel()`` cancels the task in which the function runs. The task runs on the same worker threads as operations do.
///
/// An operation that is made inside a task carries that task's task-local values into its body.
open class AsyncOperation: Operation, @unchecked Sendable {
    private enum Progress {
        case pending
        case running(Task<Void, Never>)
        case ended((any Error)?)
    }

    private let body: (@Sendable () async throws -> Void)?
    private let progress = Protected(Progress.pending)
    /// When it was started.
    let startTime = Atomic<UInt64>(0)
    /// A task made together with the operation, which waits to be told to run it.
    private let prepared: PreparedTask?

    /// Makes an operation for a subclass that overrides `main() async throws`.
    public override init() {
        self.body = nil
        self.prepared = PreparedTask.inheritingTaskLocals()
        super.init()
    }

    /// Makes an operation that runs a function.
    public init(_ body: @escaping @Sendable () async throws -> Void) {
        self.body = body
        self.prepared = PreparedTask.inheritingTaskLocals()
        super.init()
    }

    deinit {
        prepared?.run(nil)
    }

    /// The work; override it. The default runs the body given to the initialiser, or else the `main()`
    /// that is not `async`, in case a subclass overrides that one.
    open func main() async throws {
        if let body {
            try await body()
        } else {
            let synchronous: () -> Void = main
            synchronous()
        }
    }

    /// What the work threw; nil while it has not ended, and if it returned.
    public var error: (any Error)? {
        progress.withLock { if case .ended(let error) = $0 { error } else { nil } }
    }

    /// True: the work goes on after `start()` has returned.
    public override var isAsynchronous: Bool { true }

    /// Starts the work in a task of its own and returns.
    public override func start() {
        guard beginExecuting() else { return }
        startTime.store(monotonicNanoseconds(), ordering: .relaxed)
        let body = AsyncBody(self, in: ThreadContext.currentQueue ?? TaskContext.queue)
        let work: @Sendable () async -> Void = { [self] in
            await TaskContext.$body.withValue(body) {
                body.begin()
                await run()
                body.end()
            }
        }
        let task = makeTask(for: work)
        let isRunning = progress.withLock { progress in
            guard case .pending = progress else { return false }
            progress = .running(task)
            return true
        }
        // A cancellation that came before the task was known found nothing to cancel.
        if isRunning, isCancelled { task.cancel() }
    }

    override var runsOnItsThread: Bool { false }

    /// A task with the priority that goes with the operation's quality of service.
    private func makeTask(for work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let priority = taskPriority
        guard let prepared else { return PoolExecutor.start(work, priority: priority) }
        guard let priority else { return prepared.run(work) }
        // That task was made with the priority of its maker; a child can have its own.
        return prepared.run {
            await withTaskGroup { $0.addTask(priority: priority, operation: work) }
        }
    }

    /// Nil if tasks have it anyway, and if the operation was started by hand. What was only inferred does
    /// not count before anybody in the process uses qualities: it would cost another task.
    private var taskPriority: TaskPriority? {
        let quality = status.quality
        guard queueReference.load(ordering: .relaxed) != nil,
            QualityOfServiceUse.isOn || quality.property != .default
        else { return nil }
        return quality.taskPriority
    }

    override func promoteTask() {
        guard #available(macOS 26, *), let priority = taskPriority else { return }
        let task: Task<Void, Never>? = progress.withLock {
            if case .running(let task) = $0 { task } else { nil }
        }
        task?.escalatePriority(to: priority)
    }

    /// Asks the work to stop: the task that runs it is cancelled.
    open override func cancel() {
        super.cancel()
        let task: Task<Void, Never>? = progress.withLock {
            if case .running(let task) = $0 { task } else { nil }
        }
        task?.cancel()
    }

    private func run() async {
        var thrown: (any Error)?
        do {
            try await runMain()
        } catch {
            thrown = error
        }
        progress.withLock { $0 = .ended(thrown) }
        finish()
    }
}

extension AsyncOperation {
    /// Runs `main()` with what is to be in force meanwhile.
    private func runMain() async throws {
        guard let progress = TaskContext.queue?.activeProgress else { return try await main() }
        let unit = progress.makeUnit()
        defer { unit.completedUnitCount = 1 }
        try await unit.performAsCurrent(withPendingUnitCount: 1) { try await main() }
    }
}

/// A task that was made early, to inherit the task-local values of its maker, and runs something later.
private final class PreparedTask: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Work?, Never>)
        case told(Work?)
    }

    typealias Work = @Sendable () async -> Void

    private let state: StateBox
    private let task: Task<Void, Never>

    private final class StateBox: Sendable {
        let state = Protected(State.idle)

        func tell(_ work: Work?) {
            let continuation: CheckedContinuation<Work?, Never>? = state.withLock { state in
                switch state {
                case .idle:
                    state = .told(work)
                    return nil
                case .waiting(let continuation):
                    state = .told(nil)
                    return continuation
                case .told:
                    return nil
                }
            }
            continuation?.resume(returning: work)
        }

        func wait() async -> Work? {
            await withCheckedContinuation { continuation in
                let told: Work?? = state.withLock { state in
                    guard case .told(let work) = state else {
                        state = .waiting(continuation)
                        return nil
                    }
                    // Not kept: the work holds the operation, which holds this.
                    state = .told(nil)
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
        self.task = Task(executorPreference: PoolExecutor.shared) { await state.wait()?() }
    }

    /// Lets the task run `work`, or end; the first call counts.
    @discardableResult
    func run(_ work: Work?) -> Task<Void, Never> {
        state.tell(work)
        return task
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

/// The body of an operation, for the task that runs it.
///
/// Other tasks that the body makes inherit it, and may outlive the operation: they must neither keep the
/// operation nor be taken for its body.
final class AsyncBody: Sendable {
    let queue: OperationQueue?
    private let running: Protected<Running?>

    private struct Running {
        let operation: AsyncOperation
        var task: UInt?
    }

    init(_ operation: AsyncOperation, in queue: OperationQueue?) {
        self.queue = queue
        running = Protected(Running(operation: operation))
    }

    /// The current task is the one that runs it.
    func begin() {
        let task = TaskContext.currentTask
        running.withLock { $0?.task = task }
    }

    func end() {
        let ended = running.withLock { $0.take() }
        withExtendedLifetime(ended) {}
    }

    /// The operation, if the current task is the one that runs it.
    var operation: AsyncOperation? {
        guard let task = TaskContext.currentTask else { return nil }
        return running.withLock { $0?.task == task ? $0?.operation : nil }
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
    static var operation: AsyncOperation? { body?.operation }
}
