import Dispatch
import Operations

/// Runs jobs of tasks on threads of its own, as many as there are jobs, so that a job that blocks
/// holds back no other one.
///
/// The protocol: `arrived` is signalled once for each job in the list, after the job is there; so
/// whoever has waited for it finds a job. `free` counts the threads that wait or will wait next: a
/// thread counts from its making, or from the end of a job, to the taking of a job. Whoever adds a
/// job makes a thread if there are more jobs now than free threads. So there is a free thread for
/// each job in the list, whichever of them takes it.
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
