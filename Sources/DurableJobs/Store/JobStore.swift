#if DurableJobs
import Operations

/// The transactions of the protocol, on any database.
///
/// Each method is one transaction unless it says otherwise. The statements lock rows of jobs in the
/// order of their numbers, so that transactions never wait for each other in a circle.
package struct JobStore: Sendable {
    package let database: any JobDatabase
    package let `extension`: (any JobExtension)?
    let skipped = SkippedCandidates()

    package init(_ database: any JobDatabase, extension: (any JobExtension)? = nil) {
        (self.database, self.extension) = (database, `extension`)
    }

    package var description: String { database.description }
}

/// Numbers of states in statements.
enum StateNumber {
    static let blocked = Int64(JobState.blocked.rawValue)
    static let scheduled = Int64(JobState.scheduled.rawValue)
    static let available = Int64(JobState.available.rawValue)
    static let retryable = Int64(JobState.retryable.rawValue)
    static let completed = Int64(JobState.completed.rawValue)
    static let cancelled = Int64(JobState.cancelled.rawValue)
    static let discarded = Int64(JobState.discarded.rawValue)
}

extension SQLRow {
    /// The state in a column.
    func state(_ column: Int) -> JobState { JobState(rawValue: Int(integer(column))) ?? .discarded }
}

extension Duration {
    init(milliseconds: Int64) { self = .milliseconds(milliseconds) }
}
#endif
