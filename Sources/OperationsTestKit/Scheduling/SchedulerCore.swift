import Operations
import OperationsRuntime

/// The test scheduler as its queues and their operations see it.
///
/// Queues retain the core, and the core retains the queues that have an operation to start.
final class SchedulerCore: QueueDriver {
    private let state: Locked<SchedulerState>
    private let time = SchedulerTime()
    private let stepLimit: Int

    init(_ chooser: Chooser, stepLimit: Int) {
        BodyExecutor.driverWasMade()
        state = Locked(SchedulerState(chooser, time: time))
        self.stepLimit = stepLimit
    }

    // MARK: For queues and operations

    func offer(_ queue: OperationQueue) { state.withLock { $0.offered(queue) } }

    func name(of operation: Operation, in queue: OperationQueue) -> String {
        if let name = operation.name, !name.isEmpty { return "'\(name)'" }
        let number =
            "\(operation.isBarrier ? "barrier" : "operation") \(operation.placeInQueue + 1)"
        guard state.withLock({ $0.hasSeveralQueues }), let queue = queue.name else { return number }
        return "\(number) of '\(queue)'"
    }

    func begins(_ body: any DrivenBody) { state.withLock { $0.begins(body) } }

    func enqueue(_ job: UnownedJob, of body: any DrivenBody, isFirst: Bool) {
        let task = DrivenThread.isCurrent ? CurrentTask() : nil
        state.withLock { state in
            if isFirst || state.isRelayed(by: task, to: body) {
                state.arrivedInStep(SchedulerJob(job: job, executor: body))
            } else {
                state.arrived(SchedulerState.Piece(work: .job(job, body)))
            }
        }
    }

    func submit(_ block: @escaping @Sendable () -> Void, of operation: Operation) {
        let name = operation.name.map { "of '\($0)'" } ?? "block"
        state.withLock { $0.arrived(SchedulerState.Piece(work: .block(block, name: name))) }
    }

    func runAll(_ blocks: [@Sendable () -> Void], of operation: Operation) {
        let name = state.withLock { $0.currentName } ?? ""
        var rest = Array(blocks.enumerated())
        while !rest.isEmpty {
            let next = state.withLock { state in
                let next = rest.remove(at: state.choose(rest.count))
                state.happened(.block, "\(next.offset + 1) of \(name)")
                return next
            }
            next.element()
        }
    }

    func performOnMainActor(_ body: @Sendable () -> Void) {
        MainThread.performAndWait { DrivenThread.perform(body) }
    }

    // MARK: Waits of tasks

    /// How long a task waits before that is reported, if nothing runs the scheduler.
    private static let patience = Duration.seconds(1)

    func waitBegins(in queue: OperationQueue) {
        // What the scheduler runs may wait: other steps follow.
        if DrivenThread.isCurrent { return }
        let count = state.withLock { $0.isRunning ? nil : $0.runCount }
        guard let count else { return }
        _ = TimeSource.continuous.schedule(after: Self.patience, named: "a wait for a test") {
            [weak self, weak queue] in
            guard let self, let queue, queue.operationCount > 0,
                state.withLock({ $0.reportsWait(after: count) })
            else { return }
            OperationsDiagnostics.handler(.idleTestScheduler(queue: queue.label))
        }
    }

    // MARK: Making queues

    func makeQueue(name: String?, width: Int) -> OperationQueue {
        let number = state.withLock { $0.nextQueueNumber() }
        let queue = OperationQueue(
            driver: self, name: name ?? "queue \(number)", time: timeSource)
        queue.maxConcurrentOperationCount = width
        // The seed is the same in every run, because a schedule does not record how long a retry
        // waits.
        queue.random = RandomSource(seed: UInt64(number))
        state.withLock { $0.add(queue) }
        return queue
    }

    // MARK: Time

    var now: Duration { time.now }

    private var timeSource: TimeSource {
        TimeSource(
            now: { self.now },
            scheduler: { self.schedule(after: $0, named: $1, $2) })
    }

    /// - Parameter name: the name of the timer's step; nil for the name of the body that is
    ///   running.
    func sleep(until deadline: Duration, name: String? = nil) async throws {
        try Task.checkCancellation()
        let number = state.withLock { $0.newTimer() }
        let isOver = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isSet = state.withLock { state in
                    let running = DrivenThread.isCurrent ? state.current?.name : nil
                    return state.set(
                        SchedulerState.Timer(
                            number: number, deadline: max(deadline, state.now),
                            name: name ?? running ?? "of a task outside", continuation: continuation
                        ))
                }
                if !isSet { continuation.resume(returning: false) }
            }
        } onCancel: {
            state.withLock { $0.cancelTimer(number) }?.resume(returning: false)
        }
        state.withLock { $0.forgetTimer(number) }
        if !isOver { throw CancellationError() }
    }

    private func schedule(
        after duration: Duration, named name: String?, _ action: @escaping @Sendable () -> Void
    ) -> Task<Void, Never> {
        let deadline = now + duration.limitedToLongestTime
        return TimerExecutor(self).start {
            guard (try? await self.sleep(until: deadline, name: name ?? "of a queue")) != nil,
                !Task.isCancelled
            else { return }
            action()
        }
    }

    /// Runs a timer's action in the same step as the timer.
    private final class TimerExecutor: TaskExecutor {
        private let core: SchedulerCore

        init(_ core: SchedulerCore) { self.core = core }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = SchedulerJob(job: UnownedJob(job), executor: self)
            core.state.withLock { $0.arrivedInStep(job) }
        }

        func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
            if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
                return Task.immediate(executorPreference: self, operation: work)
            }
            return Task(executorPreference: self, operation: work)
        }
    }

    // MARK: Running

    /// Makes one step. Returns false if there is none to make.
    func runNextStep() -> Bool {
        driving { [self] in
            runRest()
            while let event = next(.none) {
                let isStep = perform(event)
                runRest()
                if isStep { return true }
            }
            return false
        }
    }

    /// Makes one step after another, as long as there are any.
    func run(_ patience: SchedulerState.Patience) throws(TestSchedulerError) {
        let isEndless = driving { [self] in
            runRest()
            var count = 0
            while count < stepLimit, let event = next(patience) {
                count += 1
                _ = perform(event)
                runRest()
            }
            if count < stepLimit, case .until(let end) = patience {
                state.withLock { $0.pass(to: end) }
            }
            return count == stepLimit
        }
        if isEndless {
            throw .stepLimitReached(
                stepCount: stepLimit, last: state.withLock { Array($0.steps.suffix(5)) })
        }
        if let (misfit, steps) = state.withLock({ state in state.misfit.map { ($0, state.steps) } })
        {
            throw .scheduleDoesNotFit(
                step: steps.count + 1, last: steps.last, decision: misfit.decision + 1,
                option: misfit.choice + 1, of: misfit.count)
        }
    }

    /// Decides what happens next; nil if nothing can.
    ///
    /// Nothing tells the scheduler that a body goes to the main actor, and comes back. So before
    /// time passes, and before the end, it waits for the main actor if any body may be there. Once
    /// one was, it waits before each step. If the main actor does not answer, the scheduler waits
    /// for it no more.
    private func next(_ patience: SchedulerState.Patience) -> SchedulerState.Event? {
        if state.withLock({ $0.mainActor == .met }) { settle() }
        if let event = state.withLock({ $0.next(.none) }) { return event }
        if state.withLock({ $0.mainActor != .silent }), !MainThread.isCurrent,
            unfinished.contains(where: { $0.operation.isAtWork })
        {
            settle()
            runRest()
            if let event = state.withLock({ $0.next(.none) }) {
                state.withLock { $0.metMainActor() }
                return event
            }
        }
        return state.withLock { $0.next(patience) }
    }

    private func settle() {
        if !MainThread.settle() { state.withLock { $0.mainActor = .silent } }
    }

    private func driving(_ body: @escaping @Sendable () -> Bool) -> Bool {
        guard state.withLock({ $0.begins() }) else {
            misuse(
                "a test scheduler is run while it is running, by what it runs or by another thread: run it "
                    + "in one place only")
        }
        defer { state.withLock { $0.ends() } }
        guard CurrentTask().isNone,
            #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
        else { return DrivenThread.perform(body) }
        // A job that belongs to no task can be told from a task only if it runs in the name of
        // another task: see `isRelayed`.
        let result = Locked<Bool?>(nil)
        _ = Task.immediate {
            let value = DrivenThread.perform(body)
            result.withLock { $0 = value }
        }
        guard let value = result.withLock({ $0 }) else {
            fatalError("unreachable: a task that begins at once has not ended")
        }
        return value
    }

    /// Runs the jobs that belong to the step just made, or to a call from outside.
    private func runRest() {
        while let job = state.withLock({ $0.takeFromStep() }) { job.run() }
        state.withLock { $0.stepEnded() }
    }

    /// Performs an event. Returns false if the event was not a step that anything but the scheduler
    /// can notice.
    private func perform(_ event: SchedulerState.Event) -> Bool {
        switch event {
        case .start(let queue):
            guard let operation = queue.takeNext() else { return false }
            begin(operation)
        case .begin(let operation): begin(operation)
        case .take(let queue):
            guard let operation = queue.takeNext() else { return false }
            let name = name(of: operation.operation, in: queue)
            state.withLock { state in
                state.took(operation, name)
                state.happened(.claim, name)
            }
            return false
        case .piece(let piece):
            switch piece.work {
            case .job(let job, let body):
                let name = body.name
                state.withLock { state in
                    state.happened(.resume, name, in: body)
                    state.outside = CurrentTask()
                }
                body.run(job)
            case .block(let block, let name):
                state.withLock { $0.happened(.completion, name) }
                block()
            }
        case .timer(let timer):
            state.withLock { $0.happened(.timer, timer.name) }
            timer.continuation.resume(returning: true)
        }
        return true
    }

    private func begin(_ taken: TakenOperation) {
        let name = name(of: taken.operation, in: taken.queue)
        let kind: TestScheduler.Step.Kind = taken.operation.isCancelled ? .leave : .start
        state.withLock { $0.happened(kind, name) }
        taken.run()
    }

    // MARK: Inspecting

    var hasBeenRun: Bool { state.withLock { $0.runCount > 0 } }
    var steps: [TestScheduler.Step] { state.withLock { $0.steps } }
    var log: [Guide] { state.withLock { $0.log } }
    var decisions: [Decision] { state.withLock { $0.decisions } }

    /// The unfinished operations of the scheduler's queues, in the order in which the queues were
    /// made.
    var unfinished: [(operation: Operation, queue: OperationQueue)] {
        state.withLock { $0.liveQueues }.flatMap { queue in
            queue.unfinished.map { ($0, queue) }
        }
    }

    // MARK: Discarding

    /// Ends what is left of a finished test, as far as cancelling can end it.
    func discard() {
        state.withLock { $0.stopRecording() }
        for queue in state.withLock({ $0.liveQueues }) { queue.cancelAllOperations() }
        _ = driving { [self] in
            runRest()
            for _ in 0..<10_000 {
                guard let event = state.withLock({ $0.next(.none) }) else { return true }
                _ = perform(event)
                runRest()
            }
            return false
        }
    }
}
