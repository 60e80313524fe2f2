/// Decides from occasional samples of a queue whether the queue has stalled.
///
/// The watch reads neither the queue nor a clock: callers pass in what they saw, and when.
struct StallWatch {
    struct Sample: Equatable {
        /// How many of all operations that the queue ever had have finished.
        var finished: Int
        var unfinished: Int
        var isSuspended: Bool

        /// Whether the queue is expected to finish nothing.
        fileprivate var isIdle: Bool { unfinished == 0 || isSuspended }
    }

    private let limit: UInt64
    private var last: Sample?
    /// The time since which no operation has finished although one should have.
    private var since: UInt64 = 0
    private var isReported = false

    /// - Parameter limit: in nanoseconds.
    init(limit: UInt64) { self.limit = limit }

    /// Returns for how long the queue has been stalled, if that has to be reported now.
    mutating func update(with sample: Sample, at now: UInt64) -> UInt64? {
        let isProgress = last?.finished != sample.finished || last?.isIdle != sample.isIdle
        last = sample
        if isProgress || sample.isIdle {
            since = now
            isReported = false
            return nil
        }
        guard !isReported, now >= since, now - since >= limit else { return nil }
        isReported = true
        return now - since
    }
}
