/// A task that was made early, to inherit the task-local values of its maker, and runs something later.
///
/// Its first job is held back until there is something to run, so one that has nothing to do yet costs the
/// workers nothing.
///
/// Unchecked: `task` is set before anybody else sees this.
final class PreparedTask: ImmediateTask, @unchecked Sendable {
    typealias Work = nonisolated(nonsending) @Sendable () async -> Void

    private struct Told {
        /// Nil if there is nothing left to run.
        let work: Work?
        let isLast: Bool
    }

    private struct State {
        /// Its first job, until it has something to do.
        var job: UnownedJob?
        var waiting: UnsafeContinuation<Told, Never>?
        var told: Told?
        var isClosed = false
    }

    private let state = Locked(State())
    private(set) var task: Task<Void, Never>?
    /// What it runs on if that may have to be a driver.
    let bodyExecutor: BodyExecutor?

    /// Nil outside tasks, where there is nothing to inherit.
    static func inheritingTaskLocals() -> PreparedTask? {
        withUnsafeCurrentTask { $0 == nil } ? nil : PreparedTask()
    }

    /// - Parameter mayBeDriven: whether it may have to run for a driver.
    init(mayBeDriven: Bool = true) {
        bodyExecutor = mayBeDriven && BodyExecutor.areNeeded ? BodyExecutor() : nil
        super.init()
        let loop: @Sendable () async -> Void = { [self] in
            while true {
                // As a rule it has been told when it begins.
                var told = state.withLock { $0.told.take() }
                if told == nil { told = await wait() }
                guard let told, let work = told.work else { return }
                await work()
                if told.isLast { return }
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
        // From here on it is enqueued when it is told, and not before.
        var backoff = Backoff()
        while state.withLock({ $0.waiting == nil }) { backoff.pause() }
    }

    /// Lets the task run `work`, or end; the first call that is the last counts. Up to where it is suspended
    /// for the first time it runs on the calling thread; of a task for drivers that holds for the first call.
    func run(isLast: Bool = true, _ work: Work?) {
        let told = Told(work: work, isLast: isLast || work == nil)
        let (job, waiting): (UnownedJob?, UnsafeContinuation<Told, Never>?) = state.withLock {
            state in
            guard !state.isClosed else { return (nil, nil) }
            state.isClosed = told.isLast
            if state.waiting == nil { state.told = told }
            return (state.job.take(), state.waiting.take())
        }
        if let job { return executor.run(job) }
        guard let waiting else { return }
        if bodyExecutor != nil { return waiting.resume(returning: told) }
        executor.runHere { waiting.resume(returning: told) }
    }

    nonisolated(nonsending) private func wait() async -> Told {
        await withUnsafeContinuation { continuation in
            let told: Told? = state.withLock { state in
                let told = state.told.take()
                if told == nil { state.waiting = continuation }
                return told
            }
            if let told { continuation.resume(returning: told) }
        }
    }
}
