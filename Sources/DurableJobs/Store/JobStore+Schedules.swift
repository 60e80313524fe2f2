#if DurableJobs
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The transactions of the section "Schedules" in Protocol.md. Each locks rows of schedules first.

extension JobStore {
    /// How far the store's clock may be set back before the next times are computed again.
    private static let turnedBackLimit = 3_600_000

    /// The time until the next time of a queue's schedules, and whether the clock was ahead. Parts
    /// of the question of each turn of the background steps.
    static let timeToNextSchedule = """
        (SELECT MIN(next_at) FROM durable_job_schedule WHERE queue = ? AND next_at IS NOT NULL)
            - {now}
        """
    static let hasTurnedBackSchedule = """
        EXISTS (SELECT 1 FROM durable_job_schedule
            WHERE queue = ? AND paused_at IS NULL AND computed_at > {now} + \(turnedBackLimit))
        """

    private static let scheduleColumns = """
        name, revision, spec, zone, job, version, arguments, options, missed, overlap,
        next_at, last_at, last_job, paused_at, {now}, computed_at
        """

    private static func schedule(_ row: SQLRow) -> StoredSchedule {
        StoredSchedule(
            name: row.text(0) ?? "",
            definition: .init(
                revision: Int(row.integer(1)), spec: row.text(2) ?? "", zone: row.text(3),
                job: row.text(4) ?? "", version: Int(row.integer(5)),
                arguments: row.bytes(6) ?? Data(), options: row.text(7) ?? "",
                missed: row.text(8) ?? "", overlap: row.text(9) ?? ""),
            nextAt: row.optionalInteger(10), lastAt: row.optionalInteger(11),
            lastJob: row.optionalInteger(12).map { JobID($0) },
            pausedAt: row.optionalInteger(13))
    }

    /// Returns the schedules of a queue in the order of their names.
    package func schedules(in queue: String) async throws -> [StoredSchedule] {
        try await database.transaction(.reading) { session in
            try session.query(
                "SELECT \(Self.scheduleColumns) FROM durable_job_schedule WHERE queue = ? ORDER BY name",
                [.text(queue)]
            ).map(Self.schedule)
        }
    }

    // MARK: Firing

    private static let due = """
        SELECT \(scheduleColumns) FROM durable_job_schedule
        WHERE queue = ? AND paused_at IS NULL
            AND (next_at <= {now} OR computed_at > {now} + \(turnedBackLimit))
        ORDER BY name LIMIT 1000 {skip_locked}
        """

    /// Enqueues the jobs of the schedules whose time has come, and computes their next times.
    ///
    /// - Parameter zones: returns what this process knows about a time zone.
    func fireSchedules(
        in queue: String,
        zones: @escaping @Sendable (String) throws -> ZoneOffsets = { try ZoneOffsets.named($0) }
    ) async throws -> FiredSchedules {
        try await database.transaction(.durable) { session in
            var fired = FiredSchedules()
            for row in try session.query(Self.due, [.text(queue)]) {
                let stored = Self.schedule(row)
                let (now, computedAt) = (row.integer(14), row.integer(15))
                let fire: Fire
                do {
                    let isTurnedBack = computedAt > now + Int64(Self.turnedBackLimit)
                    fire = try Fire(stored, now: now, isTurnedBack: isTurnedBack, zones)
                } catch {
                    fired.unreadable.append((stored.name, "\(error)"))
                    continue
                }
                try perform(fire, of: stored, in: queue, &fired, session)
            }
            return fired
        }
    }

    /// What a transaction does with a schedule whose time has come.
    private struct Fire {
        var jobs: [(time: Int64, job: NewJob)] = []
        let skipsOverlap: Bool
        let next: Int64?

        /// - Throws: an error if this process cannot read the schedule.
        init(
            _ stored: StoredSchedule, now: Int64, isTurnedBack: Bool,
            _ zones: (String) throws -> ZoneOffsets
        ) throws {
            let definition = stored.definition
            let schedule = try JobSchedule(
                spec: definition.spec, zone: definition.zone, zones: zones)
            guard let missed = JobSchedule.Missed(text: definition.missed),
                let overlap = JobSchedule.Overlap(rawValue: definition.overlap)
            else {
                throw JobError.invalidSchedule(
                    "missed: \(definition.missed), overlap: \(definition.overlap) is of a newer "
                        + "version of the library: update this program")
            }
            skipsOverlap = overlap == .skip
            next = schedule.next(after: now)
            guard !isTurnedBack, let first = stored.nextAt else { return }
            jobs = try missed.times(of: schedule, from: first, upTo: now).map {
                ($0, try definition.newJob(named: stored.name, at: "\($0)"))
            }
        }
    }

    private func perform(
        _ fire: Fire, of stored: StoredSchedule, in queue: String, _ fired: inout FiredSchedules,
        _ session: any SQLSession
    ) throws {
        var (lastAt, lastJob) = (stored.lastAt, stored.lastJob)
        for (time, job) in fire.jobs {
            if fire.skipsOverlap, try isUnfinished(lastJob, session) { break }
            let id = try enqueue(job, in: queue, session)
            fired.jobs.append((id, stored.name, time))
            (lastAt, lastJob) = (time, id)
        }
        _ = try session.query(
            """
            UPDATE durable_job_schedule SET next_at = ?, last_at = ?, last_job = ?,
                computed_at = {now}
            WHERE queue = ? AND name = ?
            """,
            [
                SQLValue(fire.next), SQLValue(lastAt), SQLValue(lastJob?.rawValue), .text(queue),
                .text(stored.name),
            ])
        fired.changed += 1
    }

    private func enqueue(
        _ job: NewJob, in queue: String, _ session: any SQLSession
    ) throws -> JobID {
        var places = BatchPlaces()
        let ids = try Enqueueing.enqueue(
            [job], in: queue, at: &places, extension: `extension`, session)
        return ids[0]
    }

    private func isUnfinished(_ job: JobID?, _ session: any SQLSession) throws -> Bool {
        guard let job else { return false }
        return try !session.query(
            "SELECT 1 FROM durable_job WHERE id = ? AND state < 10", [.integer(job.rawValue)]
        ).isEmpty
    }

    // MARK: Changing

    /// Returns a schedule, and locks its row; nil if there is none.
    private static func locked(
        _ name: String, in queue: String, _ session: any SQLSession
    ) throws -> (schedule: StoredSchedule, now: Int64)? {
        try session.query(
            """
            SELECT \(scheduleColumns) FROM durable_job_schedule WHERE queue = ? AND name = ? {lock}
            """, [.text(queue), .text(name)]
        ).first.map { (schedule($0), $0.integer(14)) }
    }

    private static func known(
        _ name: String, in queue: String, _ session: any SQLSession
    ) throws -> (schedule: StoredSchedule, now: Int64) {
        guard let found = try locked(name, in: queue, session) else {
            throw JobError.unknownSchedule(name, queue: queue)
        }
        return found
    }

    /// Writes a schedule, unless the queue has it in the same or in a higher revision.
    ///
    /// - Returns: the schedule as it is after the call.
    /// - Throws: ``JobError/scheduleConflict(_:revision:difference:)``.
    func write(
        _ definition: StoredSchedule.Definition, _ times: JobSchedule, named name: String,
        in queue: String
    ) async throws -> StoredSchedule {
        try await database.transaction(.durable) { session in
            let key: [SQLValue] = [.text(queue), .text(name)]
            let values: [SQLValue] = [
                .integer(Int64(definition.revision)), .text(definition.spec),
                SQLValue(definition.zone), .text(definition.job),
                .integer(Int64(definition.version)), .bytes(definition.arguments),
                .text(definition.options), .text(definition.missed), .text(definition.overlap),
            ]
            // Another program may insert the row meanwhile. Nothing is written then.
            let next = SQLValue(times.next(after: try session.now()))
            let inserted = try session.query(
                """
                INSERT INTO durable_job_schedule (queue, name, revision, spec, zone, job, version,
                    arguments, options, missed, overlap, next_at, computed_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {now})
                ON CONFLICT (queue, name) DO NOTHING RETURNING name
                """, key + values + [next])
            let (found, now) = try Self.known(name, in: queue, session)
            guard inserted.isEmpty, found.definition.revision <= definition.revision else {
                return found
            }
            guard found.definition.revision < definition.revision else {
                if let difference = found.definition.difference(from: definition) {
                    throw JobError.scheduleConflict(
                        name, revision: definition.revision, difference: difference)
                }
                return found
            }
            let keepsTimes =
                (found.definition.spec, found.definition.zone)
                == (definition.spec, definition.zone) || found.pausedAt != nil
            _ = try session.query(
                """
                UPDATE durable_job_schedule SET revision = ?, spec = ?, zone = ?, job = ?,
                    version = ?, arguments = ?, options = ?, missed = ?, overlap = ?
                WHERE queue = ? AND name = ?
                """, values + key)
            if !keepsTimes {
                try setNext(times.next(after: now), isPaused: false, key, session)
            }
            return try Self.known(name, in: queue, session).schedule
        }
    }

    private func setNext(
        _ time: Int64?, isPaused: Bool, _ key: [SQLValue], _ session: any SQLSession
    ) throws {
        _ = try session.query(
            """
            UPDATE durable_job_schedule SET next_at = ?, computed_at = {now},
                paused_at = \(isPaused ? "{now}" : "NULL")
            WHERE queue = ? AND name = ?
            """, [SQLValue(time)] + key)
    }

    /// - Returns: whether there was such a schedule.
    func deleteSchedule(_ name: String, in queue: String) async throws -> Bool {
        try await database.transaction(.durable) { session in
            try !session.query(
                "DELETE FROM durable_job_schedule WHERE queue = ? AND name = ? RETURNING name",
                [.text(queue), .text(name)]
            ).isEmpty
        }
    }

    func pauseSchedule(_ name: String, in queue: String) async throws {
        try await database.transaction(.durable) { session in
            let found = try Self.known(name, in: queue, session).schedule
            guard found.pausedAt == nil else { return }
            try setNext(nil, isPaused: true, [.text(queue), .text(name)], session)
        }
    }

    func resumeSchedule(_ name: String, in queue: String) async throws {
        try await database.transaction(.durable) { session in
            let (found, now) = try Self.known(name, in: queue, session)
            guard found.pausedAt != nil else { return }
            let times = try JobSchedule(
                spec: found.definition.spec, zone: found.definition.zone,
                zones: ZoneOffsets.named)
            try setNext(
                times.next(after: now), isPaused: false, [.text(queue), .text(name)], session)
        }
    }

    /// Enqueues the job of a schedule now.
    func runSchedule(_ name: String, in queue: String) async throws -> JobID {
        let id = try await database.transaction(.durable) { session in
            let (found, now) = try Self.known(name, in: queue, session)
            if found.definition.overlap == JobSchedule.Overlap.skip.rawValue,
                let last = found.lastJob, try isUnfinished(last, session)
            {
                return last
            }
            let job = try found.definition.newJob(named: name, at: "run at \(now)")
            let id = try enqueue(job, in: queue, session)
            _ = try session.query(
                "UPDATE durable_job_schedule SET last_job = ? WHERE queue = ? AND name = ?",
                [.integer(id.rawValue), .text(queue), .text(name)])
            return id
        }
        database.announce(queue)
        return id
    }
}
#endif
