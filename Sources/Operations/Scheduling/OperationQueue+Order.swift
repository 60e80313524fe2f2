import Synchronization

/// The order in which a queue starts its operations.
public enum OperationQueueOrder: Sendable, Hashable, CaseIterable {
    /// Starts the ready operation with the highest priority first. Among equal priorities, the
    /// operation that was added first, or was given its priority first, goes first.
    ///
    /// An operation that had to wait for permits of a ``ConcurrencyBudget`` keeps its turn. When it
    /// is granted its permits and a slot is free, it starts before the operations that are ready,
    /// even those with a higher priority that were added since. The same holds for ``lifo``.
    case priority
    /// Starts operations strictly in the order in which they were added, first in, first out,
    /// whatever their priorities.
    ///
    /// An operation that is not ready, or that waits for permits of a ``ConcurrencyBudget``, holds
    /// back all operations that were added behind it. A cancelled operation does not. With a width
    /// of 1 each operation starts after the one before it has finished; with a larger width several
    /// may run at a time. If an operation depends on one that was added behind it to the same
    /// queue, neither of the two ever starts.
    case fifo
    /// Starts the ready operation with the highest priority first. Among equal priorities, the
    /// operation that was added last goes first.
    case lifo
}

extension OperationQueue {
    /// The order in which operations start; ``OperationQueueOrder/priority`` unless set.
    ///
    /// The order can be changed at any time. Operations that have not started follow the new order
    /// from then on. Barriers hold in every order: a barrier waits for all operations that were
    /// added before it, and all operations that are added later wait for the barrier. The order of
    /// ``main`` is fixed.
    ///
    /// - Complexity: setting the order takes O(n log n).
    public final var order: OperationQueueOrder {
        get { snapshot { $0.order.setting } }
        set {
            guard !isMain else { return }
            eventOffering { $0.arrange(order: newValue, ageingSpan: $0.order.ageingSpan) }
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
    /// suspended or a barrier holds the operation back. If ageing was set later than that, the span
    /// counts from then. A change of the operation's priority starts the span anew. Ageing has no
    /// effect in the order ``OperationQueueOrder/fifo``. The ageing of ``main`` is fixed.
    ///
    /// All ready operations of the queue take their steps at the same times, the multiples of the
    /// span on the queue's clock. So the first step of an operation comes before a whole span is
    /// over, up to one span earlier. Each further step comes one span after the one before.
    ///
    /// - Precondition: the span is more than zero, or nil.
    /// - Complexity: setting the span takes O(n log n). While it is set, adding an operation and
    ///   starting one take O(log n).
    public final var ageing: Duration? {
        get { snapshot { $0.order.ageingSpan }.map { .nanoseconds($0) } }
        set {
            if let newValue, newValue <= .zero {
                misuse("the ageing of \(label) is \(newValue): set a longer time, or nil for none")
            }
            guard !isMain else { return }
            let span = newValue.map { max(Int64(clamping: $0.wholeNanoseconds), 1) }
            eventOffering { $0.arrange(order: $0.order.setting, ageingSpan: span) }
        }
    }

    /// The time for ``ageing``, in nanoseconds; the monotonic clock's unless this is set.
    ///
    /// Deadlines are only compared with each other, but should be on the same time axis. The queue
    /// calls the closure with its lock held. The closure must not call anything of an operation or
    /// a queue, and must not take a lock that is held while any thread makes such a call. For
    /// ageing, a time that goes back counts as one that stands still, and a negative time as 0.
    package final var clock: (@Sendable () -> Int64)? {
        get { snapshot { $0.clock } }
        set {
            // The replaced closure is released outside the lock.
            let previous = event { state in
                let previous = state.clock
                state.clock = newValue
                return previous
            }
            withExtendedLifetime(previous) {}
        }
    }

    /// The current time of the queue's clock, in nanoseconds.
    package final var nanoseconds: Int64 {
        let clock = clock
        return clock?() ?? Int64(truncatingIfNeeded: monotonicNanoseconds())
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
    /// The operation's deadline, or ``SortKey/noDeadline`` if it was given none.
    var deadline: Int64 { existingExtras?.deadline.load(ordering: .relaxed) ?? SortKey.noDeadline }

    /// Sets the time by which the operation should have started.
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
            extras.deadline.store(deadline, ordering: .relaxed)
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
