/// Decides whether a queue has stalled, from looks at it now and then.
///
/// Pure: what was seen, and when, comes from outside.
struct StallWatch {
    struct Look: Equatable {
        /// How many operations, of all that the queue ever had, have finished.
        var finished: Int
        var unfinished: Int
        var isSuspended: Bool

        /// Nothing is expected of it.
        fileprivate var isIdle: Bool { unfinished == 0 || isSuspended }
    }

    private let limit: UInt64
    private var last: Look?
    /// Since when nothing has finished although it should have.
    private var since: UInt64 = 0
    private var isReported = false

    /// - Parameter limit: in nanoseconds.
    init(limit: UInt64) { self.limit = limit }

    /// For how long the queue has been stalled, if that has to be reported now.
    mutating func look(_ look: Look, at now: UInt64) -> UInt64? {
        let isProgress = last?.finished != look.finished || last?.isIdle != look.isIdle
        last = look
        if isProgress || look.isIdle {
            since = now
            isReported = false
            return nil
        }
        guard !isReported, now >= since, now - since >= limit else { return nil }
        isReported = true
        return now - since
    }
}
