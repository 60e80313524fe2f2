import OperationsRuntime

/// A task that is created early, to inherit the task-local values of its creator, and that runs its
/// work later.
///
/// The first job of the task is held back until there is work, so an idle task costs the workers
/// nothing.
///
/// Unchecked: `task` is set before any other thread sees this object.
final class PreparedTask: @unchecked Sendable {
    typealias Work = nonisolated(nonsending) @Sendable () async -> Void

    private struct Assignment {
        /// The work; nil if the task has to end.
        let work: Work?
        let isLast: Bool
    }

    private struct State {
        /// The first job of the task, until there is work.
        var job: UnownedJob?
        var waiting: UnsafeContinuation<Void, Never>?
        /// What the task has not taken yet. More than one if the task is on its way from one
        /// assignment to the next.
        var assignments = FIFO<Assignment>()
        var isClosed = false
    }

    private let state = Locked(State())
    /// The executor of the task.
    let executor = PoolExecutor()
    private(set) var task: Task<Void, Never>?
    /// The executor of the task if a driver may have to run the task.
    let bodyExecutor: BodyExecutor?

    /// Creates a prepared task. Returns nil where there is nothing to inherit: outside tasks and
    /// outside operations.
    ///
    /// In a block there is no task, but there may be values that the block has set, which a task
    /// inherits like those of a task. Whether there are any cannot be asked. On other threads
    /// without a task such values are rare, and a task for each body costs too much there.
    static func inheritingTaskLocals() -> PreparedTask? {
        guard
            ThreadContext.currentTask != nil || ThreadContext.existing?.isInsideOperation == true
        else { return nil }
        return PreparedTask()
    }

    /// - Parameter mayBeDriven: Whether the task may have to run for a driver.
    init(mayBeDriven: Bool = true) {
        bodyExecutor = mayBeDriven && BodyExecutor.areNeeded ? BodyExecutor() : nil
        let loop: @Sendable () async -> Void = { [self] in
            while true {
                // Usually the work is set before the task begins.
                var assignment = state.withLock { $0.assignments.popFirst() }
                if assignment == nil {
                    await waitForAssignment()
                    assignment = state.withLock { $0.assignments.popFirst() }
                }
                guard let assignment, let work = assignment.work else { return }
                await work()
                if assignment.isLast { return }
            }
        }
        guard let bodyExecutor else {
            let job = executor.firstJob {
                task = Task(executorPreference: executor, operation: loop)
            }
            state.withLock { $0.job = job }
            return
        }
        task = PoolExecutor.start(loop, on: bodyExecutor)
        // From here on the task is enqueued only by a call of `run`.
        var backoff = Backoff()
        while state.withLock({ $0.waiting == nil }) { backoff.pause() }
    }

    /// Passes `work` to the task, which performs all work in the order of the calls, or ends the
    /// task if `work` is nil. Calls after one with `isLast`, or with no work, have no effect.
    ///
    /// The task runs on the calling thread up to its first suspension. Of a task for drivers, that
    /// holds for the first call.
    func run(isLast: Bool = true, _ work: Work?) {
        let assignment = Assignment(work: work, isLast: isLast || work == nil)
        let (job, waiting): (UnownedJob?, UnsafeContinuation<Void, Never>?) = state.withLock {
            state in
            guard !state.isClosed else { return (nil, nil) }
            state.isClosed = assignment.isLast
            state.assignments.append(assignment)
            return (state.job.take(), state.waiting.take())
        }
        if let job { return executor.run(job) }
        guard let waiting else { return }
        if bodyExecutor != nil { return waiting.resume() }
        executor.runHere { waiting.resume() }
    }

    // The continuation does not carry the assignment: the thread sanitizer would report a race. If
    // a continuation is resumed before its task has suspended, the runtime orders the two without
    // telling the sanitizer.
    nonisolated(nonsending) private func waitForAssignment() async {
        await withUnsafeContinuation { continuation in
            let isSet = state.withLock { state in
                if state.assignments.isEmpty { state.waiting = continuation }
                return !state.assignments.isEmpty
            }
            if isSet { continuation.resume() }
        }
    }
}
