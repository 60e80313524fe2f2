#if DurableJobs
/// The workers without a lease that hold jobs which their death would discard, and for how long
/// this process has seen them missing. See step 7 in Protocol.md. Pure: the time comes in as an
/// argument.
///
/// A process that was stopped, or whose store did not answer, comes back. So a worker counts as
/// dead only after it was missing for some leases. In all of them the store answered this process,
/// and this process did not stand still.
struct MissingWorkers: Sendable {
    /// For how many leases a worker is missing before it counts as dead.
    static let patience = 4

    private let patience: Duration
    /// The longest time between two looks of a process that does not stand still.
    private let longestPause: Duration
    private var since: [String: Duration] = [:]
    private var lastLook = Duration.zero

    init(lease: Duration) { (patience, longestPause) = (lease * Self.patience, lease) }

    /// Begins a look, and returns the workers that count as dead.
    mutating func dead(now: Duration) -> Set<String> {
        if now - lastLook > longestPause { since = [:] }
        lastLook = now
        return Set(since.filter { now - $0.value >= patience }.keys)
    }

    /// A look has found missing workers.
    mutating func found(_ workers: Set<String>, now: Duration) {
        since = since.filter { workers.contains($0.key) }
        for worker in workers where since[worker] == nil { since[worker] = now }
    }

    /// The store has not answered. The missing workers may have had no answer either.
    mutating func lookFailed() { since = [:] }
}
#endif
