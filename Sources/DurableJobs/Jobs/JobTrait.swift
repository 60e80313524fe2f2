#if DurableJobs
public import Operations

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A setting of a job that is stored with it, so that it holds in every worker.
///
/// A type of job may have settings of its own, ``Job/defaultTraits``. Those of `enqueue` come after
/// them.
///
/// ```swift
/// try await jobs.enqueue(Thumbnail(photo: name, size: 320), .priority(.high), .retry(3))
/// ```
///
/// Of several traits that set the same thing, such as two deadlines, the last one counts. Times are
/// limited to a century; a negative time counts as zero.
public struct JobTrait: Sendable {
    /// Writes the trait into the job's options.
    let apply: @Sendable (inout JobOptions) throws -> Void

    /// The job's priority in its queue, and that of its operation in a worker.
    public static func priority(_ priority: Operations.Operation.QueuePriority) -> JobTrait {
        JobTrait { $0.priority = priority }
    }

    /// Runs the job again if it fails, up to a given number of times. A job without this trait is
    /// not run again: it is discarded at its first failure.
    ///
    /// The death of a worker does not count as a failure of the job. But a job whose workers have
    /// died several times in a row is discarded; see ``JobWorker/Options/deathLimit``.
    ///
    /// - Parameters:
    ///   - limit: how many further attempts there are at most; not negative.
    ///   - backoff: how long to wait before each of them.
    public static func retry(
        _ limit: Int, backoff: RetryBackoff = .exponential(from: .seconds(1), max: .seconds(3600))
    ) -> JobTrait {
        JobTrait {
            guard limit >= 0 else { throw JobError.invalidTrait("retry(\(limit)): use 0 or more") }
            ($0.retryLimit, $0.backoff) = (limit, backoff)
        }
    }

    /// Limits the time that each attempt may take. An attempt that takes longer has failed.
    public static func timeout(_ duration: Duration) -> JobTrait {
        JobTrait { $0.timeout = duration.limitedForStore }
    }

    /// Makes the job available only when a time has passed since it was enqueued.
    public static func delay(_ duration: Duration) -> JobTrait {
        JobTrait { $0.start = .after(duration.limitedForStore) }
    }

    /// Makes the job available at a moment, by the store's clock.
    public static func at(_ date: Date) -> JobTrait {
        JobTrait { $0.start = .at(try date.millisecondsForStore("at")) }
    }

    /// Discards the job if it has not ended when a time has passed since it was enqueued. A run
    /// under way is asked to stop.
    public static func deadline(in duration: Duration) -> JobTrait {
        JobTrait { $0.deadline = .after(duration.limitedForStore) }
    }

    /// Discards the job if it has not ended at a moment, by the store's clock.
    public static func deadline(_ date: Date) -> JobTrait {
        JobTrait { $0.deadline = .at(try date.millisecondsForStore("deadline")) }
    }

    /// Joins the unfinished job of the same type and key in the queue, instead of adding a second
    /// one.
    ///
    /// `enqueue` then returns the handle of that job, which keeps its own arguments, traits and
    /// dependencies: those of the new one are dropped. With the module `DurableJobFiles`, a
    /// completed job is joined, too, whose attachment is still in the store.
    ///
    /// - Parameter key: any value. Only a digest of its JSON is stored, so the key may be long. A
    ///   `Set` is refused, and a `Dictionary` whose keys are not text or numbers: the order of
    ///   their JSON differs from process to process.
    public static func unique(by key: some Encodable & Sendable) -> JobTrait {
        JobTrait {
            $0.uniqueKey = try JobKey.digest(key, for: "unique(by:)")
            ($0.uniqueAge, $0.change) = (nil, [])
        }
    }

    /// What a joined job gets from the new one, if it does not run; see ``joining(_:)``.
    public struct UniqueChange: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: Int

        /// Makes a set from its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The arguments, and their version.
        public static let replacingArguments = UniqueChange(rawValue: 1)
        /// The time at which it becomes available: that of ``JobTrait/delay(_:)`` or
        /// ``JobTrait/at(_:)``, counted from now; without these, now.
        public static let postponing = UniqueChange(rawValue: 2)
    }

    /// Changes a job that is joined because of the unique key before this trait, unless it runs or
    /// has ended.
    ///
    /// With both changes the key is a *debounce*: however often a document is changed, one job
    /// runs, two seconds after the last change, with the last arguments.
    ///
    /// ```swift
    /// try await jobs.enqueue(
    ///     Index(document: id, revision: 7), .unique(by: id), .delay(.seconds(2)),
    ///     .joining([.replacingArguments, .postponing]))
    /// ```
    ///
    /// A job that runs is joined as it is, and may have read its arguments. If each change must be
    /// followed by a run, give the job a key with the revision as well.
    public static func joining(_ change: UniqueChange) -> JobTrait {
        JobTrait {
            guard $0.uniqueKey != nil else {
                throw JobError.invalidTrait(
                    "joining(_:) without a key: write unique(by:) or unique(by:for:) before it")
            }
            $0.change = change
        }
    }

    /// Joins the job of the same type and key in the queue, also if it has ended, for a time after
    /// its end, and however it has ended. So `enqueue` may be called again by a program that does
    /// not know whether it has enqueued the job before.
    ///
    /// The time is limited by that for which the store keeps ended jobs, which the options
    /// `history` and `archive` of ``JobWorker`` set. To run a job again that has failed, use
    /// ``JobQueue/retry(_:)``.
    ///
    /// - Parameters:
    ///   - key: as for ``unique(by:)``.
    ///   - duration: the time after the end of the job.
    public static func unique(
        by key: some Encodable & Sendable, for duration: Duration
    ) -> JobTrait {
        JobTrait {
            $0.uniqueKey = try JobKey.digest(key, for: "unique(by:for:)")
            ($0.uniqueAge, $0.change) = (duration.limitedForStore, [])
        }
    }

    /// Runs the jobs of the queue with the same key one at a time, in all workers together.
    ///
    /// A worker that is paused for longer than its lease loses its jobs to another worker. When it
    /// goes on, its run and the new one overlap until it notices. A job that must not overlap asks
    /// ``JobContext/isLeaseLost`` before each step that counts.
    ///
    /// - Parameter key: any value. Only a digest of its JSON is stored, so the key may be long. A
    ///   `Set` is refused, and a `Dictionary` whose keys are not text or numbers: the order of
    ///   their JSON differs from process to process.
    public static func exclusive(by key: some Encodable & Sendable) -> JobTrait {
        JobTrait {
            ($0.exclusiveKey, $0.places) = (try JobKey.digest(key, for: "exclusive(by:)"), nil)
        }
    }

    /// Runs at most a number of the queue's jobs with the same key at the same time, in all workers
    /// together, such as four for each host that they ask.
    ///
    /// A key has as many *places*. A job keeps its place from its claim to the end of the attempt,
    /// and the place goes to another worker together with the job. So the number is exceeded only
    /// as ``exclusive(by:)`` says, by a worker that is paused for longer than its lease.
    ///
    /// The number belongs to the job. If jobs of one key have different numbers, each takes one of
    /// the first places, as many as its own number says: with the numbers 2 and 5, five jobs of the
    /// key may run, and a job with the 2 waits until one of the first two places is free.
    /// ``exclusive(by:)`` with the same key is the number 1. A job has one key only: of these two
    /// traits the last one counts.
    ///
    /// - Parameters:
    ///   - count: how many jobs run at most, from 1 to 10,000. A claim of such jobs reads as many
    ///     rows as places are taken.
    ///   - key: as for ``exclusive(by:)``.
    public static func limited(to count: Int, by key: some Encodable & Sendable) -> JobTrait {
        JobTrait {
            guard (1...10_000).contains(count) else {
                throw JobError.invalidTrait(
                    "limited(to: \(count), by:): use 1 to 10,000; to run none, pause the queue or "
                        + "the type of jobs")
            }
            $0.exclusiveKey = try JobKey.digest(key, for: "limited(to:by:)")
            $0.places = count == 1 ? nil : count
        }
    }

    /// Lets the groups of a queue take turns, such as those of the tenants of a service: the jobs
    /// of a group with a million waiting jobs do not hold back those of a group with ten.
    ///
    /// The first waiting job of each group comes first, then the second one of each, and so on,
    /// among jobs of one priority. A job without a group that is enqueued by itself comes with the
    /// first ones.
    ///
    /// An `enqueue` keeps the row of the group locked until its transaction ends. So two
    /// transactions of the program that enqueue into one group come one after the other.
    ///
    /// - Parameter key: any value, as for ``exclusive(by:)``.
    public static func group(_ key: some Encodable & Sendable) -> JobTrait {
        JobTrait { $0.group = try JobKey.digest(key, for: "group(_:)") }
    }
}

/// The combined settings of all traits of one job.
package struct JobOptions: Sendable {
    /// A moment, as the trait gave it.
    package enum Moment: Sendable {
        case after(Duration)
        /// Milliseconds since 1970.
        case at(Int64)

        /// - Parameter now: the store's time, in milliseconds since 1970.
        package func milliseconds(now: Int64) -> Int64 {
            switch self {
            case .after(let duration): now + duration.milliseconds
            case .at(let time): time
            }
        }
    }

    package var priority = Operations.Operation.QueuePriority.normal
    package var retryLimit = 0
    package var backoff = RetryBackoff.none
    package var timeout: Duration?
    package var start: Moment?
    package var deadline: Moment?
    package var uniqueKey: String?
    /// For how long after its end a job with the key is joined; nil if only until then.
    package var uniqueAge: Duration?
    package var exclusiveKey: String?
    /// The number of places of the exclusive key; nil for one.
    package var places: Int?
    package var group: String?
    /// What a job of the same unique key that does not run gets from this one.
    package var change: JobTrait.UniqueChange = []

    /// The stored form of the back-off.
    package var storedBackoff: String? { retryLimit > 0 ? BackoffText.encode(backoff) : nil }

    /// The negative priority, so that all columns of the ready order ascend.
    package var rank: Int64 { Int64(-priority.rawValue) }

    package init(_ traits: [JobTrait]) throws {
        for trait in traits { try trait.apply(&self) }
    }

    /// The settings of the type, and then those of one job.
    package init<J: Job>(_ traits: [JobTrait], of type: J.Type) throws {
        try self.init(J.defaultTraits + traits)
    }
}

extension Duration {
    /// Whole milliseconds, rounded down.
    package var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// The duration between zero and a century.
    var limitedForStore: Duration { min(max(self, .zero), .seconds(100 * 365 * 86_400)) }
}

extension Date {
    /// Milliseconds since 1970.
    func millisecondsForStore(_ trait: String) throws -> Int64 {
        let time = timeIntervalSince1970 * 1000
        guard time.isFinite, abs(time) < 1e15 else {
            throw JobError.invalidTrait("\(trait): \(timeIntervalSince1970) is no date")
        }
        return Int64(time)
    }

    /// - Parameter milliseconds: since 1970.
    init(milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}
#endif
