import Synchronization

/// The features that need work around each operation of a queue, beyond running it.
///
/// Workers read this byte before each operation. While no feature is in use it is 0, and reading it
/// is all that Insight costs.
struct Instrumentation: OptionSet, Sendable {
    let rawValue: UInt8

    // These are computed, like the flags of `LifecycleState`.

    /// ``OperationQueue/progress`` was read.
    static var progress: Instrumentation { Instrumentation(rawValue: 1) }
    /// An ``OperationTimeline`` records the queue.
    static var timeline: Instrumentation { Instrumentation(rawValue: 2) }
    /// ``OperationQueue/measuresOperations`` is set.
    static var meter: Instrumentation { Instrumentation(rawValue: 4) }
    /// A `QueueObserver` is set.
    static var observer: Instrumentation { Instrumentation(rawValue: 8) }

    /// The features for which the times of operations are recorded.
    static var watched: Instrumentation { [.timeline, .meter, .observer] }
}

extension OperationQueue {
    @inline(__always)
    func traces(for instrumentation: Instrumentation) -> Bool {
        self.instrumentation.load(ordering: .acquiring) & instrumentation.rawValue != 0
    }

    /// Whether the times of the queue's operations are recorded.
    var isWatched: Bool {
        @inline(__always) get {
            instrumentation.load(ordering: .relaxed) & Instrumentation.watched.rawValue != 0
        }
    }

    func begin(_ instrumentation: Instrumentation) {
        self.instrumentation.bitwiseOr(instrumentation.rawValue, ordering: .acquiringAndReleasing)
    }

    func end(_ instrumentation: Instrumentation) {
        self.instrumentation.bitwiseAnd(~instrumentation.rawValue, ordering: .acquiringAndReleasing)
    }

    /// As ``begin(_:)``; operations already in the queue count as added, or ready, at this moment.
    func beginWatching(_ instrumentation: Instrumentation) {
        begin(instrumentation)
        let now = monotonicNanoseconds()
        event { state in
            state.ring.forEach { _, operation in
                operation._withUnsafeGuaranteedRef { operation in
                    switch operation.status.phase {
                    case .waiting, .checkingReadiness:
                        operation.markIfUnmarked(PhaseTimestamp(.added, now))
                    case .queued: operation.markIfUnmarked(PhaseTimestamp(.ready, now))
                    case .created, .starting, .executing, .finished: break
                    }
                }
            }
        }
    }

    /// The state that the queue keeps for Insight; made on first use, and kept as long as the
    /// queue.
    var ownInsight: QueueInsight {
        if let existingInsight { return existingInsight }
        let new = Unmanaged.passRetained(QueueInsight())
        let (isOurs, other) = insight.compareExchange(
            expected: nil, desired: new, ordering: .acquiringAndReleasing)
        if isOurs { return new.takeUnretainedValue() }
        new.release()
        guard let other else { fatalError("unreachable: somebody else has made it") }
        return other.takeUnretainedValue()
    }

    var existingInsight: QueueInsight? {
        insight.load(ordering: .acquiring)?.takeUnretainedValue()
    }
}

/// The state that a queue keeps for Insight.
final class QueueInsight: Sendable {
    /// The timeline that records the queue: its number in the high half, and the queue's number in
    /// that timeline in the low half; 0 for none.
    let recording = Atomic<UInt64>(0)
    let meter = OperationMeter()
    let observer = Locked<(any QueueObserver)?>(nil)
}
