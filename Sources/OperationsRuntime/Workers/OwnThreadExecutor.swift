/// Runs its tasks on one thread of its own, which ends together with the executor.
///
/// For tasks that must go on however many threads a program blocks: all of Swift's own pool, or all
/// that the workers may have. A task that has the executor to itself may block the thread.
///
/// An executor with one task needs no other owner than that task.
package final class OwnThreadExecutor: TaskExecutor {
    private let thread: JobThread

    /// - Parameter name: the name of the thread, in at most 15 bytes.
    package init(named name: String) { thread = JobThread(name) }

    deinit { thread.end() }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // If no thread can be made, late is better than never.
        if !thread.add(job, of: self) { PoolExecutor.timers.enqueue(job) }
    }
}

/// The thread of an executor. The thread retains the executor only while it has jobs, so that the
/// last reference to the executor may be released on the thread itself.
private final class JobThread: Sendable {
    private struct State {
        var jobs = FIFO<(job: UnownedJob, executor: OwnThreadExecutor)>()
        /// Nil until the first job came; then whether the system has made a thread.
        var exists: Bool?
        var isOver = false
    }

    private let name: String
    private let state = Locked(State())
    private let changes = Latch()

    init(_ name: String) { self.name = name }

    /// Returns false if there is no thread.
    func add(_ job: UnownedJob, of executor: OwnThreadExecutor) -> Bool {
        let exists = state.withLock { state in
            let exists = state.exists ?? startThread(named: name) { self.run() }
            state.exists = exists
            if exists { state.jobs.append((job, executor)) }
            return exists
        }
        changes.open()
        return exists
    }

    func end() {
        state.withLock { $0.isOver = true }
        changes.open()
    }

    private func run() {
        while true {
            // What comes after this opens the latch again.
            changes.close()
            let (next, isOver) = state.withLock { ($0.jobs.popFirst(), $0.isOver) }
            if let next {
                next.job.runSynchronously(on: next.executor.asUnownedTaskExecutor())
            } else if isOver {
                return
            } else {
                changes.wait()
            }
        }
    }
}
