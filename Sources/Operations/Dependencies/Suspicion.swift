import Synchronization

/// Decides when a watch of the whole process looks: some time after a suspicion, and again as long
/// as there is something to see. Cycles.md describes the protocol.
///
/// The watch schedules its looks itself, one at a time, whenever a method says so.
struct Suspicion: ~Copyable {
    private enum Phase: UInt8, AtomicRepresentable {
        case idle
        case scheduled
        case looking
        /// A suspicion has come since the look began.
        case lookingAgain
    }

    private let phase = Atomic<Phase>(.idle)

    /// Something has changed that a look may find. Returns whether the caller must schedule a look.
    func raise() -> Bool {
        // What has changed is visible before the phase is read, as a look sets the phase before it
        // reads anything: one of the two sees the other.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        var seen = phase.load(ordering: .relaxed)
        while seen == .idle || seen == .looking {
            let next: Phase = seen == .idle ? .scheduled : .lookingAgain
            let (exchanged, original) = phase.compareExchange(
                expected: seen, desired: next, ordering: .acquiringAndReleasing)
            if exchanged { return next == .scheduled }
            seen = original
        }
        return false
    }

    /// The look that was scheduled begins. From here on it may read what it looks at.
    func lookBegins() {
        phase.store(.looking, ordering: .sequentiallyConsistent)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
    }

    /// The look has ended. Returns whether the caller must schedule another one.
    ///
    /// - Parameter isOver: whether another look is needed only if a suspicion has come meanwhile.
    func lookEnds(isOver: Bool) -> Bool {
        if isOver,
            phase.compareExchange(
                expected: .looking, desired: .idle, ordering: .acquiringAndReleasing
            ).exchanged
        {
            return false
        }
        phase.store(.scheduled, ordering: .releasing)
        return true
    }
}
