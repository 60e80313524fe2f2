#if DurableJobs
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A schedule as it is in the store at one moment.
public struct JobScheduleInfo: Sendable, Hashable {
    /// The name of the schedule in its queue.
    public let name: String
    /// The revision of the program that has written the schedule.
    public let revision: Int
    /// The times for people, such as `0 3 * * 1-5 in Europe/Berlin`.
    public let times: String
    /// The name of the type of its jobs.
    public let job: String
    /// The next time, by the store's clock; nil while the schedule is paused.
    public let nextAt: Date?
    /// The last scheduled time for which a job was enqueued; nil if there was none.
    public let lastAt: Date?
    /// The job that was enqueued last, for a time or by ``JobQueue/runNow(_:)``; nil if none was.
    public let lastJob: JobID?
    /// Since when the schedule is paused; nil if it is not.
    public let pausedAt: Date?

    init(_ stored: StoredSchedule) {
        (name, lastJob) = (stored.name, stored.lastJob)
        (revision, job) = (stored.definition.revision, stored.definition.job)
        times = stored.definition.timesText
        nextAt = stored.nextAt.map { Date(milliseconds: $0) }
        lastAt = stored.lastAt.map { Date(milliseconds: $0) }
        pausedAt = stored.pausedAt.map { Date(milliseconds: $0) }
    }
}

extension JobQueue {
    /// Enqueues a job at each time of a schedule, once for all processes together.
    ///
    /// ```swift
    /// try await jobs.schedule("digest", revision: 1, .cron("0 3 * * *", in: "Europe/Berlin")) {
    ///     SendDigest()
    /// }
    /// ```
    ///
    /// The schedule is stored, so call the method at each start of a program; the workers of the
    /// queue enqueue its jobs, also after this program has ended. If the queue has the schedule in
    /// this revision already, nothing changes; if it has it in a lower one, the new schedule takes
    /// its place. So the programs of a rolling deploy agree: one of an older revision changes
    /// nothing.
    ///
    /// - Parameters:
    ///   - name: the name of the schedule in the queue, 1 to 200 bytes.
    ///   - revision: a number that is raised with each change of the other parameters and of the
    ///     job.
    ///   - times: the times.
    ///   - missed: what becomes of times at which no worker ran.
    ///   - overlap: what happens at a time at which the last job of the schedule has not ended.
    ///   - traits: further settings of the jobs, after those of their type. A unique key of the
    ///     type does not count, and `.unique` is refused here.
    ///   - job: returns the job, once, in this call. All jobs of the schedule have its arguments.
    /// - Returns: the schedule as it is after the call, perhaps of a higher revision.
    /// - Throws: ``JobError/scheduleConflict(_:revision:difference:)`` if the queue has this
    ///   revision of the schedule with something else; ``JobError/invalidSchedule(_:)``.
    @discardableResult
    nonisolated(nonsending) public func schedule<J: Job>(
        _ name: String, revision: Int = 1, _ times: JobSchedule,
        missed: JobSchedule.Missed = .once, overlap: JobSchedule.Overlap = .skip,
        _ traits: JobTrait..., job: () throws -> J
    ) async throws -> JobScheduleInfo {
        try JobCoding.check(name: name)
        try JobCoding.check(name: J.name)
        if case .all(let limit) = missed {
            guard (1...1000).contains(limit) else {
                throw JobError.invalidSchedule(
                    "the schedule '\(name)' has missed: .all(upTo: \(limit)): use 1 to 1000, or "
                        + ".none")
            }
            guard overlap == .allow else {
                throw JobError.invalidSchedule(
                    "the schedule '\(name)' has missed: .all, whose jobs are enqueued together: "
                        + "write overlap: .allow, or missed: .once")
            }
        }
        let options = try ScheduledOptions(
            JobOptions(traits, of: J.self), own: JobOptions(traits), of: name)
        let job = try job()
        // This checks the length.
        _ = try JobCoding.arguments(of: job)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let definition = StoredSchedule.Definition(
            revision: revision, spec: times.spec, zone: times.zone?.identifier, job: J.name,
            version: J.version, arguments: try encoder.encode(job),
            options: String(decoding: try encoder.encode(options), as: UTF8.self),
            missed: missed.text, overlap: overlap.rawValue)
        return JobScheduleInfo(
            try await store.write(definition, times, named: name, in: self.name))
    }

    /// Removes a schedule. Jobs that it has enqueued stay.
    ///
    /// - Returns: whether the queue had a schedule with this name.
    @discardableResult
    public func unschedule(_ name: String) async throws -> Bool {
        try await store.deleteSchedule(name, in: self.name)
    }

    /// Returns the schedules of the queue in the order of their names.
    public func schedules() async throws -> [JobScheduleInfo] {
        try await store.schedules(in: name).map(JobScheduleInfo.init)
    }

    /// Pauses a schedule, until ``resumeSchedule(_:)``. When the method has returned, the schedule
    /// enqueues no job. A new revision of the schedule stays paused.
    ///
    /// - Throws: ``JobError/unknownSchedule(_:queue:)``.
    public func pauseSchedule(_ name: String) async throws {
        try await store.pauseSchedule(name, in: self.name)
    }

    /// Lets a paused schedule go on with its next time. Those that came meanwhile are dropped.
    ///
    /// - Throws: ``JobError/unknownSchedule(_:queue:)``; ``JobError/invalidSchedule(_:)`` if this
    ///   process does not know the schedule's time zone.
    public func resumeSchedule(_ name: String) async throws {
        try await store.resumeSchedule(name, in: self.name)
    }

    /// Enqueues the job of a schedule at once, also if the schedule is paused. Its times stay the
    /// same.
    ///
    /// - Returns: the job; with `overlap: .skip`, the last job of the schedule if that has not
    ///   ended.
    /// - Throws: ``JobError/unknownSchedule(_:queue:)``.
    @discardableResult
    public func runNow(_ name: String) async throws -> JobID {
        let id = try await store.runSchedule(name, in: self.name)
        signals.jobsAdded()
        return id
    }
}
#endif
