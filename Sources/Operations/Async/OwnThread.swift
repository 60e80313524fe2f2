import OperationsRuntime
import Synchronization

/// A thread made for one operation, with the niceness that the operation's thread priority needs.
///
/// The worker that claimed the operation waits for the thread, which acts as that worker. See
/// WorkerThreads.md.
final class OwnThread: RequestedThread {
    private let niceness: Int32
    private let worker: Worker
    /// What to run. The monitor thread also has a reference to this object, and must not be the
    /// thread that releases the body.
    private let body: Locked<(@Sendable () -> Void)?>
    /// Has the task-local values of the task that the worker runs, if there is one.
    private let task: PreparedTask?
    /// Opened when the thread has run the body, or when the system has refused the thread.
    private let isOver = Latch()

    private init(niceness: Int32, worker: Worker, _ body: @escaping @Sendable () -> Void) {
        self.niceness = niceness
        self.worker = worker
        self.body = Locked(body)
        task = ThreadContext.currentTask == nil ? nil : PreparedTask(mayBeDriven: false)
    }

    /// Runs `body` on a thread made for it, and returns when `body` has returned.
    ///
    /// The calling worker runs `body` itself if the system refuses the thread.
    @inline(never)
    static func run(niceness: Int32, _ body: @escaping @Sendable () -> Void) {
        guard let worker = ThreadContext.current.activeWorker else { return body() }
        let thread = OwnThread(niceness: niceness, worker: worker, body)
        WorkerPool.start(thread)
        thread.isOver.wait()
        guard let refused = thread.body.withLock({ $0.take() }) else { return }
        thread.task?.run(nil)
        refused()
    }

    /// Starts the thread. Called by the monitor thread.
    func start() {
        if !startThread({ self.main() }) { isOver.open() }
    }

    private func main() {
        _ = setNiceness(niceness)
        nameThread("Operations-\(worker.id.number)")
        if let body = body.withLock({ $0.take() }) {
            worker.lendIdentity(to: .current) {
                if let task { task.run { body() } } else { body() }
            }
        }
        ThreadContext.current.dismissRunners()
        isOver.open()
    }
}
