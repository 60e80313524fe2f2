#if DurableJobs && Telemetry
/// What a log says about an outage of the store, in which calls fail several times a second: a line
/// when it begins, one a minute while it lasts, and one when it is over.
///
/// Pure: the time comes in as an argument.
struct OutageLog {
    enum Line: Equatable {
        case begins
        case goesOn(for: Duration, failures: Int)
        case over(after: Duration, failures: Int)
    }

    /// The time between the lines about failures. Outages that come and go have no more of them.
    static let period = Duration.seconds(60)

    private var start: Duration?
    private var lastFailure = Duration.zero
    private var lastLine: Duration?
    private var failures = 0
    /// Whether the log has a line about the present outage.
    private var isTold = false

    /// A call of the store has failed.
    mutating func failed(at now: Duration) -> Line? {
        // Nobody reports the end of an outage that the process has nothing to do with any more.
        if now - lastFailure > Self.period { start = nil }
        let start = start ?? now
        if self.start == nil { (self.start, failures, isTold) = (now, 0, false) }
        failures += 1
        lastFailure = now
        if let lastLine, now - lastLine < Self.period { return nil }
        lastLine = now
        defer { isTold = true }
        return isTold ? .goesOn(for: now - start, failures: failures) : .begins
    }

    /// All calls succeed again.
    ///
    /// - Parameter time: how long they have failed.
    mutating func recovered(after time: Duration) -> Line? {
        defer { start = nil }
        guard start != nil, isTold else { return nil }
        return .over(after: time, failures: failures)
    }
}
#endif
