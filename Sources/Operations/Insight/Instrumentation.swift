import Synchronization

/// What has to be done around each operation of a queue, beside running it.
///
/// Workers look at it before each operation, as one byte: while nobody asks for anything it is 0, and that is
/// all that Insight costs.
struct Instrumentation: OptionSet, Sendable {
    let rawValue: UInt8

    // Computed, like the flags of `LifecycleState`.

    /// ``OperationQueue/progress`` was asked for.
    static var progress: Instrumentation { Instrumentation(rawValue: 1) }
    /// An ``OperationTimeline`` records the queue.
    static var timeline: Instrumentation { Instrumentation(rawValue: 2) }
    /// ``OperationQueue/measuresOperations`` is set.
    static var meter: Instrumentation { Instrumentation(rawValue: 4) }
    /// An `QueueObserver` listens.
    static var listener: Instrumentation { Instrumentation(rawValue: 8) }

    /// Those for which the times of operations are noted.
    static var watched: Instrumentation { [.timeline, .meter, .listener] }
}

extension OperationQueue {
    @inline(__always)
    func traces(for instrumentation: Instrumentation) -> Bool {
        self.instrumentation.load(ordering: .acquiring) & instrumentation.rawValue != 0
    }

    /// Whether the times of its operations are noted.
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

    /// As ``begin(_:)``; and what is in the queue by now counts as added, or ready, at this moment.
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

    /// What is kept for those who look on; made if need be, and kept as long as the queue.
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

/// What a queue keeps for those who look on.
final class QueueInsight: Sendable {
    /// Which timeline records the queue: its number, and the queue's number there in the low half; or 0.
    let recording = Atomic<UInt64>(0)
    let meter = OperationMeter()
    let listener = Locked<(any QueueObserver)?>(nil)
}
