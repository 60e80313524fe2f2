#if DurableJobs
/// The statements that let the jobs of one exclusive key wait: all but the one that runs are
/// *parked*, so that no claim looks at them, and the end of each attempt releases the next one.
enum ExclusiveKeys {
    /// The number of jobs that one transaction parks.
    private static let portion = 1_000

    /// Parks the ready jobs of a key that another job holds.
    static func park(_ key: String, _ queue: String, _ session: any SQLSession) throws {
        // The end of the holder waits, and then finds what this transaction parks.
        let holder = try session.query(
            "SELECT 1 FROM durable_job_lock WHERE queue = ? AND key = ? {lock}",
            [.text(queue), .text(key)])
        guard !holder.isEmpty else { return }
        let ids = try session.query(
            """
            SELECT id FROM durable_job WHERE queue = ? AND exclusive_key = ? AND state = 2
                AND exclusive_key IS NOT NULL AND parked = 0
            ORDER BY id LIMIT \(portion) {skip_locked}
            """, [.text(queue), .text(key)])
        _ = try session.batch(
            "UPDATE durable_job SET parked = 1 WHERE id = ?", ids.map { [$0.values[0]] })
    }

    /// Frees the keys of jobs, and releases the first parked job of each key.
    ///
    /// - Parameter jobs: the arguments of statements, one number each.
    static func free(_ jobs: [[SQLValue]], _ session: any SQLSession) throws {
        let keys = try session.batch(
            "DELETE FROM durable_job_lock WHERE job = ? RETURNING queue, key", jobs
        ).joined()
        for key in keys { try release(key.values[0], key.values[1], session) }
    }

    private static func release(
        _ queue: SQLValue, _ key: SQLValue, _ session: any SQLSession
    ) throws {
        // A job that another transaction has locked is skipped, and released later by
        // ``releaseLeft``.
        let first = try session.query(
            """
            SELECT id FROM durable_job WHERE queue = ? AND exclusive_key = ? AND state = 2
                AND exclusive_key IS NOT NULL AND parked = 1
            ORDER BY rank, position, id LIMIT 1 {skip_locked}
            """, [queue, key])
        _ = try session.batch(
            "UPDATE durable_job SET parked = 0 WHERE id = ?", first.map { [$0.values[0]] })
    }

    /// Releases the first job of each key that no job holds: the released one may have been
    /// cancelled, or skipped.
    static func releaseLeft(in queue: String, _ session: any SQLSession) throws -> Int {
        let keys = try session.query(
            """
            SELECT DISTINCT exclusive_key FROM durable_job j
            WHERE queue = ? AND state = 2 AND exclusive_key IS NOT NULL AND parked = 1
                AND NOT EXISTS (
                    SELECT 1 FROM durable_job_lock l
                    WHERE l.queue = j.queue AND l.key = j.exclusive_key)
            LIMIT 100
            """, [.text(queue)])
        for key in keys { try release(.text(queue), key.values[0], session) }
        return keys.count
    }
}

extension JobStore {
    /// Releases jobs whose exclusive key is free, and that no end of an attempt has released.
    ///
    /// - Returns: the number of jobs.
    package func releaseParked(in queue: String) async throws -> Int {
        try await database.transaction(.relaxed) {
            try ExclusiveKeys.releaseLeft(in: queue, $0)
        }
    }
}
#endif
