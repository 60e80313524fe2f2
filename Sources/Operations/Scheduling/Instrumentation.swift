import Synchronization

/// The work that a queue needs around each operation, beyond running it.
///
/// Workers read this byte before each operation. While it is 0, reading it is all that observation
/// costs.
struct Instrumentation: OptionSet, Sendable {
    let rawValue: UInt8

    // These are computed, like the flags of `LifecycleState`.

    /// The total of ``OperationQueue/progress`` is not 0.
    static var progress: Instrumentation { Instrumentation(rawValue: 1) }
    /// An observer receives the queue's events.
    static var observed: Instrumentation { Instrumentation(rawValue: ~1) }

    /// The kinds of observers, as bits numbered by the raw values of the kinds.
    var kinds: UInt8 { rawValue >> 1 }
}

extension OperationQueue {
    @inline(__always)
    func has(_ instrumentation: Instrumentation) -> Bool {
        self.instrumentation.load(ordering: .acquiring) & instrumentation.rawValue != 0
    }

    /// Whether any observer receives the queue's events, so that the times of operations are
    /// recorded.
    package final var isObserved: Bool {
        @inline(__always) get {
            instrumentation.load(ordering: .relaxed) & Instrumentation.observed.rawValue != 0
        }
    }

    // The byte changes only under the lock. So an `end` that finds the instrumentation unused has
    // cleared the bit before any later `begin` sets it. The use of some instrumentation begins and
    // ends on several threads. Each thread calls one of these methods after its change, and each
    // method asks, under the lock, what holds by then: whichever call comes last, it sees the last
    // change.

    func begin(_ instrumentation: Instrumentation, if isInUse: () -> Bool = { true }) {
        eventOffering { state in
            guard isInUse() else { return }
            self.instrumentation.bitwiseOr(
                instrumentation.rawValue, ordering: .acquiringAndReleasing)
            state.records.isInstrumented = true
            state.decideAboutBlocks()
            state.materializeRunning()
        }
    }

    func end(_ instrumentation: Instrumentation, unless isInUse: () -> Bool) {
        event { state in
            if isInUse() { return }
            let rest = self.instrumentation.bitwiseAnd(
                ~instrumentation.rawValue, ordering: .acquiringAndReleasing
            ).newValue
            state.records.isInstrumented = rest != 0
            state.decideAboutBlocks()
            if rest & Instrumentation.observed.rawValue == 0 { state.records.markOfBlocks = 0 }
        }
    }
}
