import Synchronization

/// What the calling thread is doing for the library.
///
/// Unchecked: an instance is only ever touched by the thread it belongs to.
final class ThreadContext: @unchecked Sendable {
    private struct Frame {
        let operation: Unmanaged<Operation>?
        let queue: Unmanaged<OperationQueue>?
        let task: UInt?
    }

    private static let pointer = ThreadLocalPointer { context in
        guard let context else { return }
        Unmanaged<ThreadContext>.fromOpaque(context).release()
    }

    /// The operation that this thread runs; alive, for it is running.
    var operation: Unmanaged<Operation>?
    private var queue: Unmanaged<OperationQueue>?
    /// The task that was the current one when the thread came to this, if one was.
    private var task: UInt?
    /// What it was in before: a wait, or a main queue's work, may run others inside of an operation.
    private var outer: [Frame] = []
    /// The worker that this thread is, while the pool counts it as active.
    var activeWorker: Worker?
    /// How many releases of this thread are inside of each other, see `releasing(_:later:)`, and what the
    /// outermost one is to release.
    ///
    /// Not checked for overlapping accesses: each takes a moment, in which nothing is called.
    @exclusivity(unchecked)
    var nestedReleases = 0
    @exclusivity(unchecked)
    var laterReleases: [Any] = []
    /// The address at which half of the thread's stack is used, once it was asked for; 0 if it is not known.
    var stackMiddle: UInt?
    /// How many calls of this thread are inside of each other, see `nesting(_:)`, and what the outermost one
    /// is to call.
    var nestedCalls = 0
    var laterCalls = FIFO<() -> Void>()
    /// Tasks without work that are with this thread; workers have some.
    var runners: [AsyncRunner] = []
    /// As many as bodies of one batch can be suspended.
    static let mostRunners = 32
    var hasRoomForRunner: Bool { runners.count < Self.mostRunners }
    /// Set while the next job for the workers is kept here, see `PoolExecutor.firstJob(of:)`.
    var keepsJob = false
    var job: UnownedJob?
    /// Set while `startChecked()` calls `start()`.
    var checkedStart: CheckedStart?
    /// Set while the thread runs things for a `QueueDriver`, one after the other.
    var isDriven = false
    /// Set when the thread is too nice for work that it was given, and cannot become less so: it ends.
    var cannotRestorePriority = false
    /// The niceness as far as it is known; only workers know it.
    var niceness: Int32 = ThreadNiceness.usual.load(ordering: .relaxed)
    /// Whether it is another one than usual: then each operation has to be looked at before it runs.
    var hasUnusualNiceness = false
    /// Lower niceness than usual was refused: not asked for again.
    var isPriorityRaiseRefused = false
    let isFirst = isFirstThread
    /// How many edges its searches for cycles have looked at.
    var orderSteps = 0
    /// What it notes of the operations that it runs.
    let notes = ThreadTraceBuffer()
    /// The operation of which this thread calls `cancel()` to stop no more than its attempt.
    var stopsBodyOf: Unmanaged<Operation>?
    /// What this thread is cancelling, the outermost first.
    var cancelRounds: [CancelRound] = []
    /// Operations that have finished, and that this thread is about to take out of their queues.
    var leaving: [Unmanaged<Operation>] = []

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

    /// Runs a part of an operation, on whatever thread.
    ///
    /// - Parameters:
    ///   - operation: nil to set ``operation`` from inside.
    ///   - queue: the queue that runs it; nil to stay in the one that the caller is in.
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

    /// The operation that this thread runs inside of the current task: started there by hand, it is further inside
    /// than the one of which that task is the body.
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

    /// Calls what may cancel the operation in earnest, while its body is being stopped.
    static func whileStoppingBody(of operation: Operation, _ body: () -> Void) {
        guard let existing, isStoppingBody(of: operation) else { return body() }
        let stopped = existing.stopsBodyOf
        existing.stopsBodyOf = nil
        body()
        existing.stopsBodyOf = stopped
    }

    /// The operations that the calling thread is inside of, the outermost first.
    static var operationsInside: [Operation] {
        guard let existing else { return [] }
        let frames = existing.outer.map(\.operation) + [existing.operation]
        return frames.compactMap { $0?.takeUnretainedValue() }
    }

    /// The operations of `queue` that the calling thread is inside of, the outermost first.
    static func operations(of queue: OperationQueue) -> [Operation] {
        guard let existing else { return [] }
        let frames =
            existing.outer
            + [Frame(operation: existing.operation, queue: existing.queue, task: existing.task)]
        let reference = Unmanaged.passUnretained(queue).toOpaque()
        return frames.filter { $0.queue?.toOpaque() == reference }
            .compactMap { $0.operation?.takeUnretainedValue() }
    }

    /// Whether the calling thread is about to take the operation out of its queue.
    static func isLeaving(_ operation: Operation) -> Bool {
        existing?.leaving.contains { $0.toOpaque() == operation.opaque } == true
    }
}

extension Operation {
    fileprivate var opaque: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
}
