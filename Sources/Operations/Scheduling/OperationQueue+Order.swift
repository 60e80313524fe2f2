import Synchronization

/// In which order a queue starts its operations.
public enum OperationQueueOrder: Sendable, Hashable, CaseIterable {
    /// Among ready operations that with the highest priority first, and among equals the one that was
    /// added first, or got its priority first.
    ///
    /// One that was not ready for want of units of a ``ConcurrencyBudget`` starts when it is given them, if a
    /// slot is free, and before those that are ready: its turn had come before, also if others with a higher
    /// priority have been added since. So it is in the order ``lifo``.
    case priority
    /// Strictly as they were added, first in, first out, whatever their priorities.
    ///
    /// An operation that is not ready, also for want of units of a ``ConcurrencyBudget``, holds back
    /// all that were added behind it; one that is cancelled does not. With a width of 1 each starts
    /// after the one before it has finished, with a larger one several may run at a time. An
    /// operation that depends on one that was added behind it to the same queue holds back both:
    /// neither ever starts.
    case fifo
    /// Among ready operations that with the highest priority first, and among equals the one that was
    /// added last.
    case lifo
}

extension OperationQueue {
    /// In which order operations start; ``OperationQueueOrder/priority`` unless set.
    ///
    /// Can be changed at any time: what has not started goes by the new order from then on. Barriers hold in each
    /// order: they wait for all that were added before, and all that are added later wait for them. For ``main``
    /// it is fixed.
    ///
    /// - Complexity: to set it, O(n log n).
    public final var order: OperationQueueOrder {
        get { snapshot { $0.order } }
        set {
            guard !isMain else { return }
            eventOffering { $0.arrange(order: newValue, ageingSpan: $0.ageingSpan) }
        }
    }

    /// After how long a ready operation counts one priority higher, and for each such span once more; nil unless
    /// set, and then priorities stay what they are.
    ///
    /// There is no upper end: what is ready for long enough goes before all that is new, so nothing starves,
    /// neither behind higher priorities nor behind earlier deadlines or, in the order ``OperationQueueOrder/lifo``, behind what
    /// was added later. ``Operation/queuePriority`` does not change. The span counts from the moment when the
    /// operation became ready, also while the queue is suspended or a barrier holds it back; from when this was
    /// set, if that is later; and anew when its priority is changed. Without meaning in the order ``OperationQueueOrder/fifo``.
    /// For ``main`` it is fixed.
    ///
    /// - Precondition: more than zero, or nil.
    /// - Complexity: to set it, O(n log n). While it is set, to add and to start an operation takes O(log n).
    public final var ageing: Duration? {
        get { snapshot { $0.ageingSpan }.map { .nanoseconds($0) } }
        set {
            if let newValue, newValue <= .zero {
                misuse("the ageing of \(label) is \(newValue): set a longer time, or nil for none")
            }
            guard !isMain else { return }
            let span = newValue.map { max(Int64(clamping: $0.wholeNanoseconds), 1) }
            eventOffering { $0.arrange(order: $0.order, ageingSpan: span) }
        }
    }

    /// Tells the time for ``ageing``, in nanoseconds; the monotonic clock does unless this is set.
    ///
    /// Deadlines are compared with each other only, but should be on the same axis. It is called with the
    /// queue's lock held: it must not call anything of an operation or a queue, nor take a lock that is held
    /// while that is done. A time that goes back counts as one that stands still.
    package final var clock: (@Sendable () -> Int64)? {
        get { snapshot { $0.clock } }
        set {
            // What it replaces is let go of outside the lock.
            let previous = event { state in
                let previous = state.clock
                state.clock = newValue
                return previous
            }
            withExtendedLifetime(previous) {}
        }
    }

    /// Now, as the queue's clock tells it.
    package final var nanoseconds: Int64 {
        let clock = clock
        return clock?() ?? Int64(truncatingIfNeeded: monotonicNanoseconds())
    }

    /// False if the operation has finished.
    func setDeadline(_ deadline: Int64, of operation: Operation) -> Bool {
        eventOffering { state in
            guard operation.status.phase != .finished else { return false }
            state.setDeadline(deadline, of: operation)
            return true
        }
    }
}

extension Operation {
    /// The deadline that it was given, or ``Turn/noDeadline``.
    var deadline: Int64 { existingExtras?.deadline.load(ordering: .relaxed) ?? SortKey.noDeadline }

    /// Says by when the operation should have started: among the ready ones of its priority those with a deadline
    /// go before those without, the earliest first.
    ///
    /// Can be called before the operation is in a queue, and at any time later; once it has started it changes
    /// nothing. The deadline survives changes of the priority. Nothing happens when it passes. In the order
    /// ``OperationQueueOrder/fifo`` it has no effect.
    ///
    /// - Parameter nanoseconds: on the time axis of the queue's clock (``OperationQueue/nanoseconds``), which is
    ///   the monotonic clock unless another one was set; nil for none.
    /// - Complexity: O(log n).
    package final func setDeadline(_ nanoseconds: Int64?) {
        let deadline = nanoseconds ?? SortKey.noDeadline
        let extras = withExtras { $0 }
        var backoff = Backoff()
        while true {
            if let queue = retainedQueue(), queue.setDeadline(deadline, of: self) { return }
            // A queue that takes it after this sees both the flag and the deadline.
            extras.deadline.store(deadline, ordering: .relaxed)
            let change = update { word in
                guard word.phase == .created else { return false }
                word.insert(.rescheduled)
                return true
            }
            if change != nil || !status.isInQueue { return }
            backoff.pause()
        }
    }
}
