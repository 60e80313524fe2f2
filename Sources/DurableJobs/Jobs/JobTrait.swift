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
            $0.uniqueAge = nil
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
            $0.uniqueAge = duration.limitedForStore
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
        JobTrait { $0.exclusiveKey = try JobKey.digest(key, for: "exclusive(by:)") }
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
