#if DurableJobs
import OperationsRuntime

/// Which loops of a queue object cannot use its store at this moment: those of its workers, and the
/// one that samples the queue for metrics.
///
/// In an outage all of them fail, each several times a second. The outage is over when all of them
/// have succeeded again: one connection may be lost while another one works.
package final class StoreHealth: Sendable {
    /// A loop of one object.
    package enum Loop: Sendable {
        case heartbeats, exchanges, maintenance, samples
    }

    private struct Source: Hashable {
        let owner: ObjectIdentifier
        let loop: Loop
    }

    private struct State {
        var failing: Set<Source> = []
        /// When the first of them failed.
        var start = Duration.zero
    }

    private let state = Locked(State())

    package init() {}

    /// A transaction of a loop has failed.
    package func failed(_ loop: Loop, of owner: AnyObject) {
        let now = Machine.timeSinceBoot
        state.withLock { state in
            if state.failing.isEmpty { state.start = now }
            state.failing.insert(Source(owner: ObjectIdentifier(owner), loop: loop))
        }
    }

    /// A transaction of a loop has succeeded.
    ///
    /// - Returns: how long the store has failed, if no loop fails any more; otherwise nil.
    package func succeeded(_ loop: Loop, of owner: AnyObject) -> Duration? {
        let now = Machine.timeSinceBoot
        return state.withLock { state in
            guard !state.failing.isEmpty,
                state.failing.remove(Source(owner: ObjectIdentifier(owner), loop: loop)) != nil,
                state.failing.isEmpty
            else { return nil }
            return max(.zero, now - state.start)
        }
    }

    /// An object ends its loops. What they failed at concerns nobody any more.
    package func forget(_ owner: AnyObject) {
        let owner = ObjectIdentifier(owner)
        state.withLock { state in
            state.failing = state.failing.filter { $0.owner != owner }
        }
    }
}
#endif
