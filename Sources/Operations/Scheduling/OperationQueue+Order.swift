import OperationsRuntime
import Synchronization

extension OperationQueue {
    /// The order in which operations start; ``OperationQueueOrder/priority`` unless set.
    ///
    /// The order can be changed at any time. Operations that have not started follow the new order
    /// from then on. Barriers hold in every order: a barrier waits for all operations that were
    /// added before it, and all operations that are added later wait for the barrier. The order of
    /// ``main`` is fixed.
    ///
    /// - Complexity: setting the order takes O(m log m), with m operations that have a deadline or
    ///   whose priority was changed in the queue; O(n log n) with aging or groups.
    public final var order: OperationQueueOrder {
        get { snapshot { $0.ready.order.setting } }
        set {
            guard !isMain else { return }
            eventOffering {
                $0.arrange(
                    order: newValue, agingSpan: $0.ready.order.agingSpan,
                    hasGroups: $0.ready.order.hasGroups)
            }
            // Operations that depend on later ones may now wait for each other.
            if newValue == .fifo, operationCount > 0 { CycleWatch.suspect() }
        }
    }

    /// The time after which a ready operation counts one priority higher, and once more for each
    /// further such span; nil unless set. If nil, priorities stay what they are.
    ///
    /// There is no upper limit: an operation that has been ready for long enough goes before all
    /// new ones. So no operation starves behind higher priorities, behind earlier deadlines or, in
    /// the order ``OperationQueueOrder/lifo``, behind operations that were added later.
    /// ``Operation/queuePriority`` does not change.
    ///
    /// The span counts from the moment when the operation became ready, also while the queue is
    /// suspended or a barrier holds the operation back. If aging was set later than that, the span
    /// counts from then. A change of the operation's priority starts the span anew. Aging has no
    /// effect in the order ``OperationQueueOrder/fifo``. The aging of ``main`` is fixed.
    ///
    /// All ready operations of the queue take their steps at the same times, the multiples of the
    /// span on the queue's clock. So the first step of an operation comes before a whole span is
    /// over, up to one span earlier. Each further step comes one span after the one before.
    ///
    /// - Precondition: the span is more than zero, or nil.
    /// - Complexity: setting the span takes O(n log n). While it is set, adding an operation and
    ///   starting one take O(log n).
    public final var aging: Duration? {
        get { snapshot { $0.ready.order.agingSpan }.map { .nanoseconds($0) } }
        set {
            if let newValue, newValue <= .zero {
                misuse("the aging of \(label) is \(newValue): set a longer time, or nil for none")
            }
            guard !isMain else { return }
            let span = newValue.map { max(Int64(clamping: $0.wholeNanoseconds), 1) }
            eventOffering {
                $0.arrange(
                    order: $0.ready.order.setting, agingSpan: span,
                    hasGroups: $0.ready.order.hasGroups)
            }
        }
    }

    /// The current time of the queue's clock, in nanoseconds.
    package final var nanoseconds: Int64 {
        let clock = clock
        return clock?() ?? Int64(truncatingIfNeeded: monotonicNanoseconds())
    }

    /// Sets the group of an operation that has just come into the queue.
    func setShare(_ share: Share, of operation: Operation) {
        guard !isMain else { return }
        eventOffering { state in
            guard operation.status.phase != .finished else { return }
            state.setShare(share, of: operation)
        }
    }

    /// Sets the deadline of an operation in the queue. Returns false if the operation has finished.
    func setDeadline(_ deadline: Int64, of operation: Operation) -> Bool {
        eventOffering { state in
            guard operation.status.phase != .finished else { return false }
            state.setDeadline(deadline, of: operation)
            return true
        }
    }
}

extension Operation {
    /// Sets the time by which the operation should have started, for the order of starts only.
    ///
    /// Among ready operations of one priority, those with a deadline go before those without, the
    /// earliest deadline first. The deadline can be set before the operation is in a queue, and at
    /// any time later; once the operation has started, it changes nothing. The deadline survives
    /// changes of the priority. Nothing happens when it passes. It has no effect in the order
    /// ``OperationQueueOrder/fifo``.
    ///
    /// - Parameter nanoseconds: the deadline on the time axis of the queue's clock
    ///   (``OperationQueue/nanoseconds``), which is the monotonic clock unless another one was set;
    ///   nil for no deadline.
    /// - Complexity: O(log n).
    package final func setDeadline(_ nanoseconds: Int64?) {
        let deadline = nanoseconds ?? SortKey.noDeadline
        let extras = withExtras { $0 }
        var backoff = Backoff()
        while true {
            if let queue = retainedQueue(), queue.setDeadline(deadline, of: self) { return }
            // A queue that takes the operation after this sees both the flag and the deadline.
            extras.sortDeadline.store(deadline, ordering: .relaxed)
            let change = exchange { state in
                guard state.phase == .created else { return nil }
                state.insert(.rescheduled)
                return []
            }
            if change != nil || !status.isInQueue { return }
            backoff.pause()
        }
    }
}
