/// Lets workers run the operations of a queue inside of tasks that have the task-local values and the priority of the
/// one that made this.
///
/// Only a task can inherit, and only from the one that makes it. So there is always a task here that is
/// free, or being made: whoever takes the last makes the next in it, before it begins to work. The task runs on
/// the thread of the worker that came with the queue's reference, in its place; so the pool knows how urgent
/// that is.
final class TaskLocalExecutor: Sendable {
    private struct State {
        /// Those that wait for work.
        var free: [PreparedTask] = []
        /// References with which workers came while the next task was being made.
        var held: [WorkItem] = []
        var isClosed = false
    }

    private let state = Locked(State())

    /// To be made in the task that is inherited from.
    init() {
        // The operation around the one that makes this is not the one that runs here.
        TaskContext.$body.withValue(nil) { add(PreparedTask(mayBeDriven: false)) }
    }

    private enum Found {
        case free(PreparedTask, isLast: Bool)
        /// There will be one; then the reference goes to the pool again.
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
        // There is nobody left to inherit from.
        case .closed: Worker.runInTask(queue, offered: urgency)
        case .free(let task, let isLast):
            task.run(isLast: false) { [self] in
                if isLast { add(PreparedTask(mayBeDriven: false)) }
                Worker.runInTask(queue, offered: urgency)
            }
            add(task)
        }
    }

    /// There is one more task that waits for work, unless there are as many as can be at work.
    private func add(_ task: PreparedTask) {
        let (isKept, held) = state.withLock { state -> (Bool, [WorkItem]) in
            guard !state.isClosed, state.free.count < WorkerPool.shared.cores else {
                return (false, [])
            }
            state.free.append(task)
            defer { state.held = [] }
            return (true, state.held)
        }
        if !isKept { task.run(nil) }
        for item in held { WorkerPool.shared.submit(item) }
    }

    /// There is nobody left to inherit from. What operations have added to the queue they run in, and goes on
    /// after that, runs without tasks of these.
    func close() {
        let (free, held) = state.withLock { state in
            state.isClosed = true
            defer { (state.free, state.held) = ([], []) }
            return (state.free, state.held)
        }
        for task in free { task.run(nil) }
        for item in held { WorkerPool.shared.submit(item) }
    }
}
