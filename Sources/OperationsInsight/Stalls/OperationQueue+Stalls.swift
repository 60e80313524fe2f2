public import Operations
import OperationsRuntime

/// A report that no operation of a queue has finished for some time, although the queue holds
/// operations and is not suspended.
public struct OperationQueueStall: Sendable, CustomStringConvertible {
    /// The queue's label, as in messages.
    public let queue: String
    /// For how long no operation has finished.
    public let duration: Duration
    /// How many operations of the queue have not finished.
    public let unfinishedCount: Int
    /// What the queue is doing, and what keeps its operations from running.
    public let explanation: OperationQueueExplanation

    /// A line that describes the stall, and the explanation.
    public var description: String {
        "\(queue): nothing has finished for \(duration.text), and "
            + "\(unfinishedCount) operation\(unfinishedCount == 1 ? " has" : "s have") not.\n"
            + "\(explanation)"
    }
}

/// A running series of stall reports, which ends with ``end()`` or when the queue is deinitialized.
///
/// Neither this object nor the reports retain the queue, and the caller need not retain this
/// object.
public final class OperationQueueStallReports: Sendable {
    private let task: Task<Void, Never>

    fileprivate init(_ task: Task<Void, Never>) { self.task = task }

    /// Ends the reports. A call of the handler that has begun runs to its end.
    public func end() { task.cancel() }
}

extension OperationQueue {
    /// Calls a handler when the queue stalls: when no operation has finished for some time.
    ///
    /// The handler is called once for each stall, with an explanation. It is called again only
    /// after an operation has finished, or the queue has been empty or suspended in between. The
    /// time counts while the queue holds unfinished operations and is not suspended; a suspended
    /// queue is expected to stand still, whatever runs in it. An operation that simply takes longer
    /// than `time` is a stall, too, if no other operation finishes meanwhile.
    ///
    /// Reports cost operations nothing: the queue is examined eight times in `time`, at most a
    /// hundred times a second. So a stall is reported at most an eighth of `time` late, or ten
    /// milliseconds if that is more. The queue is not retained.
    ///
    /// Reports need neither a worker nor a Dispatch thread, because the queue may be waiting for
    /// exactly these. They have a thread of their own, which sleeps between two samples.
    ///
    /// - Parameters:
    ///   - time: for how long no operation must have finished; at least a millisecond.
    ///   - handler: called in a task of its own, on that thread.
    /// - Returns: an object that ends the reports; it need not be retained.
    @discardableResult
    public final func reportStalls(
        after time: Duration, _ handler: @escaping @Sendable (OperationQueueStall) -> Void
    ) -> OperationQueueStallReports {
        let isEnded = Latch()
        return reportStalls(
            after: time,
            passing: { pause in
                await withTaskCancellationHandler {
                    // The task has the thread to itself.
                    _ = isEnded.wait(nanoseconds: pause.wholeNanoseconds)
                } onCancel: {
                    isEnded.open()
                }
            }, now: monotonicNanoseconds, handler)
    }

    /// As above, with a time that the caller advances.
    ///
    /// - Parameters:
    ///   - pass: returns when the given time has passed, or throws if the task is cancelled.
    ///   - now: returns the time, in nanoseconds.
    func reportStalls(
        after time: Duration, passing pass: @escaping @Sendable (Duration) async throws -> Void,
        now: @escaping @Sendable () -> UInt64,
        _ handler: @escaping @Sendable (OperationQueueStall) -> Void
    ) -> OperationQueueStallReports {
        let limit = max(time.limitedToLongestTime.wholeNanoseconds, 1_000_000)
        let pause = Duration.nanoseconds(Int64(clamping: max(limit / 8, 10_000_000)))
        let entry = QueueRegistry.entry(of: self)
        var watch = StallWatch(limit: limit)
        _ = watch.update(with: stallSample, at: now())
        let first = watch
        return OperationQueueStallReports(
            Task.detached(executorPreference: OwnThreadExecutor(named: "Operation-stall")) {
                var watch = first
                while (try? await pass(pause)) != nil, !Task.isCancelled {
                    guard let queue = entry.queue else { return }
                    let sample = queue.stallSample
                    guard let duration = watch.update(with: sample, at: now()) else { continue }
                    handler(
                        OperationQueueStall(
                            queue: queue.label,
                            duration: .nanoseconds(Int64(clamping: duration)),
                            unfinishedCount: sample.unfinished, explanation: queue.explain()))
                }
            })
    }

    private var stallSample: StallWatch.Sample {
        let totals = totals
        let unfinished = totals.unfinished + totals.unfinishedBarriers
        return StallWatch.Sample(
            finished: totals.added + totals.barriersAdded - unfinished, unfinished: unfinished,
            isSuspended: totals.isSuspended)
    }
}
