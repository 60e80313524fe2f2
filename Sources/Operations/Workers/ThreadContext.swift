import Synchronization

/// The state of the library that belongs to one thread.
///
/// Unchecked: an instance is only ever accessed by the thread that it belongs to.
package final class ThreadContext: @unchecked Sendable {
    private static let lastNumber = Atomic<Int>(0)

    /// What the thread is inside.
    struct Frame {
        /// The address of the operation that the thread runs. It stays alive because it is running.
        var operation: UnsafeMutableRawPointer?
        /// The address of the queue that runs the operation.
        var queue: UnsafeMutableRawPointer?
        /// The task that was the current task when the thread entered the operation, if there was
        /// one.
        var task: UInt?
    }

    private static let pointer = ThreadLocalPointer { context in
        guard let context else { return }
        Unmanaged<ThreadContext>.fromOpaque(context).release()
    }

    var frame = Frame()
    /// The frames around the current one. A wait, or the work of a main queue, may run other
    /// operations inside an operation.
    var outer: [Frame] = []
    /// The claim of which the thread runs a block. No operation was made for the block, or another
    /// thread made one.
    var blockClaim: UnsafeMutableRawPointer?
    /// The rank of the quality of service of the block that the thread runs.
    var blockRank = 0
    /// The worker of this thread, while the pool counts that worker as active.
    ///
    /// Not checked for overlapping accesses: each access is brief and calls nothing.
    @exclusivity(unchecked)
    var activeWorker: Worker?
    /// What this thread does once it is outside of the operations that it ends.
    let epilogue = Epilogue()
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
    @exclusivity(unchecked)
    var runners: [any IdleRunner] = []
    /// The most idle runners of a thread, which is how many bodies of one batch can be suspended.
    static let mostRunners = 32
    var hasCapacityForRunner: Bool { runners.count < Self.mostRunners }

    /// Ends the idle runners, because the thread is about to end.
    func dismissRunners() {
        while let runner = runners.popLast() { runner.dismiss() }
    }

    /// Set while the next job for the workers is kept in ``job``, see `PoolExecutor.firstJob(of:)`.
    @exclusivity(unchecked)
    var keepsJob = false
    @exclusivity(unchecked)
    var job: UnownedJob?
    /// Set while `startChecked()` calls `start()`.
    var checkedStart: CheckedStart?
    /// Set while the thread runs the work of a `QueueDriver`, one item after the other.
    var isDriven = false
    let isFirst = isFirstThread
    /// The number of the thread among those that have used the library, from 1.
    ///
    /// A thread that acts as a worker has the number of the worker's own thread, so that records do
    /// not tell the two apart.
    package internal(set) var number = lastNumber.add(1, ordering: .relaxed).newValue
    /// The operation that the thread is about to add, if that may not be ready at once, with its
    /// mark.
    ///
    /// The mark is needed because a later operation may have the address of an earlier one.
    var lastAdded: (operation: UInt, mark: UInt64)?
    /// An object that the timeline keeps for the thread, retained by the thread.
    package var traceBuffer: Unmanaged<AnyObject>?
    /// The address of the operation whose `cancel()` this thread calls only to stop the current
    /// attempt.
    var stopped: UnsafeMutableRawPointer?
    /// The objects that act before this thread blocks, the outermost first.
    var blockObservers: [any BlockObserver] = []
    /// The addresses of the finished operations that this thread is about to remove from their
    /// queues.
    var leaving: [UnsafeMutableRawPointer] = []

    deinit { traceBuffer?.release() }

    /// The thread in pictures.
    package var displayName: String {
        activeWorker.map { "worker \($0.id.number)" }
            ?? (isFirst ? "main thread" : "thread \(number)")
    }

    /// Performs the epilogue of a thread that is not a worker's. A worker does that at the end of
    /// its work item.
    package static func performEpilogue() {
        guard let existing, existing.activeWorker == nil else { return }
        existing.epilogue.perform()
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

    /// Identifies the current task among the tasks that exist at the same time: the bits of its
    /// `UnsafeCurrentTask`.
    static var currentTask: UInt? {
        withUnsafeCurrentTask { $0.map { unsafeBitCast($0, to: UInt.self) } }
    }
}

/// A task that waits on a thread for work.
protocol IdleRunner: AnyObject, Sendable {
    /// Ends the task.
    func dismiss()
}

/// An object that acts before its thread blocks, perhaps until something ends that the object is
/// about to end.
protocol BlockObserver: AnyObject {
    func threadWillBlock()
}
