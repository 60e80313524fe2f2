import Synchronization

/// A task that runs the async bodies of a batch, one after the other, on the worker's thread, for as long as
/// none of them suspends.
///
/// When one does, the worker gets its thread back, takes that operation out of its batch and goes on
/// without the runner; the runner, wherever it is resumed, ends that operation and itself. See
/// Scheduling.md, "Async bodies".
///
/// Unchecked: `next` and `isOver` are touched on the worker's thread only.
final class AsyncRunner: @unchecked Sendable {
    private let batch: Batch
    private let queue: OperationQueue
    private let thread: ThreadContext
    /// Set when the worker has taken the operation that suspended out of the batch.
    private let hasParted = Atomic<Bool>(false)
    /// What the worker is to go on with.
    private var next: Unmanaged<Operation>?
    private var isOver = false

    private init(_ batch: Batch, in queue: OperationQueue) {
        self.batch = batch
        self.queue = queue
        thread = .current
    }

    /// Whether tasks can begin on the thread that makes them.
    static var isAvailable: Bool {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) { true } else { false }
    }

    /// Runs an operation that has begun, and those that come after it; returns the one to go on with.
    static func run(
        _ first: Operation, of batch: Batch, in queue: OperationQueue
    ) -> Unmanaged<Operation>? {
        let runner = AsyncRunner(batch, in: queue)
        let body = AsyncBody(first, in: queue)
        PoolExecutor.start {
            await TaskContext.$body.withValue(body) {
                body.begin()
                await runner.run(.passUnretained(first), body)
                body.end()
            }
        }
        if runner.isOver { return runner.next }
        let start = batch.start.load(ordering: .relaxed)
        // Kept for the runner, which releases it.
        let parted = queue.part(from: batch)
        parted._withUnsafeGuaranteedRef { $0.noteTaskStart(start) }
        runner.hasParted.store(true, ordering: .releasing)
        return nil
    }

    private func run(_ first: Unmanaged<Operation>, _ body: AsyncBody) async {
        var current = first
        while true {
            await current.takeUnretainedValue().runAsyncBlock(in: body)
            guard isOnWorker else {
                var backoff = Backoff()
                while !hasParted.load(ordering: .acquiring) { backoff.pause() }
                return current.takeRetainedValue().finish()
            }
            guard let following = goOn(after: current, body) else {
                isOver = true
                return
            }
            current = following
        }
    }

    /// Whether the task has not been suspended since it began.
    private var isOnWorker: Bool {
        ThreadContext.existing === thread && !hasParted.load(ordering: .acquiring)
    }

    /// Ends an operation, and begins with the one after it; nil if that is for the worker.
    private func goOn(
        after operation: Unmanaged<Operation>, _ body: AsyncBody
    ) -> Unmanaged<Operation>? {
        next = operation._withUnsafeGuaranteedRef { $0.endPlain(batch, in: queue) }
        if next == nil { next = queue.takeNext(from: batch) }
        guard let following = next else { return nil }
        return following._withUnsafeGuaranteedRef { operation in
            guard operation.status.has(.asynchronous), operation.mayUseRunner(in: queue),
                !thread.hasUnusualNiceness, body.goOn(with: operation)
            else { return nil }
            thread.operation = following
            guard let begun = operation.beginPlain(batch, in: queue) else {
                next = queue.takeNext(from: batch)
                return nil
            }
            guard begun.phase == .executing else {
                // Cancelled.
                if queue.isWatched { queue.noteDropped(operation) }
                next = operation.endPlain(batch, in: queue) ?? queue.takeNext(from: batch)
                return nil
            }
            return following
        }
    }
}
