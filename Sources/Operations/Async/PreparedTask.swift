/// A task that was made early, to inherit the task-local values of its maker, and runs something later.
///
/// Its first job is held back until there is something to run, so one that has nothing to do yet costs the
/// workers nothing.
///
/// Unchecked: `task` is set before anybody else sees this.
final class PreparedTask: ImmediateTask, @unchecked Sendable {
    typealias Work = @Sendable () async -> Void

    private struct State {
        /// Its first job, until it has something to do.
        var job: UnownedJob?
        var waiting: UnsafeContinuation<Work?, Never>?
        /// What it runs next; nil in it to end.
        var told: Work??
        var isLast = false

        mutating func takeTold() -> Work?? {
            guard let told else { return nil }
            self.told = isLast ? .some(nil) : nil
            return told
        }
    }

    private let state = Protected(State())
    private(set) var task: Task<Void, Never>?
    /// What it runs on if that may have to be a driver.
    let executor: BodyExecutor?

    /// Nil outside tasks, where there is nothing to inherit.
    static func inheritingTaskLocals() -> PreparedTask? {
        withUnsafeCurrentTask { $0 == nil } ? nil : PreparedTask()
    }

    private override init() {
        executor = BodyExecutor.areNeeded ? BodyExecutor() : nil
        super.init()
        let loop: @Sendable () async -> Void = { [self] in
            while let work = await next() { await work() }
        }
        guard let executor else {
            let job = PoolExecutor.shared.firstJob {
                task = Task(executorPreference: PoolExecutor.shared, operation: loop)
            }
            state.withLock { $0.job = job }
            return
        }
        task = PoolExecutor.start(loop, on: executor)
        // From here on it is enqueued when it is told, and not before.
        var backoff = Backoff()
        while state.withLock({ $0.waiting == nil }) { backoff.pause() }
    }

    /// Lets the task run `work`, or end; the first call that is the last counts. Up to where it is suspended
    /// for the first time it runs on the calling thread.
    func run(isLast: Bool = true, _ work: Work?) {
        let (job, waiting): (UnownedJob?, UnsafeContinuation<Work?, Never>?) = state.withLock {
            state in
            guard !state.isLast else { return (nil, nil) }
            state.isLast = isLast
            // Not kept for one that waits: the work holds the operation, which holds this.
            if state.waiting == nil {
                state.told = .some(work)
            } else if isLast {
                state.told = .some(nil)
            }
            return (state.job.take(), state.waiting.take())
        }
        if let job { return PoolExecutor.shared.run(job) }
        waiting?.resume(returning: work)
    }

    nonisolated(nonsending) private func next() async -> Work? {
        // As a rule it has been told when it begins.
        if let told = state.withLock({ $0.takeTold() }) { return told }
        return await withUnsafeContinuation { continuation in
            let told: Work?? = state.withLock { state in
                let told = state.takeTold()
                if told == nil { state.waiting = continuation }
                return told
            }
            if let told { continuation.resume(returning: told) }
        }
    }
}
