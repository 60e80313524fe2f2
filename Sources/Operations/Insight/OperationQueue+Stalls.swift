import Synchronization

/// Nothing of a queue has finished for some time, although it holds operations and is not suspended.
public struct OperationQueueStall: Sendable, CustomStringConvertible {
    /// What messages call the queue.
    public let queue: String
    /// For how long nothing has finished.
    public let duration: Duration
    /// How many operations have not finished.
    public let unfinishedCount: Int
    /// What the queue is doing, and what keeps its operations from running.
    public let explanation: OperationQueueExplanation

    /// A line that says what happened, and the explanation.
    public var description: String {
        "\(queue): nothing has finished for \(duration.text), and "
            + "\(unfinishedCount) operation\(unfinishedCount == 1 ? " has" : "s have") not.\n"
            + "\(explanation)"
    }
}

/// Goes on until it is ended or the queue goes away. It keeps neither, and need not be kept.
public final class OperationQueueStallReports: Sendable {
    private let task: Task<Void, Never>

    fileprivate init(_ task: Task<Void, Never>) { self.task = task }

    /// Ends the reports. A call of the handler that has begun goes on to its end.
    public func end() { task.cancel() }
}

extension OperationQueue {
    /// Calls a handler when the queue does not get on: when nothing has finished for some time.
    ///
    /// It is called once for each stall, with an explanation, and again only after something has finished, or
    /// the queue has been empty or suspended in between. The time counts while the queue holds unfinished
    /// operations and is not suspended; a suspended queue is meant to stand still, whatever runs in it. An
    /// operation that simply takes longer than `time` is a stall, too, if nothing else finishes meanwhile.
    ///
    /// Costs operations nothing: the queue is looked at eight times in `time`, a hundred times a second at most.
    /// So a stall is reported an eighth late at most. The queue is not kept.
    ///
    /// The reports need neither a worker nor a thread of the dispatch library, for these may be what the queue waits
    /// for. They have a thread of their own, which sleeps in between.
    ///
    /// - Parameters:
    ///   - time: how long nothing has to have finished; at least a millisecond.
    ///   - handler: called in a task of its own, on that thread.
    /// - Returns: what ends the reports; it need not be kept.
    @discardableResult
    public final func reportStalls(
        after time: Duration, _ handler: @escaping @Sendable (OperationQueueStall) -> Void
    ) -> OperationQueueStallReports {
        let isEnded = Latch()
        return reportStalls(
            after: time,
            passing: { pause in
                await withTaskCancellationHandler {
                    // The thread is the task's own.
                    _ = isEnded.wait(milliseconds: Int(clamping: pause.wholeMilliseconds))
                } onCancel: {
                    isEnded.open()
                }
            }, now: monotonicNanoseconds, handler)
    }

    /// As above, with a time that the caller lets pass.
    ///
    /// - Parameters:
    ///   - pass: returns when so much time has passed, or throws if the task is cancelled.
    ///   - now: the time, in nanoseconds.
    func reportStalls(
        after time: Duration, passing pass: @escaping @Sendable (Duration) async throws -> Void,
        now: @escaping @Sendable () -> UInt64,
        _ handler: @escaping @Sendable (OperationQueueStall) -> Void
    ) -> OperationQueueStallReports {
        let limit = max(time.limitedToLongestTime.wholeNanoseconds, 1_000_000)
        let pause = Duration.nanoseconds(Int64(clamping: max(limit / 8, 10_000_000)))
        let entry = QueueRegistry.entry(of: self)
        var watch = StallWatch(limit: limit)
        _ = watch.look(stallLook, at: now())
        let first = watch
        return OperationQueueStallReports(
            Task.detached(executorPreference: OwnThreadExecutor()) {
                var watch = first
                while (try? await pass(pause)) != nil, !Task.isCancelled {
                    var look: StallWatch.Look?
                    entry.withQueue { look = $0.stallLook }
                    // The queue is gone.
                    guard let look else { return }
                    guard let duration = watch.look(look, at: now()) else { continue }
                    guard let queue = entry.unfinishedQueue else { continue }
                    handler(
                        OperationQueueStall(
                            queue: queue.label,
                            duration: .nanoseconds(Int64(clamping: duration)),
                            unfinishedCount: look.unfinished, explanation: queue.explain()))
                }
            })
    }

    private var stallLook: StallWatch.Look {
        snapshot { state in
            StallWatch.Look(
                finished: state.finishedCount + state.barriersAdded - state.barriers.count,
                unfinished: state.operationCount + state.barriers.count,
                isSuspended: state.isSuspended)
        }
    }
}

/// Runs each piece of a task on a new thread, so that a piece may block. A task that never suspends is one piece.
private final class OwnThreadExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let hasThread = startThread(named: "Operations-look") {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
        // Where no thread is to be had, late reports are better than none.
        if !hasThread { PoolExecutor.timers.enqueue(job) }
    }
}
