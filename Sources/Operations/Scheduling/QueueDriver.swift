import Synchronization

/// Runs the operations of its queues in place of the workers, one event at a time, and decides
/// their order. See DrivenQueues.md.
///
/// The methods are called with no lock held, on any thread.
package protocol QueueDriver: AnyObject, Sendable {
    /// Called when the queue has an operation to start, which `takeNext()` returns. Not called
    /// again before `takeNext()` is called.
    func offer(_ queue: OperationQueue)
    /// Returns the operation's name for a list of events that people read.
    func name(of operation: Operation, in queue: OperationQueue) -> String
    /// Called when an operation is being started whose body goes on by itself, in pieces.
    func begins(_ body: BodyExecutor)
    /// Called when a piece of a body must be run, by `body.run(_:)`.
    ///
    /// - Parameter isFirst: whether the start of the operation includes the piece.
    func enqueue(_ job: UnownedJob, of body: BodyExecutor, isFirst: Bool)
    /// Called when a completion block must be run.
    func submit(_ block: @escaping @Sendable () -> Void, of operation: Operation)
    /// Runs the blocks of one operation, in any order. All of them have been run on return.
    func runAll(_ blocks: [@Sendable () -> Void], of operation: Operation)
}

/// An operation that a driver has taken from its queue and that holds its slot there.
package struct TakenOperation: Sendable {
    package let operation: Operation
    package let queue: OperationQueue

    /// Runs the operation on the calling thread. An async body runs up to where it first waits.
    package func run() { operation.runClaimed(in: queue) }
}

extension OperationQueue {
    /// Takes the operation that comes next in the order of the queue; nil if there is none left.
    package final func takeNext() -> TakenOperation? {
        // A queue with a driver gives its operations out one by one, never a batch.
        switch claim(Batch(), for: .driver) {
        case .single(let reference):
            return TakenOperation(operation: reference.takeRetainedValue(), queue: self)
        case .refused(let reference):
            reference.takeRetainedValue().notifyObservers()
            return nil
        case .none, .batch: return nil
        }
    }

    /// Whether a second slot may take an operation before the operation that took the first slot
    /// begins.
    package final var canTakeSeveral: Bool {
        snapshot { state in
            state.readyCount > 1 && (state.width < 0 || state.running + 1 < state.width)
        }
    }

    /// Whether the queue is suspended or has a width of 0, and so starts nothing.
    package final var isOnHold: Bool { snapshot { $0.isSuspended || $0.width == 0 } }

    /// All unfinished operations, barriers included, in the order in which they were added.
    package final var unfinished: [Operation] {
        snapshot { $0.operations(includingBarriers: true) }
    }
}

extension Operation {
    /// The operation's place in its queue's ring while the operation is there. Operations that were
    /// added later have higher places.
    package final var placeInQueue: Int { place }

    package final var isBarrier: Bool { status.has(.barrier) }

    package final var isAtWork: Bool { status.isAtWork }

    /// Has the driver run the completion block, or a worker if there is no driver.
    final func submit(
        _ completionBlock: @escaping @Sendable () -> Void, to driver: (any QueueDriver)?
    ) {
        if let driver {
            driver.submit(completionBlock, of: self)
        } else {
            WorkerPool.shared.submit(.block(completionBlock, max(urgency, .usual)))
        }
    }
}

/// The executor of one body, on behalf of the driver of its queue.
///
/// An executor that was made early (`PreparedTask`) does not know its queue yet. The executor
/// passes what it gets before that to the pool.
package final class BodyExecutor: TaskExecutor {
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
            WorkerPool.shared.submit(.block { [self] in run(job) })
        }
    }

    /// Runs a piece of the body on the calling thread.
    package func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}

/// The thread that runs everything for a driver.
package enum DrivenThread {
    /// Runs `body` with the calling thread marked as driven. Nothing that `body` calls may block.
    package static func perform<Result>(_ body: () -> Result) -> Result {
        let context = ThreadContext.current
        let before = context.isDriven
        context.isDriven = true
        defer { context.isDriven = before }
        return body()
    }

    package static var isCurrent: Bool { ThreadContext.existing?.isDriven == true }

    /// Stops the program if the calling thread, which is about to block, runs everything for a
    /// driver.
    static func refuseToBlock(for target: @autoclosure () -> String = "something") {
        guard isCurrent else { return }
        let operation = ThreadContext.operationsInside.last ?? TaskContext.operation
        misuse(
            "\(operation?.label ?? "an operation") blocks the thread of its test scheduler to wait for "
                + "\(target()), but that thread runs everything else as well and would never get to "
                + "it: write await, or let what comes after it be an operation that depends on it")
    }
}
