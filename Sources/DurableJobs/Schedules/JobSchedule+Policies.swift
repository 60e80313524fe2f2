#if DurableJobs
extension JobSchedule {
    /// What becomes of times that came while no worker ran, or while the store's clock was set
    /// forward. Times that come while the schedule is paused are dropped in any case.
    public enum Missed: Sendable, Hashable {
        /// One job, for the last of the times.
        case once
        /// A job for each of the last times, 1 to 1000 of them. Needs ``Overlap/allow``.
        case all(upTo: Int)
        /// No job. A time is missed if no worker has enqueued its job within a minute.
        case none
    }

    /// What happens at a time at which the last job of the schedule has not ended.
    public enum Overlap: String, Sendable, Hashable {
        /// No job is enqueued.
        case skip
        /// A further job is enqueued.
        case allow
    }
}

extension JobSchedule.Missed {
    /// How late a job may be that is not missed.
    private static let patience: Int64 = 60_000

    /// The stored form.
    var text: String {
        switch self {
        case .once: "once"
        case .all(let count): "all \(count)"
        case .none: "none"
        }
    }

    /// Returns nil for a text of a newer version of the library.
    init?(text: String) {
        switch text {
        case "once": self = .once
        case "none": self = .none
        default:
            guard text.hasPrefix("all "), let count = Int(text.dropFirst(4)) else { return nil }
            self = .all(upTo: count)
        }
    }

    /// Returns the times for which jobs are enqueued, of those that have come.
    ///
    /// - Parameter first: the first of them.
    func times(of schedule: JobSchedule, from first: Int64, upTo now: Int64) -> [Int64] {
        let limit =
            switch self {
            case .once, .none: 1
            case .all(let count): count
            }
        var times: [Int64] = []
        while times.count < limit,
            let time = schedule.last(upTo: (times.last ?? now + 1) - 1, since: first)
        {
            times.append(time)
        }
        if self == .none { times.removeAll { $0 < now - Self.patience } }
        return times.reversed()
    }
}
#endif
