import Synchronization

extension Operation {
    /// How long it has been running, at most; nil if nobody has noted when it began.
    ///
    /// Noting it must cost plain operations nothing: of them the beginning of their batch is known.
    func runningTime(in queue: OperationQueue?) -> Duration? {
        // Its time is not the one that is measured here.
        if queue?.driver != nil { return nil }
        var start: UInt64?
        if status.has(.fastPath), !status.has(.claimedAlone) {
            start = queue?.snapshot { state in
                state.batches.first { $0.taken.last?.toOpaque() == address }?
                    .start.load(ordering: .relaxed)
            }
        } else if let own = ownStartTime {
            start = own
        } else {
            start = existingExtras?.startTime.load(ordering: .relaxed)
        }
        let now = monotonicNanoseconds()
        guard let start, start > 0, start <= now else { return nil }
        return .nanoseconds(Int64(now - start))
    }

    private var address: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
}
