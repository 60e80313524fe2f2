#if DurableJobs
import Operations

/// Whether a worker makes room for a *suspect*, a job that may have killed its workers and runs
/// alone; see step 7 in Protocol.md. Pure: the time comes in as an argument.
struct Suspects: Sendable {
    /// How long a suspect waits for a worker that holds nothing, before a busy one makes room.
    static let patience = Duration.seconds(10)

    /// The number of deaths from which on a job is a suspect.
    let deaths: Int
    /// Whether the next claim waits until the worker holds no job: it holds a suspect, or is about
    /// to claim one.
    private var isAlone = false
    /// Whether the last claim was one of a suspect. The next one is of other jobs, so that suspects
    /// do not keep all others waiting.
    private var hadSuspect = false
    /// Since when the queue has suspects for which this worker is to make room.
    private var since: Duration?

    init(deaths: Int) { self.deaths = deaths }

    /// Whether a worker that holds a number of jobs claims nothing until it holds nothing.
    func isMakingRoom(holding count: Int) -> Bool { isAlone && count > 0 }

    /// Whether the claim of a worker that holds a number of jobs may take a suspect.
    func mayClaim(holding count: Int) -> Bool { deaths < .max && count == 0 && !hadSuspect }

    /// A look for jobs has an answer.
    ///
    /// - Parameters:
    ///   - isFullLook: whether the look would have found suspects.
    ///   - mayClaim: whether it could have claimed one.
    /// - Returns: whether the worker must look again.
    mutating func answered(
        _ answer: ExchangeAnswer, isFullLook: Bool, mayClaim: Bool, now: Duration
    ) -> Bool {
        hadSuspect = answer.isSuspect
        if answer.hasSuspects {
            since = since ?? now
        } else if isFullLook, !answer.isSuspect {
            since = nil
        }
        let isPatienceOver = since.map { now - $0 >= Self.patience } ?? false
        isAlone = answer.isSuspect || (answer.hasSuspects && isPatienceOver)
        // A suspect that a worker without jobs has not got may have a key that is not free.
        return answer.isSuspect || (isAlone && !mayClaim)
    }

    /// The worker has lost its lease, and holds nothing.
    mutating func restart() { self = Suspects(deaths: deaths) }
}
#endif
