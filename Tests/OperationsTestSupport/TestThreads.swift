import Dispatch
import OperationsRuntime

/// Runs the jobs of tasks on its own threads, one thread for each job, so that a job that blocks
/// delays no other job.
///
/// The protocol: `enqueue` signals `arrived` once for each job, after it has added the job to the
/// list. So a thread that returns from the wait finds a job. `free` counts the threads that wait or
/// are about to wait: a thread counts from its creation, or from the end of a job, until it takes a
/// job. `enqueue` starts a thread if the list now has more jobs than there are free threads. So
/// there is a free thread for each job in the list.
final class TestThreads: TaskExecutor {
    static let shared = TestThreads()

    private struct State {
        var jobs: [UnownedJob] = []
        var free = 0
    }

    private let state = Locked(State())
    private let arrived = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let needsThread = state.withLock { state in
            state.jobs.append(job)
            guard state.jobs.count > state.free else { return false }
            state.free += 1
            return true
        }
        if needsThread { startTestThread { self.serve() } }
        arrived.signal()
    }

    private func serve() {
        while true {
            arrived.wait()
            let job = state.withLock { state in
                state.free -= 1
                return state.jobs.removeFirst()
            }
            job.runSynchronously(on: asUnownedTaskExecutor())
            state.withLock { $0.free += 1 }
        }
    }
}
