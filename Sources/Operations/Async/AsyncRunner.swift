import OperationsRuntime

/// A task that runs async bodies on a worker's thread, one after the other, for as long as none of
/// them suspends. See RunningAsyncBodies.md.
///
/// When a body suspends, the worker continues without the runner. When the body has ended, the
/// runner stays with the worker on whose thread it is then, if that worker has few runners.
///
/// Unchecked: all properties are accessed only by the thread that the runner is with, or by the
/// task.
final class AsyncRunner: IdleRunner, @unchecked Sendable {
    /// Whether the task inherits the task-local values of the task that creates it, on behalf of
    /// the runner's first queue.
    private let inherits: Bool
    private let executor = PoolExecutor()
    private var work: ClaimedBody?
    /// The thread that the runner is with.
    private var thread: Unmanaged<ThreadContext>?
    /// The continuation of the task while the runner waits for work.
    private var idle: UnsafeContinuation<Bool, Never>?

    private init(inherits: Bool) { self.inherits = inherits }

    /// Runs an operation that has begun, and then the following operations of its claim. The entry
    /// with which the worker has to continue is left in the claim (`handedOver`).
    static func run(_ first: Operation, of claim: Claim, in queue: OperationQueue) {
        ThreadContext.withCurrent { thread in
            let inherits = queue.tasks != nil
            // No other class is an idle runner.
            let runner =
                (inherits ? nil : thread.takeRunner()).map {
                    unsafeDowncast($0, to: AsyncRunner.self)
                } ?? AsyncRunner(inherits: inherits)
            runner.stays(with: thread)
            runner.work = ClaimedBody(
                .passUnretained(first), of: claim, in: .passUnretained(queue), on: thread)
            runner.resume()
        }
    }

    private func stays(with thread: ThreadContext) {
        let reference = Unmanaged.passUnretained(thread)
        if self.thread?.toOpaque() == reference.toOpaque() { return }
        self.thread = reference
        if let worker = thread.activeWorker { executor.stays(with: worker) }
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
        while let queue = work?.queue.toOpaque() {
            let body = AsyncBody(on: executor)
            body.begin()
            await TaskContext.$body.withValue(body) { await serve(queue, body) }
            body.end()
        }
    }

    /// Runs assigned operations as long as they are of the same queue. On return there is no work
    /// if the runner has to end.
    ///
    /// - Parameter queue: the address of the queue.
    nonisolated(nonsending) private func serve(
        _ queue: UnsafeMutableRawPointer, _ body: AsyncBody
    ) async {
        while var work, work.queue.toOpaque() == queue {
            body.enter(work.operation, of: work.queue.takeUnretainedValue())
            while true {
                if work.queue._withUnsafeGuaranteedRef({ $0.isObserved }) {
                    await work.operation.takeUnretainedValue()
                        .runRecorded(as: body, in: work.queue.takeUnretainedValue())
                } else {
                    await work.operation.takeUnretainedValue().runAsyncBlock(as: body)
                }
                let following = work.end { _ in !Task.isCancelled && !body.isMarkedCancelled }
                if case .body(let next) = following {
                    work = next
                    body.proceed(to: next.operation)
                    continue
                }
                body.leave()
                if case .endOutside = following { work.endOutside() }
                break
            }
            self.work = nil
            guard mayStay(body) else { return }
            // Wait for work on the runner's thread, which later resumes the task.
            let hasWork = await withUnsafeContinuation { continuation in
                if ThreadContext.isCurrent(thread) {
                    idle = continuation
                } else {
                    continuation.resume(returning: false)
                }
            }
            if !hasWork { return }
        }
    }

    /// Whether the runner may stay with the current thread. If so, that thread has it from now on.
    private func mayStay(_ body: AsyncBody) -> Bool {
        guard !inherits, !Task.isCancelled, !body.isMarkedCancelled,
            let here = ThreadContext.existing, here.activeWorker != nil,
            !here.operationState.isDriven, here.hasCapacityForRunner
        else { return false }
        here.addRunner(self)
        stays(with: here)
        return true
    }
}
