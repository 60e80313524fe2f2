import OperationsRuntime
import Synchronization

/// The executor of one body, on behalf of the driver of its queue.
///
/// An executor that was made early (`PreparedTask`) does not know its queue yet. The executor
/// passes what it gets before that to the pool.
package final class BodyExecutor: DrivenBody {
    private struct Home {
        let driver: any QueueDriver
        let name: String
        var isBegun: Bool
    }

    /// Whether there has ever been a driver in this process. Only then do tasks that are made early
    /// need such an executor.
    private static let driversExist = Atomic<Bool>(false)
    package static func driverWasMade() { driversExist.store(true, ordering: .relaxed) }
    static var areNeeded: Bool { driversExist.load(ordering: .relaxed) }

    private let home = Locked<Home?>(nil)

    /// The driver's name for the operation.
    package var name: String { home.withLock { $0?.name } ?? "" }

    /// Makes the executor pass the pieces of the operation's body to a driver.
    ///
    /// - Parameter isBegun: whether the operation's task is about to run on the calling thread, and
    ///   need not be enqueued for that.
    func move(
        to driver: any QueueDriver, for operation: Operation, in queue: OperationQueue,
        isBegun: Bool
    ) {
        let new = Home(
            driver: driver, name: driver.name(of: operation, in: queue), isBegun: isBegun)
        home.withLock { $0 = new }
        driver.begins(self)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let home = home.withLock { home in
            let before = home
            home?.isBegun = true
            return before
        }
        if let home {
            home.driver.enqueue(job, of: self, isFirst: !home.isBegun)
        } else {
            WorkerPool.submit(.block { [self] in run(job) })
        }
    }

    /// Runs a piece of the body on the calling thread.
    package func run(_ job: UnownedJob) {
        job.runSynchronously(on: asUnownedTaskExecutor())
        ThreadContext.performEpilogue()
    }
}
