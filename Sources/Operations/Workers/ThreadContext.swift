import Synchronization

/// The state of the library that belongs to one thread.
///
/// Unchecked: an instance is only ever accessed by the thread that it belongs to.
package final class ThreadContext: @unchecked Sendable {
    private static let lastNumber = Atomic<Int>(0)

    private struct Frame {
        let operation: Unmanaged<Operation>?
        let queue: Unmanaged<OperationQueue>?
        let task: UInt?
    }

    private static let pointer = ThreadLocalPointer { context in
        guard let context else { return }
        Unmanaged<ThreadContext>.fromOpaque(context).release()
    }

    /// The operation that this thread runs. It stays alive because it is running.
    var operation: Unmanaged<Operation>?
    private var queue: Unmanaged<OperationQueue>?
    /// The task that was the current task when the thread entered ``operation``, if there was one.
    private var task: UInt?
    /// The frames around the current one. A wait, or the work of a main queue, may run other
    /// operations inside an operation.
    private var outer: [Frame] = []
    /// The worker of this thread, while the pool counts that worker as active.
    var activeWorker: Worker?
    /// The number of nested releases on this thread, see `releasing(_:later:)`, and the objects
    /// that the outermost release has to release.
    ///
    /// Not checked for overlapping accesses: each access is brief and calls nothing.
    @exclusivity(unchecked)
    var nestedReleases = 0
    @exclusivity(unchecked)
    var laterReleases: [Any] = []
    /// The address at which half of the thread's stack is used; nil until it is looked up, 0 if it
    /// is unknown.
    var stackMiddle: UInt?
    /// The number of nested calls on this thread, see `nesting(_:)`, and the calls that the
    /// outermost call has to make.
    var nestedCalls = 0
    var laterCalls = FIFO<() -> Void>()
    /// The idle runners that stay with this thread. Only workers have any.
    var runners: [AsyncRunner] = []
    /// The most idle runners of a thread, which is how many bodies of one batch can be suspended.
    static let mostRunners = 32
    var hasCapacityForRunner: Bool { runners.count < Self.mostRunners }

    /// Ends the idle runners, because the thread is about to end.
    func dismissRunners() {
        while let runner = runners.popLast() { runner.dismiss() }
    }

    /// Set while the next job for the workers is kept in ``job``, see `PoolExecutor.firstJob(of:)`.
    var keepsJob = false
    var job: UnownedJob?
    /// Set while `startChecked()` calls `start()`.
    var checkedStart: CheckedStart?
    /// Set while the thread runs the work of a `QueueDriver`, one item after the other.
    var isDriven = false
    let isFirst = isFirstThread
    /// The number of edges that searches for cycles on this thread have visited.
    var orderSteps = 0
    /// The number of the thread among those that have used the library, from 1.
    ///
    /// A thread that acts as a worker has the number of the worker's own thread, so that records do
    /// not tell the two apart.
    package internal(set) var number = lastNumber.add(1, ordering: .relaxed).newValue
    /// The operation that the thread is about to add, if that may not be ready at once, with its
    /// mark.
    ///
    /// The mark is needed because a later operation may have the address of an earlier one.
    var lastAdded: (operation: UInt, mark: PhaseTimestamp)?
    /// An object that the timeline keeps for the thread, retained by the thread.
    package var traceBuffer: Unmanaged<AnyObject>?
    /// The operation whose `cancel()` this thread calls only to stop the current attempt.
    var stopsBodyOf: Unmanaged<Operation>?
    /// The cancellations that this thread is performing, the outermost first.
    var cancelRounds: [CancelRound] = []
    /// The finished operations that this thread is about to remove from their queues.
    var leaving: [Unmanaged<Operation>] = []

    deinit { traceBuffer?.release() }

    /// The thread in pictures.
    package var displayName: String {
        activeWorker.map { "worker \($0.id.number)" }
            ?? (isFirst ? "main thread" : "thread \(number)")
    }

    static var existing: ThreadContext? {
        pointer.value.map { Unmanaged<ThreadContext>.fromOpaque($0).takeUnretainedValue() }
    }

    static var current: ThreadContext {
        if let existing { return existing }
        let context = ThreadContext()
        pointer.value = Unmanaged.passRetained(context).toOpaque()
        return context
    }

    static func isCurrent(_ context: Unmanaged<ThreadContext>?) -> Bool {
        context != nil && pointer.value == context?.toOpaque()
    }

    @inline(__always)
    static func withCurrent<Result>(_ body: (ThreadContext) -> Result) -> Result {
        let pointer = pointer.value ?? Unmanaged.passUnretained(current).toOpaque()
        return Unmanaged<ThreadContext>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
    }

    static var currentQueue: OperationQueue? { existing?.queue?.takeUnretainedValue() }

    /// Runs a part of an operation, on any thread.
    ///
    /// - Parameters:
    ///   - operation: The operation; nil if `run` sets ``operation`` itself.
    ///   - queue: The queue that runs the operation; nil to keep the caller's queue.
    func inside(_ operation: Operation?, of queue: OperationQueue? = nil, run: () -> Void) {
        if queue == nil, let operation, self.operation?.toOpaque() == .some(operation.opaque) {
            return run()
        }
        let before = Frame(operation: self.operation, queue: self.queue, task: task)
        let isNested = before.operation != nil
        if isNested { outer.append(before) }
        self.operation = operation.map { .passUnretained($0) }
        if let queue { self.queue = .passUnretained(queue) }
        task = TaskContext.currentTask
        run()
        self.operation = before.operation
        self.queue = before.queue
        task = before.task
        if isNested { outer.removeLast() }
    }

    /// The operation that this thread runs inside the current task. It was started there by hand,
    /// so it is nested more deeply than the operation whose body that task is.
    var operationOfTask: Operation? {
        guard let task, task == TaskContext.currentTask else { return nil }
        return operation?.takeUnretainedValue()
    }

    static func isInside(_ operation: Operation) -> Bool {
        guard let existing else { return false }
        return existing.operation?.toOpaque() == operation.opaque
            || existing.outer.contains { $0.operation?.toOpaque() == operation.opaque }
    }

    static func isStoppingBody(of operation: Operation) -> Bool {
        existing?.stopsBodyOf?.toOpaque() == .some(operation.opaque)
    }

    /// Calls a function that may really cancel the operation, while the body of the operation is
    /// being stopped.
    static func whileStoppingBody(of operation: Operation, _ body: () -> Void) {
        guard let existing, isStoppingBody(of: operation) else { return body() }
        let stopped = existing.stopsBodyOf
        existing.stopsBodyOf = nil
        body()
        existing.stopsBodyOf = stopped
    }

    /// The operations that the calling thread is inside, the outermost first.
    static var operationsInside: [Operation] {
        guard let existing else { return [] }
        let frames = existing.outer.map(\.operation) + [existing.operation]
        return frames.compactMap { $0?.takeUnretainedValue() }
    }

    /// Returns the operations of `queue` that the calling thread is inside, the outermost first.
    static func operations(of queue: OperationQueue) -> [Operation] {
        guard let existing else { return [] }
        let frames =
            existing.outer
            + [Frame(operation: existing.operation, queue: existing.queue, task: existing.task)]
        let reference = Unmanaged.passUnretained(queue).toOpaque()
        return frames.filter { $0.queue?.toOpaque() == reference }
            .compactMap { $0.operation?.takeUnretainedValue() }
    }

    /// Returns whether the calling thread is about to remove the operation from its queue.
    static func isLeaving(_ operation: Operation) -> Bool {
        existing?.leaving.contains { $0.toOpaque() == operation.opaque } == true
    }
}

extension Operation {
    fileprivate var opaque: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
}
