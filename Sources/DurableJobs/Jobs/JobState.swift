#if DurableJobs
/// Where a job is in its life; <doc:Protocol> has a drawing.
public enum JobState: Int, Sendable, Hashable, CaseIterable, Codable, CustomStringConvertible {
    /// Waits for the end of other jobs.
    case blocked = 0
    /// Waits for its time.
    case scheduled = 1
    /// May be claimed by a worker.
    case available = 2
    /// A worker has claimed the job. It runs, or is about to run.
    case running = 3
    /// An attempt has failed, and the next one is due later.
    case retryable = 4
    /// Succeeded, and has a result.
    case completed = 10
    /// Ended by the program, or because the condition of a dependency was not met.
    case cancelled = 11
    /// Failed for good.
    case discarded = 12

    /// Whether the job has ended. The stored numbers rely on the order: ended states are 10 and
    /// more.
    public var isEnded: Bool { rawValue >= 10 }

    /// The name of the state.
    public var description: String {
        switch self {
        case .blocked: "blocked"
        case .scheduled: "scheduled"
        case .available: "available"
        case .running: "running"
        case .retryable: "retryable"
        case .completed: "completed"
        case .cancelled: "cancelled"
        case .discarded: "discarded"
        }
    }
}

/// How a job ended, as its dependents see it.
package enum JobEnd: Sendable, Hashable {
    case succeeded
    case failed
    case cancelled
    /// Cancelled because of a failure before it.
    case failedUpstream

    /// - Parameter isUpstream: whether a failure before the job caused its end.
    package init(_ state: JobState, isUpstream: Bool) {
        switch state {
        case .completed: self = .succeeded
        case .discarded: self = .failed
        default: self = isUpstream ? .failedUpstream : .cancelled
        }
    }

    /// The numbers are those of `DependencyCondition`.
    package func meets(_ condition: Int64) -> Bool {
        switch condition {
        case 0: true
        case 1: self == .succeeded
        default: self == .failed || self == .failedUpstream
        }
    }
}
#endif
