import Synchronization

/// What has to be done around each operation of a queue, beside running it.
///
/// Workers look at it before each operation, as one byte: while nobody asks for anything it is 0, and that is
/// all that Insight costs.
struct Care: OptionSet, Sendable {
    let rawValue: UInt8

    // Computed, like the flags of `OperationWord`.

    /// ``OperationQueue/progress`` was asked for.
    static var progress: Care { Care(rawValue: 1) }
    /// An ``OperationTimeline`` records the queue.
    static var timeline: Care { Care(rawValue: 2) }
    /// ``OperationQueue/measuresOperations`` is set.
    static var meter: Care { Care(rawValue: 4) }
    /// An `OperationListener` listens.
    static var listener: Care { Care(rawValue: 8) }

    /// Those for which the times of operations are noted.
    static var watched: Care { [.timeline, .meter, .listener] }
}

extension OperationQueue {
    @inline(__always)
    func cares(for care: Care) -> Bool {
        self.care.load(ordering: .acquiring) & care.rawValue != 0
    }

    /// Whether the times of its operations are noted.
    var isWatched: Bool {
        @inline(__always) get { care.load(ordering: .relaxed) & Care.watched.rawValue != 0 }
    }

    func begin(_ care: Care) {
        self.care.bitwiseOr(care.rawValue, ordering: .acquiringAndReleasing)
    }

    func end(_ care: Care) {
        self.care.bitwiseAnd(~care.rawValue, ordering: .acquiringAndReleasing)
    }

    /// As ``begin(_:)``; and what is in the queue by now counts as added, or ready, at this moment.
    func beginWatching(_ care: Care) {
        begin(care)
        let now = monotonicNanoseconds()
        event { state in
            state.ring.forEach { _, operation in
                operation._withUnsafeGuaranteedRef { operation in
                    switch operation.status.phase {
                    case .waiting, .asking: operation.markIfUnmarked(OperationMark(.added, now))
                    case .filed: operation.markIfUnmarked(OperationMark(.ready, now))
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
    let listener = Protected<(any OperationListener)?>(nil)
}
