import OperationsRuntime
import Synchronization

extension Operation {
    /// Returns how long the operation has been running, at most; nil if its start was not recorded.
    ///
    /// Recording the start must cost operations on the fast path nothing. For them, the recorded
    /// start of their claim counts.
    package final func runningTime(in queue: OperationQueue?) -> Duration? {
        // A queue with a driver has a clock of its own, and not the one that is read here.
        if queue?.driver != nil { return nil }
        var start: UInt64?
        if status.has(.fastPath), !status.has(.claimedAlone) {
            start = queue?.snapshot { state in
                state.slots.claims.first { $0.isRunning(address) }?
                    .start.load(ordering: .relaxed)
            }
        } else if let taskBody {
            start = taskBody.taskProgress?.start
        } else {
            start = existingExtras?.startTime.load(ordering: .relaxed)
        }
        let now = monotonicNanoseconds()
        guard let start, start > 0, start <= now else { return nil }
        return .nanoseconds(Int64(now - start))
    }

    private var address: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
}
