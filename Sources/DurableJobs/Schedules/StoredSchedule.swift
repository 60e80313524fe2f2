#if DurableJobs
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The settings of a schedule's jobs in their stored form. Times are milliseconds.
struct ScheduledOptions: Codable, Hashable {
    var priority: Int
    var retries: Int
    var backoff: String?
    var timeout: Int64?
    var delay: Int64?
    var deadline: Int64?
    var exclusiveKey: String?
    var places: Int?
    var group: String?

    /// - Parameters:
    ///   - options: those of the type and of the schedule.
    ///   - own: those of the schedule alone.
    /// - Throws: ``JobError/invalidSchedule(_:)`` if one makes no sense for jobs that are enqueued
    ///   again and again.
    init(_ options: JobOptions, own: JobOptions, of name: String) throws {
        guard own.uniqueKey == nil else {
            throw JobError.invalidSchedule(
                "the schedule '\(name)' has the trait .unique: leave it out, since each time of a "
                    + "schedule is enqueued once; overlap: .skip keeps jobs from overlapping")
        }
        (priority, retries) = (options.priority.rawValue, options.retryLimit)
        backoff = options.retryLimit > 0 ? BackoffText.encode(options.backoff) : nil
        timeout = options.timeout?.milliseconds
        delay = try Self.relative(options.start, "at", "delay", of: name)
        deadline = try Self.relative(options.deadline, "deadline", "deadline(in:)", of: name)
        (exclusiveKey, places, group) = (options.exclusiveKey, options.places, options.group)
    }

    private static func relative(
        _ moment: JobOptions.Moment?, _ trait: String, _ other: String, of name: String
    ) throws -> Int64? {
        switch moment {
        case nil: return nil
        case .after(let duration)?: return duration.milliseconds
        case .at?:
            throw JobError.invalidSchedule(
                "the schedule '\(name)' has the trait .\(trait) with a date, which is the same for "
                    + "all of its jobs: use .\(other)")
        }
    }

    /// The settings of one job, with its unique key.
    func options(uniqueKey: String) throws -> JobOptions {
        var options = try JobOptions([])
        options.priority = Operations.Operation.QueuePriority(rawValue: priority) ?? .normal
        options.retryLimit = retries
        options.backoff =
            try backoff.map { try JSONDecoder().decode(RetryBackoff.self, from: Data($0.utf8)) }
            ?? BackoffText.usual
        options.timeout = timeout.map { Duration(milliseconds: $0) }
        options.start = delay.map { .after(Duration(milliseconds: $0)) }
        options.deadline = deadline.map { .after(Duration(milliseconds: $0)) }
        (options.exclusiveKey, options.places, options.group) = (exclusiveKey, places, group)
        options.uniqueKey = uniqueKey
        return options
    }
}

/// A schedule as the store has it.
package struct StoredSchedule: Sendable, Hashable {
    /// What the program gives.
    package struct Definition: Sendable, Hashable {
        var revision: Int
        var spec: String
        var zone: String?
        var job: String
        var version: Int
        /// JSON with sorted keys.
        var arguments: Data
        /// ``ScheduledOptions`` as JSON with sorted keys.
        var options: String
        var missed: String
        var overlap: String

        /// In what another definition differs, beside the revision; nil if it does not.
        func difference(from other: Definition) -> String? {
            if job != other.job { return "the job '\(other.job)' in place of '\(job)'" }
            if spec != other.spec || zone != other.zone {
                return "the times '\(other.timesText)' in place of '\(timesText)'"
            }
            if version != other.version {
                return "version \(other.version) of the job in place of \(version)"
            }
            if arguments != other.arguments {
                return "other arguments; those with a Set, or with the present time, differ from "
                    + "start to start"
            }
            if options != other.options { return "other traits" }
            if (missed, overlap) != (other.missed, other.overlap) {
                return "missed: .\(other.missed), overlap: .\(other.overlap) in place of "
                    + "missed: .\(missed), overlap: .\(overlap)"
            }
            return nil
        }

        /// The times for people.
        var timesText: String {
            let parts = spec.split(separator: " ", maxSplits: 1).map(String.init)
            if parts.first == "every", let period = parts.last.flatMap({ Int64($0) }) {
                return JobSchedule(rule: .every(period), zone: nil).description
            }
            return "\(parts.last ?? spec) in \(zone ?? "GMT")"
        }

        /// The job of a schedule.
        ///
        /// - Parameter time: the scheduled time, or what else no other job of the schedule has.
        func newJob(named schedule: String, at time: String) throws -> NewJob {
            let options = try JSONDecoder().decode(
                ScheduledOptions.self, from: Data(self.options.utf8))
            let key = try JobKey.digest(["schedule", schedule, time], for: "schedule")
            return NewJob(
                name: job, version: version, arguments: arguments,
                options: try options.options(uniqueKey: key))
        }
    }

    package let name: String
    var definition: Definition
    let nextAt: Int64?
    let lastAt: Int64?
    let lastJob: JobID?
    let pausedAt: Int64?
}

/// What a transaction has done with schedules whose time has come.
package struct FiredSchedules: Sendable {
    /// The jobs that it has stored, with the names of their schedules and the scheduled times.
    package var jobs: [(job: JobID, schedule: String, time: Int64)] = []
    /// The number of schedules that have a new next time.
    package var changed = 0
    /// Why schedules were left to others.
    package var unreadable: [(name: String, reason: String)] = []
}
#endif
