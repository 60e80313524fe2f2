import Synchronization

/// The state of the library that belongs to one thread.
///
/// Unchecked: an instance is only ever accessed by the thread that it belongs to.
@usableFromInline
package final class ThreadContext: @unchecked Sendable {
    private static let lastNumber = Atomic<Int>(0)

    fileprivate static let pointer = ThreadLocalPointer { context in
        guard let context else { return }
        Unmanaged<ThreadContext>.fromOpaque(context).release()
    }

    /// The worker of this thread, while the pool counts that worker as active.
    ///
    /// Not checked for overlapping accesses: each access is brief and calls nothing.
    @exclusivity(unchecked)
    @usableFromInline
    var worker: Worker? { didSet { jobs = worker.map { .passUnretained($0.jobs) } } }
    /// The jobs of ``worker``, which keeps them alive.
    @exclusivity(unchecked)
    private(set) var jobs: Unmanaged<WorkerJobs>?
    @inlinable package var activeWorker: Worker? { worker }
    /// What this thread does once it is outside of the operations that it ends.
    package let epilogue = Epilogue()
    /// The number of nested releases on this thread, see `releasing(_:later:)`, and the objects
    /// that the outermost release has to release.
    ///
    /// Not checked for overlapping accesses: each access is brief and calls nothing.
    @exclusivity(unchecked)
    @usableFromInline
    var nestedReleases = 0
    @exclusivity(unchecked)
    @usableFromInline
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
    private var runners: [any IdleRunner] = []
    /// The most idle runners of a thread, which is how many bodies of one claim can be suspended.
    static let mostRunners = 32
    package var hasCapacityForRunner: Bool { runners.count < Self.mostRunners }

    package func takeRunner() -> (any IdleRunner)? { runners.popLast() }

    package func addRunner(_ runner: any IdleRunner) { runners.append(runner) }

    /// Ends the idle runners, because the thread is about to end.
    package func dismissRunners() {
        while let runner = runners.popLast() { runner.dismiss() }
    }

    /// Set while the next job for the workers is kept in ``job``, see `PoolExecutor.firstJob(of:)`.
    @exclusivity(unchecked)
    var keepsJob = false
    @exclusivity(unchecked)
    var job: UnownedJob?

    /// Keeps a job if it is the next one. Returns whether it is.
    @inline(__always)
    func keeps(_ job: UnownedJob) -> Bool {
        guard keepsJob else { return false }
        keepsJob = false
        self.job = job
        return true
    }

    package let isFirst = isFirstThread
    /// The number of the thread among those that have used the library, from 1.
    ///
    /// A thread that acts as a worker has the number of the worker's own thread, so that records do
    /// not tell the two apart.
    package internal(set) var number = lastNumber.add(1, ordering: .relaxed).newValue
    /// An object that the timeline keeps for the thread, retained by the thread.
    package var traceBuffer: Unmanaged<AnyObject>?
    /// What the module above keeps for the thread, see ``state(orMake:)``; nil until it is made.
    ///
    /// Not checked for overlapping accesses: each access is brief and calls nothing.
    @exclusivity(unchecked)
    @usableFromInline
    var upperState: UnsafeMutableRawPointer?
    private var endUpperState: () -> Void = {}

    deinit {
        traceBuffer?.release()
        endUpperState()
    }

    /// Returns the state that the module above keeps for the thread. All calls in a process must
    /// name the same type.
    @inlinable
    @inline(__always)
    package func state<State>(orMake make: () -> State) -> UnsafeMutablePointer<State> {
        upperState?.assumingMemoryBound(to: State.self) ?? store(make())
    }

    @inline(never)
    @usableFromInline
    func store<State>(_ state: State) -> UnsafeMutablePointer<State> {
        let pointer = UnsafeMutablePointer<State>.allocate(capacity: 1)
        pointer.initialize(to: state)
        upperState = UnsafeMutableRawPointer(pointer)
        endUpperState = {
            pointer.deinitialize(count: 1)
            pointer.deallocate()
        }
        return pointer
    }

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

    @inlinable package static var existing: ThreadContext? {
        addressOfThreadContext().map {
            Unmanaged<ThreadContext>.fromOpaque($0).takeUnretainedValue()
        }
    }

    @inline(__always)
    static func withExisting<Result>(_ body: (ThreadContext?) -> Result) -> Result {
        guard let address = addressOfThreadContext() else { return body(nil) }
        return Unmanaged<ThreadContext>.fromOpaque(address)._withUnsafeGuaranteedRef { body($0) }
    }

    @inlinable package static var current: ThreadContext { existing ?? makeThreadContext() }

    @inlinable
    package static func isCurrent(_ context: Unmanaged<ThreadContext>?) -> Bool {
        context != nil && addressOfThreadContext() == context?.toOpaque()
    }

    @inlinable
    @inline(__always)
    package static func withCurrent<Result>(_ body: (ThreadContext) -> Result) -> Result {
        let pointer =
            addressOfThreadContext() ?? Unmanaged.passUnretained(makeThreadContext()).toOpaque()
        return Unmanaged<ThreadContext>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
    }

    /// Identifies the current task among the tasks that exist at the same time: the bits of its
    /// `UnsafeCurrentTask`.
    package static var currentTask: UInt? {
        withUnsafeCurrentTask { $0.map { unsafeBitCast($0, to: UInt.self) } }
    }
}

// Functions, because a static method of the class would need the metadata of the class at each call
// from another module.

/// Returns the context of the calling thread, if there is one.
@usableFromInline
func addressOfThreadContext() -> UnsafeMutableRawPointer? { ThreadContext.pointer.value }

@inline(never)
@usableFromInline
func makeThreadContext() -> ThreadContext {
    let context = ThreadContext()
    ThreadContext.pointer.value = Unmanaged.passRetained(context).toOpaque()
    return context
}

/// A task that waits on a thread for work.
package protocol IdleRunner: AnyObject, Sendable {
    /// Ends the task.
    func dismiss()
}
