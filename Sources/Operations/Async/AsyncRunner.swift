import OperationsRuntime

/// A task that runs async bodies on a worker's thread, one after the other, for as long as none of
/// them suspends. Between claims the runner stays with the thread.
///
/// When a body suspends, the worker continues without the runner. The runner, wherever it is
/// resumed, ends the operation. The runner then stays with the worker on whose thread it is, if
/// that worker has few runners.
///
/// Unchecked: all properties are accessed only by the thread that the runner is with, or by the
/// task.
final class AsyncRunner: ImmediateTask, IdleRunner, @unchecked Sendable {
    private struct Work {
        let first: Unmanaged<Operation>
        let claim: Claim
        let queue: OperationQueue
    }

    /// Whether the task inherits the task-local values of the task that creates it, on behalf of
    /// the runner's first queue.
    private let inherits: Bool
    private var work: Work?
    /// The entry with which the worker has to continue.
    private var next: Entry?
    /// The continuation of the task while the runner waits for work.
    private var idle: UnsafeContinuation<Bool, Never>?

    private init(inherits: Bool) { self.inherits = inherits }

    /// Runs an operation that has begun, and then the following operations of its claim. Returns
    /// the entry with which the worker has to continue.
    static func run(
        _ first: Operation, of claim: Claim, in queue: OperationQueue
    ) -> Entry? {
        let thread = ThreadContext.current
        let inherits = queue.tasks != nil
        // No other class is an idle runner.
        let idle = inherits ? nil : thread.takeRunner()
        let runner =
            idle.map { unsafeDowncast($0, to: AsyncRunner.self) } ?? AsyncRunner(inherits: inherits)
        runner.work = Work(first: .passUnretained(first), claim: claim, queue: queue)
        guard runner.run(on: thread, of: claim, in: queue, runner.resume) else { return nil }
        let next = runner.next.take()
        if runner.idle != nil, thread.activeWorker != nil, thread.hasCapacityForRunner {
            thread.addRunner(runner)
        } else {
            runner.dismiss()
        }
        return next
    }

    private func resume() {
        executor.runHere {
            if let idle = idle.take() {
                idle.resume(returning: true)
            } else if inherits {
                Task(executorPreference: executor) { await self.serve() }
            } else {
                Task.detached(executorPreference: executor) { await self.serve() }
            }
        }
    }

    /// Ends the task of an idle runner.
    func dismiss() {
        guard let idle = idle.take() else { return }
        executor.runHere { idle.resume(returning: false) }
    }

    // MARK: The task

    nonisolated(nonsending) private func serve() async {
        while await runWork(), await hasWork() {}
    }

    /// Runs the assigned operations. Returns false if the task has been cancelled or must not stay
    /// with the current thread.
    nonisolated(nonsending) private func runWork() async -> Bool {
        guard let work = work.take() else { return false }
        let body = AsyncBody(work.first.takeUnretainedValue(), in: work.queue, on: executor)
        let detached = await TaskContext.$body.withValue(body) {
            body.begin()
            defer { body.end() }
            return await run(work, body)
        }
        guard let detached else {
            endTurn()
            return !inherits && !Task.isCancelled
        }
        // Out here the task is inside no operation, and may release the body.
        detached.takeRetainedValue().finish()
        guard !inherits, !Task.isCancelled, let here = ThreadContext.existing,
            here.activeWorker != nil, !here.operationState.isDriven, here.hasCapacityForRunner
        else { return false }
        here.addRunner(self)
        thread = .passUnretained(here)
        return true
    }

    /// Waits for work on the runner's thread, which later resumes the task. Returns false if the
    /// runner should end.
    nonisolated(nonsending) private func hasWork() async -> Bool {
        await withUnsafeContinuation { continuation in
            if isOnItsThread {
                idle = continuation
            } else {
                continuation.resume(returning: false)
            }
        }
    }

    /// Runs operations of the claim. Returns nil if the runner is still with the worker. Otherwise
    /// returns the operation whose body has suspended and returned, and which has to be ended.
    nonisolated(nonsending) private func run(
        _ work: Work, _ body: AsyncBody
    ) async -> Unmanaged<Operation>? {
        var current = work.first
        while true {
            await current.takeUnretainedValue().runAsyncBlock(in: body)
            guard isWithWorker else { return current }
            guard let following = proceed(after: current, work, body) else { return nil }
            current = following
        }
    }

    /// Ends an operation on the fast path and begins the next one. Returns nil if the next entry is
    /// left to the worker.
    private func proceed(
        after operation: Unmanaged<Operation>, _ work: Work, _ body: AsyncBody
    ) -> Unmanaged<Operation>? {
        let (claim, queue) = (work.claim, work.queue)
        next = operation._withUnsafeGuaranteedRef { $0.endOnFastPath(claim, in: queue) }
        let thread = ThreadContext.current
        if next == nil { next = queue.takeNext(from: claim, context: thread) }
        guard let following = next?.operation else { return nil }
        return following._withUnsafeGuaranteedRef { operation in
            guard operation.status.has(.asynchronous), operation.preparedRun == nil,
                operation.mayUseRunner(in: queue), !Task.isCancelled,
                body.proceed(with: operation)
            else { return nil }
            thread.operation = following
            guard let begun = operation.beginOnFastPath(claim, in: queue) else {
                next = queue.takeNext(from: claim, context: thread)
                return nil
            }
            guard begun.phase == .executing else {
                // Cancelled.
                operation.leavesWithoutWork(queue)
                next =
                    operation.endOnFastPath(claim, in: queue)
                    ?? queue.takeNext(from: claim, context: thread)
                return nil
            }
            next = nil
            return following
        }
    }
}
