#if DurableJobs
package import Operations

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A job that is about to be stored.
package struct NewJob: Sendable {
    package enum Dependency: Sendable {
        case stored(JobID)
        /// The index of a job that is enqueued in the same transaction before this one.
        case new(Int)
    }

    package var name: String
    package var version: Int
    package var arguments: Data
    package var options: JobOptions
    package var dependencies: [(job: Dependency, condition: DependencyCondition)] = []
    package var trace: String?

    /// The stored form of the unique key; nil if the job has none.
    package var uniqueKey: String? { options.uniqueKey.map { "\(name) \($0)" } }
}

/// The places that a batch has taken so far; see "The order of claims" in Protocol.md.
package struct BatchPlaces: Sendable {
    /// The head of each rank when the batch began, once it is known, and the number of the batch's
    /// jobs of that rank since.
    package var places: [Int64: (head: Int64?, count: Int64)] = [:]
    package var batch: Int64?
    /// The number of jobs that the last transaction stored; the others joined stored ones.
    package var stored: Int64 = 0

    package init(batch: Int64? = nil) { self.batch = batch }
}

/// A place in the ready order.
package struct ReadyPlace: Sendable, Comparable {
    package var rank: Int64
    package var position: Int64
    package var id: Int64

    package static let start = ReadyPlace(rank: .min, position: .min, id: .min)

    package static func < (a: ReadyPlace, b: ReadyPlace) -> Bool {
        (a.rank, a.position, a.id) < (b.rank, b.position, b.id)
    }
}

/// The fencing token of an attempt.
package struct AttemptToken: Sendable, Hashable {
    package let job: JobID
    /// The number of the claim. The number of the attempt would not do: a database that has crashed
    /// may have lost a claim, and then gives the same number again.
    package let claim: Int64
    package let worker: String
}

/// A job that a worker has claimed.
package struct ClaimedJob: Sendable {
    package let token: AttemptToken
    /// The number of the attempt, counted from 1.
    package let attempt: Int
    package let name: String
    package let version: Int
    package let arguments: Data
    package let place: ReadyPlace
    /// Failures before this attempt, without deaths of workers.
    package let failures: Int
    package let retryLimit: Int
    package let backoff: String?
    package let timeout: Duration?
    /// Milliseconds since 1970, by the store's clock.
    package let deadline: Int64?
    /// The store's time when the job was claimed.
    package let claimedAt: Int64
    package let enqueuedAt: Int64
    package let isExclusive: Bool
    package let batch: Int64?
    package let trace: String?
}

/// How an attempt ended, as its worker reports it.
package enum AttemptVerdict: Sendable {
    /// - Parameters:
    ///   - result: the stored form of the result.
    ///   - addition: what the store's extension leaves with the success.
    case completed(result: Data, addition: EndAddition? = nil)
    /// Completed in a transaction of the program, if that was committed; otherwise failed.
    indirect case completedByProgram(otherwise: AttemptVerdict)
    /// Failed; another attempt is due after the duration.
    case retry(error: String, after: Duration)
    /// Not carried out; another attempt is due after the duration. This counts as no failure.
    case postponed(reason: String, for: Duration)
    /// Not carried out, because the job asks for a later attempt. This one does not count.
    case snoozed(reason: String, for: Duration)
    case discarded(error: String)
    case cancelled(reason: String)
    /// Not finished, because the worker stops. This counts as no failure.
    case handedBack
    /// Claimed, and never begun: the job is as it was before the claim. Its earlier deaths still
    /// count, because nobody knows more about it.
    case notBegun
}

package struct EndedAttempt: Sendable {
    package let token: AttemptToken
    package let verdict: AttemptVerdict

    package init(_ token: AttemptToken, _ verdict: AttemptVerdict) {
        (self.token, self.verdict) = (token, verdict)
    }
}

extension AttemptVerdict {
    /// What an extension leaves with the end.
    var addition: EndAddition? {
        if case .completed(_, let addition) = self { addition } else { nil }
    }
}

/// A job that a transaction has ended in another way than by the report of its attempt: because of
/// another job, of its deadline, of deaths of its workers, or of a request.
package struct EndedJob: Sendable {
    package let id: JobID
    package let name: String
    package let attempt: Int
    package let state: JobState
    package let error: String?
}

/// The incarnations of a worker that have lost their lease, while its process lives.
package struct EarlierIncarnations: Sendable {
    /// Their identifiers.
    package private(set) var workers: Set<String> = []
    /// The jobs that they held, as far as the process knows.
    private var held: Set<JobID> = []

    package init() {}

    /// The jobs, in the order of their identifiers.
    var jobs: [JobID] { held.sorted() }

    package mutating func add(_ worker: String, _ jobs: [JobID]) {
        workers.insert(worker)
        held.formUnion(jobs)
    }

    /// Removes what another value has.
    mutating func remove(_ other: EarlierIncarnations) {
        workers.subtract(other.workers)
        held.subtract(other.held)
    }
}

/// What the store made of a verdict.
package enum VerdictAnswer: Sendable, Hashable {
    /// The job now has this state, because of this report or of an earlier one with its token.
    case accepted(JobState)
    /// The attempt is over for the store. Its result is dropped.
    case fenced
}

/// One transaction of a worker: ends of attempts, and then a claim.
package struct Exchange: Sendable {
    package var worker: String
    package var queue: String
    package var ended: [EndedAttempt] = []
    /// Jobs whose ends are published now: nothing is left to do after their commit.
    package var published: [JobID] = []
    /// The number of jobs to claim; zero claims none.
    package var wanted = 0
    /// The number of the claim, which no other claim of the worker has.
    package let claim = Int64.random(in: .min ... .max)
    package var performed: [PerformedJob] = []
    /// The revision of the queue's pauses that the worker obeys. With another one in the store, the
    /// claim takes nothing.
    package var pauses: Int64 = 0
    package var from = ReadyPlace.start
    /// The number of deaths of its workers from which on a job is a *suspect*, which runs alone.
    package var suspectDeaths = Int.max
    /// Whether the worker holds no job after the ends, so that it may claim a suspect.
    package var mayClaimSuspect = false
    /// All attempts that the worker knows, after a transaction without an answer; otherwise nil.
    package var known: [AttemptToken]?

    package init(worker: String, queue: String) { (self.worker, self.queue) = (worker, queue) }
}

package struct PerformedJob: Sendable, Hashable {
    package let name: String
    package let version: Int

    package init(name: String, version: Int) { (self.name, self.version) = (name, version) }
}

package struct ExchangeAnswer: Sendable {
    /// In the order of the reports.
    package var verdicts: [VerdictAnswer] = []
    package var claimed: [ClaimedJob] = []
    /// Where the next look begins; nil unless the claim looked at any job.
    package var end: ReadyPlace?
    /// How long the claim looked for jobs.
    package var lookTime = Duration.zero
    /// Whether the claimed job is a suspect: the worker claims no other until it has ended.
    package var isSuspect = false
    /// Whether the queue has suspects, and this worker is the one that has to make room for them.
    package var hasSuspects = false
    /// Whether the claim found as many jobs as it wanted, so that there may be more.
    package var isFull = false
    package var isLeaseLost = false
    /// Whether nothing was claimed because the pauses of the queue have changed.
    package var havePausesChanged = false
    /// Jobs that were cancelled because of those that ended. Each may have dependents of its own,
    /// which are left to ``JobStore/resolveRest(reporting:)``.
    package var alsoEnded: [EndedJob] = []
    /// Whether a place of a key was freed, or may be free.
    package var freedKey = false
    /// In how long the next scheduled or retryable job of the queue is due; nil if there is none,
    /// or if the claim was full.
    package var nextDue: Duration?
}

/// A job's end, as those that wait for the result see it.
package struct JobOutcome: Sendable {
    package let id: JobID
    package let state: JobState
    package let result: Data?
    package let error: String?
    package let isUnpublished: Bool
}
#endif
