import OperationsRuntime
import Synchronization

/// An operation with a result.
///
/// The body is a function, `async` or not, or a subclass's `main()`. Its return value is the
/// operation's ``value``; an error that it throws is the operation's failure. `queue.add { … }`
/// makes an operation and adds it.
///
/// ```swift
/// let download = TypedOperation { try await fetch(url) }
/// let picture = TypedOperation(after: download) { bytes in try decode(bytes) }
/// ```
///
/// An `async` body keeps its slot of the queue's width until it has returned, so a queue limits
/// asynchronous work as it does any other. ``Operation/cancel()`` cancels the task in which the
/// body runs. The task runs on the same worker threads as operations do. An operation with an
/// `async` body that is made inside a task, or inside an operation, carries the task-local values
/// of that code into its body.
open class TypedOperation<Output: Sendable>: Operation, TaskBody, @unchecked Sendable {
    // Unchecked: the thread that makes the operation sets `body`; later only the thread that runs
    // or ends the operation touches `body` and writes `output`. Other threads read `output` only
    // after they have seen in the state that the operation has finished. So no two accesses
    // overlap, and the two properties need no exclusivity checks at run time, which would cost time
    // at each release.

    private typealias AsyncFunction = nonisolated(nonsending) @Sendable () async throws -> Output

    private enum Body {
        case function(@Sendable () throws -> Output)
        /// A function that is called without a change of executor.
        case asyncFunction(AsyncFunction)
    }

    /// The body; nil once the operation has left its queue, and if a subclass overrides `main()`.
    @exclusivity(unchecked)
    private var body: Body?
    /// The task of an async body.
    private let task: TaskWord
    @exclusivity(unchecked)
    private var output = StoredOutput<Output>()
    /// The place that made the operation. Set before other threads can see the operation.
    @exclusivity(unchecked)
    @usableFromInline
    final var site = CallSite()

    /// Makes an operation for a subclass that overrides `main() async throws`.
    public override init() {
        task = Self.task()
        super.init()
    }

    /// Makes an operation that runs a function on a worker thread.
    public init(body: @escaping @Sendable () throws -> Output) {
        self.body = .function(body)
        task = TaskWord(isAsync: false)
        super.init()
        if isOfLibraryClass { useFastPath() }
    }

    /// Makes an operation that runs an async function.
    public init(body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output) {
        self.body = .asyncFunction(body)
        task = Self.task()
        super.init()
        useFastPathUnlessDriven()
    }

    /// - Parameter inheriting: false for a queue that itself provides the operations' task-local
    ///   values.
    init(
        inheriting: Bool,
        body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
    ) {
        self.body = .asyncFunction(body)
        task = inheriting ? Self.task() : TaskWord(isAsync: true)
        super.init()
        useFastPathUnlessDriven()
    }

    /// Makes a task that inherits the task-local values of the current task, if there is one.
    private static func task() -> TaskWord {
        if let prepared = PreparedTask.inheritingTaskLocals() {
            TaskWord(TaskRun(prepared: prepared))
        } else {
            TaskWord(isAsync: true)
        }
    }

    private func useFastPathUnlessDriven() {
        let isForDrivers = task.run?._withUnsafeGuaranteedRef { $0.isForDrivers } ?? false
        if isOfLibraryClass, !isForDrivers { useFastPath(.asynchronous) }
    }

    /// Whether the class is this one and not a subclass. A look-up of the class `TypedOperation` of
    /// this `Output` would take longer.
    private var isOfLibraryClass: Bool { _getSuperclass(type(of: self)) == Operation.self }

    deinit {
        // The usual case: the body has run, and its result is a trivial value that holds no other
        // object.
        let run = task.takeRun()
        if case .none = body, run == nil, _isPOD(Output.self) { return output.remove() }
        ThreadContext.releasing {
            run?.abandon()
            body = nil
            output.remove()
        } later: {
            (body, output.take(), run.map(AbandonedRun.init))
        }
    }

    // MARK: The result

    /// The result, without waiting for it.
    ///
    /// - Throws: the error of the body; ``OperationCancellation`` with the reason once the
    ///   operation is cancelled, even if its body returns a value after that;
    ///   ``OperationResultError`` if there is no result yet.
    public final var result: Output {
        get throws {
            let state = status
            guard state.phase == .finished || state.outcome == .cancelled else {
                throw OperationResultError.notFinished(operation: label)
            }
            switch state.outcome {
            case .succeeded:
                if let output = output.value { return output }
                // A subclass whose work returns nothing may have ended by other means.
                if let nothing = () as? Output { return nothing }
                throw OperationResultError.noOutput(operation: label)
            case .failed:
                if let error { throw error }
                throw OperationResultError.noOutput(operation: label)
            case .failedUpstream, .cancelled:
                throw OperationCancellation(
                    operation: label, reason: cancellationReason ?? .requested)
            }
        }
    }

    /// The result, once the operation has finished; suspends the calling task until then.
    ///
    /// Cancelling the task does not end the wait: cancel the operation to make it end early, or
    /// wait with a limit (``value(within:)``).
    ///
    /// - Throws: as ``result``; ``OperationMisuse`` if the wait could never end, and
    ///   ``OperationsDiagnostics/mistakePolicy`` lets the program go on.
    public final var value: Output {
        get async throws {
            if status.phase != .finished {
                if let misuse = await waitInTask() { throw misuse }
            } else {
                companionOfWait()?.waitEnded()
            }
            return try result
        }
    }

    /// Returns the result if the operation finishes within a time limit; suspends the calling task
    /// until then.
    ///
    /// ```swift
    /// let answer = try await search.value(within: .seconds(2))
    /// ```
    ///
    /// The operation goes on when the wait has ended, and its result is there later. To end the
    /// operation as well, give it a ``OperationTrait/timeout(_:)`` or cancel it. The cancellation
    /// of the calling task ends the wait at once, too.
    ///
    /// - Parameter limit: how long to wait at most, by the clock of the operation's queue.
    /// - Throws: ``OperationWaitTimeout`` after the limit, `CancellationError` if the calling task
    ///   is cancelled; otherwise as ``result``.
    public final func value(within limit: Duration) async throws -> Output {
        let isInTime = await finished(within: limit, endsWithTask: true)
        guard isInTime || status.phase == .finished else {
            try Task.checkCancellation()
            throw OperationWaitTimeout(operation: label, limit: limit)
        }
        return try result
    }

    // MARK: Running

    /// Performs the work; override it. An override need not be `async`.
    open func main() async throws -> Output {
        if case .asyncFunction(let body) = body { return try await body() }
        // A subclass of an operation without a result may override the other `main()`.
        let synchronous: () -> Void = main
        synchronous()
        guard let nothing = () as? Output else {
            misuse(
                "\(label) has no work: give it a body, or override main() async throws -> "
                    + "\(Output.self)")
        }
        return nothing
    }

    /// Runs the body, if it is not async.
    open override func main() { runBlock() }

    override func runBlock() {
        guard case .function(let body) = body else { return }
        do {
            output.set(try body())
        } catch {
            fail(error)
        }
    }

    override func conclude() {
        guard task.isAsync else { return super.conclude() }
        task.run?._withUnsafeGuaranteedRef { $0.end() }
        finish()
    }

    override var keepsBody: Bool { body != nil || task.run != nil }

    override func releaseBody() {
        body = nil
        task.run?._withUnsafeGuaranteedRef { $0.end() }
    }

    /// Starts the work; an async body runs in a task of its own and may go on after this method has
    /// returned.
    public override func start() {
        guard task.isAsync else { return super.start() }
        guard beginExecuting() else { return }
        startTask()
    }

    func startTask() {
        guard task.isAsync else { return }
        task.run { TaskRun() }.start(for: self) { [self] in await runTask() }
    }

    nonisolated(nonsending) override func runAsyncBlock(as running: any RunningBody) async {
        guard case .asyncFunction(let body) = body else { return }
        // No other class is the body of a task.
        let running = unsafeDowncast(running, to: AsyncBody.self)
        // A task of the operation's own is known already.
        let isShared = task.run == nil
        if isShared { enterSharedTask(running) }
        do {
            output.set(try await body())
        } catch {
            fail(error)
        }
        if isShared { task.end(.passUnretained(running)) }
    }

    private func enterSharedTask(_ running: AsyncBody) {
        task.begin(.passUnretained(running))
        if QualityOfServiceUse.isOn { running.executor?.begins(with: urgency) }
        // An earlier cancellation found no body.
        if isCancelled { cancelTask() }
    }

    var isPrepared: Bool {
        task.run?._withUnsafeGuaranteedRef { $0.isPrepared } ?? false
    }

    func runPrepared(of claim: Claim, in queue: OperationQueue) -> Bool {
        guard let run = task.run?.takeUnretainedValue(), run.isPrepared else { return false }
        run.runPrepared(self, of: claim, in: queue)
        return true
    }

    private func runTask() async {
        do {
            if let queue = TaskContext.queue, let progress = progress(in: queue), !mayRunAgain {
                let unit = beginUnit(of: progress)
                defer { completeUnit() }
                output.set(
                    try await unit.performAsCurrent(withPendingUnitCount: 1) { try await main() })
            } else {
                output.set(try await main())
            }
        } catch {
            fail(error)
        }
        bodyReturned()
    }

    /// Whether the work may go on after ``start()`` has returned: true for async bodies and for
    /// subclasses.
    public override var isAsynchronous: Bool { task.isAsync }

    /// Asks the work to stop; cancels the task of an async body.
    open override func cancel() {
        super.cancel()
        if task.isAsync { ThreadContext.whileStoppingBody(of: self) { cancelTask() } }
    }

    private func cancelTask() {
        switch task.find({ $0.markCancelled() }) {
        case .nothing: break
        // Outside the lock of the word: the calls run users' cancellation handlers.
        case .body(let body): body.cancelMarked()
        case .run(let run): run.cancel()
        }
    }

    func promoteTask() {
        var waiting = 0
        switch task.find({ waiting = $0.raise(to: urgency) }) {
        case .nothing: break
        case .body(let body): body.executor?.offerAgain(waiting, urgency)
        case .run(let run): run.promote(self)
        }
    }

    func prepareTaskAgain() { task.run?._withUnsafeGuaranteedRef { $0.prepareAgain() } }

    var taskProgress: TaskProgress? {
        switch task.find() {
        case .nothing: nil
        case .body(let body): body.progress
        case .run(let run): run.progress
        }
    }

    func recordTaskStart(_ time: UInt64) {
        switch task.find() {
        case .nothing: break
        case .body(let body): body.startTime.store(time, ordering: .relaxed)
        case .run(let run): run.startTime.store(time, ordering: .relaxed)
        }
    }

    override var replacesStart: Bool { false }

    override final var taskBody: (any TaskBody)? { task.isAsync ? self : nil }
}

extension TypedOperation: PlacedOperation {
    /// Sets the place that made the operation, and returns the operation.
    @inlinable
    @inline(__always)
    final func at(_ file: StaticString, _ line: UInt) -> TypedOperation<Output> {
        site = CallSite(file, line)
        return self
    }
}

/// Abandons the task of an operation when this object is released.
private final class AbandonedRun {
    private let run: TaskRun

    init(_ run: TaskRun) { self.run = run }

    deinit { run.abandon() }
}
