#if DurableJobs
/// The statements about the places of keys: an exclusive key has one, and the key of a limit has as
/// many as each of its jobs says. The jobs that have no place are *parked*, so that no claim looks
/// at them, and the end of each attempt releases the next one.
enum ExclusiveKeys {
    /// The number of jobs that one transaction parks.
    private static let portion = 1_000

    /// A picked job that needs a place of its key.
    private struct Applicant {
        let job: SQLValue
        /// The number of places of the key, for this job.
        let limit: Int64
        let isLimited: Bool

        init(_ row: SQLRow) {
            job = row.values[0]
            (limit, isLimited) = (row.optionalInteger(4) ?? 1, row.optionalInteger(4) != nil)
        }
    }

    private struct Seat {
        let key: String
        let slot: Int64
        let applicant: Applicant

        /// Places differ in their names, for programs of version 11, too.
        var row: [SQLValue] {
            [
                .text(slot == 0 ? key : "\(key) \(slot)"), applicant.job, .integer(slot),
                applicant.isLimited ? .text(key) : .null,
            ]
        }
    }

    /// Takes places for picked jobs, and parks the jobs of keys that have none.
    ///
    /// - Parameter rows: the jobs, each with its key and the number of places in columns 3 and 4.
    /// - Returns: the jobs that have a place, or need none; and whether the next look may find a
    ///   free place of a key that this one has not taken.
    static func take(
        for rows: [SQLRow], _ queue: String, _ session: any SQLSession
    ) throws -> (rows: [SQLRow], hasFree: Bool) {
        var waiting: [String: [Applicant]] = [:]
        for row in rows {
            if let key = row.text(3) { waiting[key, default: []].append(Applicant(row)) }
        }
        guard !waiting.isEmpty else { return (rows, false) }
        let limited = waiting.filter { $0.value.contains(where: \.isLimited) }.keys.sorted()
        let used = try session.batch(
            "SELECT slot FROM durable_job_lock WHERE \(isOfKey)",
            limited.map { [.text(queue), .text($0), .text($0)] })
        let slots = Dictionary(
            uniqueKeysWithValues: zip(limited, used.map { Set($0.map { $0.integer(0) }) }))
        let seats = waiting.sorted { $0.key < $1.key }.flatMap { key, applicants in
            Self.seats(for: applicants, of: key, without: slots[key] ?? [])
        }
        let taken = try take(seats, queue, session)
        var hasFree = false
        for (key, applicants) in waiting.sorted(by: { $0.key < $1.key }) {
            let rest = applicants.filter { !taken.contains($0.job) }
            // Of an exclusive key that has just been taken, the next claim parks the rest.
            guard !rest.isEmpty, slots[key] != nil || rest.count == applicants.count
            else { continue }
            if try park(rest, of: key, queue, session) { hasFree = true }
        }
        return (rows.filter { $0.text(3) == nil || taken.contains($0.values[0]) }, hasFree)
    }

    private static let isOfKey = "queue = ? AND (key = ? OR base = ?)"

    /// The lowest free places of a key, for the first of the jobs.
    private static func seats(
        for applicants: [Applicant], of key: String, without used: Set<Int64>
    ) -> [Seat] {
        var used = used
        return applicants.compactMap { applicant in
            guard let slot = (0..<applicant.limit).first(where: { !used.contains($0) }) else {
                return nil
            }
            used.insert(slot)
            return Seat(key: key, slot: slot, applicant: applicant)
        }
    }

    /// - Returns: the jobs whose places were free.
    private static func take(
        _ seats: [Seat], _ queue: String, _ session: any SQLSession
    ) throws -> Set<SQLValue> {
        let written = try session.batch(
            """
            INSERT INTO durable_job_lock (queue, key, job, slot, base) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (queue, key) DO NOTHING RETURNING job
            """, seats.map { [.text(queue)] + $0.row })
        return Set(written.compactMap { $0.first?.values[0] })
    }

    /// Parks the ready jobs of a key that may not have any of its places, unless one has become
    /// free since the look.
    ///
    /// A place that is free now is left to the next look. This transaction has locked the rows of
    /// the key, and must not wait for others that insert one, because they may wait for it.
    ///
    /// - Returns: whether a place may be free.
    private static func park(
        _ applicants: [Applicant], of key: String, _ queue: String, _ session: any SQLSession
    ) throws -> Bool {
        // The ends of the holders wait, and then find what this transaction parks.
        let holders = try session.query(
            "SELECT slot FROM durable_job_lock WHERE \(isOfKey) ORDER BY slot {lock}",
            [.text(queue), .text(key), .text(key)])
        let used = Set(holders.map { $0.integer(0) })
        guard seats(for: applicants, of: key, without: used).isEmpty else { return true }
        try park(key, upTo: applicants.map(\.limit).max() ?? 1, queue, session)
        return false
    }

    /// Parks the ready jobs of a key whose places other jobs have. Those that this claim has given
    /// a place are still ready.
    ///
    /// - Parameter limit: the number of the key's first places that are taken.
    private static func park(
        _ key: String, upTo limit: Int64, _ queue: String, _ session: any SQLSession
    ) throws {
        let ids = try session.query(
            """
            SELECT id FROM durable_job WHERE queue = ? AND exclusive_key = ? AND state = 2
                AND exclusive_key IS NOT NULL AND parked = 0 AND COALESCE(slots, 1) <= ?
                AND id NOT IN (SELECT job FROM durable_job_lock WHERE \(isOfKey))
            ORDER BY id LIMIT \(portion) {skip_locked}
            """,
            [
                .text(queue), .text(key), .integer(limit), .text(queue), .text(key), .text(key),
            ])
        _ = try session.batch(
            "UPDATE durable_job SET parked = 1 WHERE id = ?", ids.map { [$0.values[0]] })
    }

    /// Frees the places of jobs, and releases for each place the first parked job that may have it.
    ///
    /// - Parameter jobs: the arguments of statements, one number each.
    static func free(_ jobs: [[SQLValue]], _ session: any SQLSession) throws {
        let places = try session.batch(
            """
            DELETE FROM durable_job_lock WHERE job = ?
            RETURNING queue, COALESCE(base, key), slot
            """, jobs
        ).joined()
        for place in places {
            try release(place.values[0], place.values[1], place.integer(2), session)
        }
    }

    private static func release(
        _ queue: SQLValue, _ key: SQLValue, _ slot: Int64, _ session: any SQLSession
    ) throws {
        // A job that another transaction has locked is skipped, and released later by
        // ``releaseLeft``.
        let first = try session.query(
            """
            SELECT id FROM durable_job WHERE queue = ? AND exclusive_key = ? AND state = 2
                AND exclusive_key IS NOT NULL AND parked = 1 AND COALESCE(slots, 1) > ?
            ORDER BY rank, position, id LIMIT 1 {skip_locked}
            """, [queue, key, .integer(slot)])
        _ = try session.batch(
            "UPDATE durable_job SET parked = 0 WHERE id = ?", first.map { [$0.values[0]] })
    }

    /// Releases the first job of each key with a free place: the released one may have been
    /// cancelled, or skipped.
    static func releaseLeft(in queue: String, _ session: any SQLSession) throws -> Int {
        let keys = try session.query(
            """
            SELECT DISTINCT exclusive_key, COALESCE(slots, 1) FROM durable_job j
            WHERE queue = ? AND state = 2 AND exclusive_key IS NOT NULL AND parked = 1
                AND (slots IS NOT NULL OR NOT EXISTS (
                    SELECT 1 FROM durable_job_lock l
                    WHERE l.queue = j.queue AND l.key = j.exclusive_key))
                AND (slots IS NULL OR slots > (
                    SELECT COUNT(*) FROM durable_job_lock l
                    WHERE l.queue = j.queue AND l.slot < j.slots
                        AND (l.key = j.exclusive_key OR l.base = j.exclusive_key)))
            LIMIT 100
            """, [.text(queue)])
        for key in keys {
            try release(.text(queue), key.values[0], key.integer(1) - 1, session)
        }
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
