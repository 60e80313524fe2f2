import OperationsRuntime

/// Runs the operations of a queue inside tasks that have the task-local values and the priority of
/// the task that made this object.
///
/// A task can inherit only from the task that makes it. So there is always a task here that is
/// free, or being made: a worker that takes the last free task lets that task make the next one,
/// before it begins to work. The task runs in place of the worker that came with a reference to the
/// queue, on that worker's thread; so the pool knows how urgent the work is.
final class TaskLocalExecutor: QueueTasks {
    private struct State {
        /// Tasks that wait for work.
        var free: [PreparedTask] = []
        /// References to the queue with which workers came while the next task was being made.
        var held: [WorkItem] = []
        var isClosed = false
    }

    private let state = Locked(State())

    /// Must be called in the task whose values and priority the operations inherit.
    init() {
        // The operation around the calling code is not the operation that runs in these tasks.
        TaskContext.$body.withValue(nil) { add(PreparedTask(mayBeDriven: false)) }
    }

    private enum Found {
        case free(PreparedTask, isLast: Bool)
        /// A task is being made; it sends the reference to the pool again.
        case none
        case closed
    }

    /// Runs the best operations of a queue in one of the tasks, on the calling worker.
    func run(_ queue: OperationQueue, offered urgency: Urgency) {
        let found = state.withLock { state -> Found in
            if state.isClosed { return .closed }
            if let task = state.free.popLast() {
                return .free(task, isLast: state.free.isEmpty)
            }
            state.held.append(.queue(queue, urgency))
            return .none
        }
        switch found {
        case .none: break
        // No task is left to inherit from.
        case .closed: queue.runInTask(offered: urgency)
        case .free(let task, let isLast):
            task.run(isLast: false) { [self] in
                if isLast { add(PreparedTask(mayBeDriven: false)) }
                queue.runInTask(offered: urgency)
            }
            add(task)
        }
    }

    /// Adds a task that waits for work, unless there are as many as can work at the same time.
    /// Submits the references that waited for a task.
    private func add(_ task: PreparedTask) {
        let (isKept, held) = state.withLock { state -> (Bool, [WorkItem]) in
            guard !state.isClosed, state.free.count < WorkerPool.cores else {
                return (false, [])
            }
            state.free.append(task)
            defer { state.held = [] }
            return (true, state.held)
        }
        if !isKept { task.run(nil) }
        for item in held { WorkerPool.submit(item) }
    }

    /// Ends the free tasks: no task is left to inherit from. Operations that other operations have
    /// added to this queue, and that go on after this call, run without these tasks.
    func close() {
        let (free, held) = state.withLock { state in
            state.isClosed = true
            defer { (state.free, state.held) = ([], []) }
            return (state.free, state.held)
        }
        for task in free { task.run(nil) }
        for item in held { WorkerPool.submit(item) }
    }
}
