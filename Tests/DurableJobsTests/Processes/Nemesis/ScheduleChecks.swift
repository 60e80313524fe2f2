#if DurableJobs && JOB_FAULTS
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

/// A schedule of each second, which the driver writes, pauses and removes while there are faults,
/// and the workers fire. Each of its times has one job.
struct ScheduleChecks: Sendable {
    private static let name = "tick"
    private static let period: Int64 = 1_000
    /// How many missed times are fired.
    private static let limit: Int64 = 20

    let queue: JobQueue
    let settings: NemesisSettings

    /// The jobs of the schedule have no file.
    private var job: SlowWord {
        SlowWord(path: Self.name, longestWait: 20, isObedient: true, endsInTransaction: true)
    }

    /// Writes each change of the schedule's next time to a table, from now on.
    func logTimes(isFile: Bool) async throws {
        try await queue.store.database.transaction(.durable) { session in
            _ = try session.query(
                "CREATE TABLE fired (id {serial}, first BIGINT, last BIGINT, next BIGINT)")
            let insert =
                "INSERT INTO fired (first, last, next) VALUES (OLD.next_at, NEW.last_at, NEW.next_at)"
            if !isFile {
                _ = try session.query(
                    """
                    CREATE FUNCTION log_fire() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN \(insert); RETURN NULL; END $$
                    """)
            }
            _ = try session.query(
                """
                CREATE TRIGGER log_fire AFTER UPDATE OF next_at ON durable_job_schedule
                FOR EACH ROW WHEN (NEW.last_at IS NOT NULL
                    AND (OLD.last_at IS NULL OR NEW.last_at <> OLD.last_at))
                \(isFile ? "BEGIN \(insert); END" : "EXECUTE FUNCTION log_fire()")
                """)
        }
    }

    /// What the driver does: programs of three revisions start again and again, and somebody pauses
    /// the schedule. A store that does not answer is no finding.
    func disturb(until isOver: () -> Bool) async -> [String] {
        var wrong: [String] = []
        while !isOver() {
            do {
                try await queue.schedule(
                    Self.name, revision: Int.random(in: 1...3), .every(.seconds(1)),
                    missed: .all(upTo: Int(Self.limit)), overlap: .allow
                ) { job }
                try? await Task.sleep(for: .milliseconds(Int.random(in: 500..<3_000)))
                try await queue.pauseSchedule(Self.name)
                let before = try await lastTime()
                try? await Task.sleep(for: .milliseconds(Int.random(in: 0..<1_500)))
                let after = try await lastTime()
                if before != after { wrong.append("a paused schedule has fired \(after ?? 0)") }
                try await queue.resumeSchedule(Self.name)
            } catch let error as JobError where error.effect == .postponement {
                try? await Task.sleep(for: .milliseconds(200))
            } catch {
                wrong.append("the schedule: \(error)")
            }
        }
        while true {
            do {
                try await queue.unschedule(Self.name)
                return wrong
            } catch {
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    private func lastTime() async throws -> Int64? {
        try await queue.store.schedules(in: queue.name).first?.lastAt
    }

    /// Returns what is wrong in the end: a time that was fired and has no job, or a time with two,
    /// unless the clock of the store was set back by more than an hour in between.
    func findings() async throws -> (wrong: [String], times: Int) {
        let (fired, jobs) = try await queue.store.database.transaction(.relaxed) { session in
            let fired = try session.query(
                "SELECT first, last, next FROM fired WHERE first IS NOT NULL ORDER BY id")
            let jobs = try session.query(
                "SELECT unique_key, arguments FROM durable_job WHERE unique_key IS NOT NULL")
            return (fired, jobs)
        }
        var expected: [String: (time: Int64, count: Int)] = [:]
        for row in fired {
            let last = row.integer(1)
            let first = max(row.integer(0), last - (Self.limit - 1) * Self.period)
            for time in stride(from: first, through: last, by: Int(Self.period)) {
                let digest = try JobKey.digest(["schedule", Self.name, "\(time)"], for: "")
                expected["\(SlowWord.name) \(digest)", default: (time, 0)].count += 1
            }
        }
        var found: [String: Int] = [:]
        for row in jobs {
            let job = try SlowWord.decode(row.bytes(1) ?? Data(), version: 1)
            if job.path == Self.name { found[row.text(0) ?? "", default: 0] += 1 }
        }
        var wrong: [String] = []
        for (key, (time, count)) in expected {
            let jobs = found[key] ?? 0
            if jobs < 1 || jobs > count {
                wrong.append("the time \(time) was fired \(count) times, and has \(jobs) jobs")
            }
            let isTurnedBack = zip(fired, fired.dropFirst()).contains {
                $1.integer(0) < $0.integer(2)
            }
            if count > 1, !isTurnedBack {
                wrong.append("the time \(time) was fired \(count) times")
            }
        }
        for key in found.keys where expected[key] == nil {
            wrong.append("the schedule has a job of no time: \(key)")
        }
        return (wrong, expected.count)
    }
}
#endif
