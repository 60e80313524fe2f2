import Operations
import OperationsRuntime
import Synchronization

/// Turns the events of a queue into events of the timeline that records the queue.
final class QueueRecording: QueueObserver {
    static var kind: QueueObserverKind { .timeline }

    /// The timeline that records the queue: its number in the high half, and the queue's number in
    /// that timeline in the low half; 0 for none.
    let timeline = Atomic<UInt64>(0)

    /// Adds an event to the timeline, if there is one.
    @inline(__always)
    private func record(
        name: String? = nil, on thread: ThreadContext, _ fill: (inout TimelineEvent) -> Void
    ) {
        let timeline = timeline.load(ordering: .relaxed)
        guard timeline != 0 else { return }
        ThreadTraceBuffer.withBuffer(of: UInt32(truncatingIfNeeded: timeline >> 32), on: thread) {
            $0.append(queue: UInt16(truncatingIfNeeded: timeline), name: name, fill)
        }
    }

    // MARK: Events

    func receive(_ event: QueueEvent, of operation: Operation, on thread: ThreadContext) {
        switch event {
        case .willBeAdded, .refused, .ranOutOfTime: break
        case .waited(for: _, let start, let end):
            record(.waited, operation.identity, from: start, until: end, on: thread)
        case .started(let attempt): started(operation, attempt, on: thread)
        case .returned(let attempt, let error, _):
            guard attempt.start > 0 else { return }
            recordEnd(of: operation, attempt, error == nil ? .finished : .failed, on: thread)
        case .ended(let attempt, let outcome): ended(operation, attempt, outcome, on: thread)
        }
    }

    func threadWaited(
        inside operation: UInt, from start: UInt64, until end: UInt64, on thread: ThreadContext
    ) {
        record(.blocked, operation, from: start, until: end, on: thread)
    }

    private func record(
        _ kind: TimelineEvent.Kind, _ operation: UInt, from start: UInt64, until end: UInt64,
        on thread: ThreadContext
    ) {
        record(on: thread) { event in
            event.kind = kind
            event.operation = operation
            event.first = start
            event.second = end
        }
    }

    @inline(__always)
    private func started(
        _ operation: Operation, _ attempt: OperationTimes, on thread: ThreadContext
    ) {
        if attempt.isInClaim {
            // The only event follows at the end. A timeline that is read before that finds the
            // thread by this.
            let timeline = timeline.load(ordering: .relaxed)
            guard timeline != 0 else { return }
            ThreadTraceBuffer.withBuffer(
                of: UInt32(truncatingIfNeeded: timeline >> 32), on: thread
            ) { $0.begins(operation.identity, from: attempt.start) }
        } else {
            record(
                operation, attempt, as: operation.mayLeaveItsThread ? .startedTask : .started,
                .finished, on: thread)
        }
    }

    @inline(__always)
    private func ended(
        _ operation: Operation, _ attempt: OperationTimes, _ outcome: OperationOutcome,
        on thread: ThreadContext
    ) {
        if attempt.isInClaim {
            record(operation, attempt, as: .ran, outcome, on: thread)
        } else if attempt.start > 0 {
            recordEnd(of: operation, attempt, outcome, on: thread)
        } else {
            record(name: operation.nameIfAny, on: thread) { event in
                event.describe(operation, attempt, as: .dropped, outcome)
                event.third = attempt.end
            }
        }
    }

    // MARK: Parts

    /// Records an attempt with the operation's name and dependencies.
    @inline(__always)
    private func record(
        _ operation: Operation, _ attempt: OperationTimes, as kind: TimelineEvent.Kind,
        _ outcome: OperationOutcome, on thread: ThreadContext
    ) {
        if operation.isPlain {
            record(on: thread) { $0.describe(operation, attempt, as: kind, outcome) }
        } else {
            recordAll(operation, attempt, as: kind, outcome, on: thread)
        }
    }

    @inline(never)
    private func recordAll(
        _ operation: Operation, _ attempt: OperationTimes, as kind: TimelineEvent.Kind,
        _ outcome: OperationOutcome, on thread: ThreadContext
    ) {
        var first: UInt = 0
        var others: [UInt] = []
        // The first address needs no array.
        operation.forEachDependencyIdentity { identity in
            if first == 0 { first = identity } else { others.append(identity) }
        }
        record(name: operation.nameIfAny, on: thread) { event in
            event.describe(operation, attempt, as: kind, outcome)
            event.dependency = first
        }
        for dependency in others {
            record(on: thread) { event in
                event.kind = .edge
                event.operation = operation.identity
                event.dependency = dependency
                event.first = attempt.start
            }
        }
    }

    private func recordEnd(
        of operation: Operation, _ attempt: OperationTimes, _ outcome: OperationOutcome,
        on thread: ThreadContext
    ) {
        record(on: thread) { event in
            event.describe(operation, attempt, as: .ended, outcome)
            event.first = attempt.start
            event.second = attempt.end
        }
    }
}

extension TimelineEvent {
    /// Describes the operation and the attempt: the times are those of an event of the kind `ran`.
    @inline(__always)
    fileprivate mutating func describe(
        _ operation: Operation, _ attempt: OperationTimes, as kind: Kind,
        _ outcome: OperationOutcome
    ) {
        self.kind = kind
        self.operation = operation.identity
        type = unsafeBitCast(Swift.type(of: operation), to: UInt.self)
        lane = attempt.lane
        isBarrier = attempt.isBarrier
        self.outcome = outcome
        (first, second) = (attempt.added, attempt.ready)
        (third, fourth) = (attempt.start, attempt.end)
    }
}
