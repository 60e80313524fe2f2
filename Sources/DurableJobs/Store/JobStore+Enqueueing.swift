#if DurableJobs
import Operations

/// The statements that store new jobs. They are used inside of the library's transactions, and of
/// a caller's own.
package enum Enqueueing {
    private static let insert = """
        INSERT INTO durable_job (queue, name, version, arguments, state, rank, base_rank,
            position, run_at,
            deadline, timeout, retry_limit, backoff, pending, is_wide, unique_key, exclusive_key,
            batch, trace, enqueued_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {now})
        ON CONFLICT (queue, unique_key) WHERE unique_key IS NOT NULL AND state < 10 DO NOTHING
        RETURNING id
        """

    /// Stores jobs. Their dependencies must be stored, or come before them in the array.
    ///
    /// - Returns: the number of each job, or of the job with the same unique key that has not ended
    ///   or whose attachment is in the store.
    package static func enqueue(
        _ jobs: [NewJob], in queue: String, at places: inout BatchPlaces, _ session: any SQLSession
    ) throws -> [JobID] {
        var ends = try endsOfDependencies(jobs, session)
        try findHeads(jobs, queue, &places, session)
        let now =
            jobs.contains { $0.options.start != nil || $0.options.deadline != nil }
            ? try session.now() : 0
        var ids: [JobID] = []
        ids.reserveCapacity(jobs.count)
        let attached = try jobsWithAttachments(jobs, queue, session)
        if attached.isEmpty, jobs.allSatisfy({ $0.dependencies.isEmpty }) {
            let rows = try session.batch(
                insert, jobs.map { row($0, queue, now, &places, edges: []) })
            for (job, row) in zip(jobs, rows) {
                if let id = row.first?.integer(0) {
                    places.stored += 1
                    ids.append(JobID(id))
                } else {
                    ids.append(try joined(job, [], queue, now, &places, session).id)
                }
            }
            return ids
        }
        for job in jobs {
            if let id = job.uniqueKey.flatMap({ attached[$0] }) {
                ends[id] = try markDependency(id, session)
                ids.append(id)
                continue
            }
            let edges = edges(of: job, ids, ends)
            let row = row(job, queue, now, &places, edges: edges)
            guard let id = try session.query(insert, row).first.map({ JobID($0.integer(0)) }) else {
                let (id, isNew) = try joined(job, edges, queue, now, &places, session)
                // The job may end at this moment, and a later job of the array may depend on it.
                ends[id] =
                    isNew ? try store(edges, of: id, session) : try markDependency(id, session)
                ids.append(id)
                continue
            }
            places.stored += 1
            ids.append(id)
            ends[id] = try store(edges, of: id, session)
        }
        return ids
    }

    /// Returns the completed jobs whose attachments are in the store, by those of their unique keys
    /// that new jobs have.
    private static func jobsWithAttachments(
        _ jobs: [NewJob], _ queue: String, _ session: any SQLSession
    ) throws -> [String: JobID] {
        let keys = Set(jobs.compactMap(\.uniqueKey)).sorted()
        // Most queues have no attachments.
        guard !keys.isEmpty,
            try !session.query(
                "SELECT 1 FROM durable_job_attachment WHERE queue = ? LIMIT 1", [.text(queue)]
            ).isEmpty
        else { return [:] }
        let rows = try session.batch(
            "SELECT job FROM durable_job_attachment WHERE queue = ? AND unique_key = ?",
            keys.map { [.text(queue), .text($0)] })
        var found: [String: JobID] = [:]
        for (key, rows) in zip(keys, rows) { found[key] = rows.last.map { JobID($0.integer(0)) } }
        return found
    }

    private static func markDependency(
        _ id: JobID, _ session: any SQLSession
    ) throws -> DependencyRow? {
        try session.query(
            """
            UPDATE durable_job SET has_dependents = 1 WHERE id = ? RETURNING state, is_upstream
            """, [.integer(id.rawValue)]
        ).first.map { DependencyRow(state: $0.state(0), isUpstream: $0.flag(1)) }
    }

    // MARK: Dependencies

    private struct Edge {
        let dependency: JobID
        let condition: DependencyCondition
        /// The end of the dependency, if it has ended.
        let end: JobEnd?
        let endText: String?

        var isUnmet: Bool { end.map { !$0.meets(Int64(condition.rawValue)) } ?? false }
    }

    private struct DependencyRow {
        let state: JobState
        let isUpstream: Bool
    }

    /// Locks the stored dependencies, in the order of their numbers, and notes in each that it has
    /// dependents.
    private static func endsOfDependencies(
        _ jobs: [NewJob], _ session: any SQLSession
    ) throws -> [JobID: DependencyRow] {
        var stored: Set<JobID> = []
        for job in jobs {
            for case (.stored(let id), _) in job.dependencies { stored.insert(id) }
        }
        guard !stored.isEmpty else { return [:] }
        let ids = stored.sorted()
        let rows = try session.batch(
            """
            UPDATE durable_job SET has_dependents = 1 WHERE id = ? RETURNING state, is_upstream
            """, ids.map { [.integer($0.rawValue)] })
        var found: [JobID: DependencyRow] = [:]
        var unknown: [JobID] = []
        for (id, rows) in zip(ids, rows) {
            let row =
                try rows.first
                ?? session.query(
                    "SELECT state, is_upstream FROM durable_job_archive WHERE id = ?",
                    [.integer(id.rawValue)]
                ).first
            if let row {
                found[id] = DependencyRow(state: row.state(0), isUpstream: row.flag(1))
            } else {
                unknown.append(id)
            }
        }
        guard unknown.isEmpty else { throw JobError.unknownJobs(unknown) }
        return found
    }

    private static func edges(
        of job: NewJob, _ ids: [JobID], _ ends: [JobID: DependencyRow]
    ) -> [Edge] {
        var seen: Set<JobID> = []
        return job.dependencies.compactMap { dependency in
            let id: JobID
            switch dependency.job {
            case .stored(let stored): id = stored
            case .new(let index): id = ids[index]
            }
            guard seen.insert(id).inserted else { return nil }
            guard let row = ends[id], row.state.isEnded else {
                return Edge(
                    dependency: id, condition: dependency.condition, end: nil, endText: nil)
            }
            return Edge(
                dependency: id, condition: dependency.condition,
                end: JobEnd(row.state, isUpstream: row.isUpstream),
                endText: row.state.description)
        }
    }

    /// Returns the end of the job, if a condition is not met.
    private static func store(
        _ edges: [Edge], of id: JobID, _ session: any SQLSession
    ) throws -> DependencyRow? {
        guard !edges.isEmpty else { return nil }
        let isWide = edges.count > JobLimits.narrowDependencies
        // Jobs of the same transaction have no mark yet.
        _ = try session.batch(
            "UPDATE durable_job SET has_dependents = 1 WHERE id = ? AND has_dependents = 0",
            edges.filter { $0.end == nil }.map { [.integer($0.dependency.rawValue)] })
        _ = try session.batch(
            """
            INSERT INTO durable_job_edge (dependency, dependent, condition, is_wide, resolved)
            VALUES (?, ?, ?, ?, ?)
            """,
            edges.map {
                [
                    .integer($0.dependency.rawValue), .integer(id.rawValue),
                    .integer(Int64($0.condition.rawValue)), SQLValue(isWide),
                    SQLValue($0.end != nil),
                ]
            })
        guard let unmet = edges.first(where: \.isUnmet) else { return nil }
        let reason = Resolving.reason(unmet.dependency, unmet.endText ?? "", unmet.condition)
        let isUpstream =
            unmet.condition == .success && (unmet.end == .failed || unmet.end == .failedUpstream)
        try BatchCounts.add(
            Resolving.cancel(id, because: reason, isUpstream: isUpstream, session), worker: "",
            session)
        return DependencyRow(state: .cancelled, isUpstream: isUpstream)
    }

    // MARK: Rows

    private static func row(
        _ job: NewJob, _ queue: String, _ now: Int64, _ places: inout BatchPlaces, edges: [Edge]
    ) -> [SQLValue] {
        let options = job.options
        let rank = Int64(-options.priority.rawValue)
        var place = places.places[rank] ?? (0, 0)
        place.count += 1
        places.places[rank] = place
        let start = options.start?.milliseconds(now: now)
        let pending = edges.count { $0.end == nil }
        let state =
            if pending > 0 || edges.contains(where: \.isUnmet) {
                StateNumber.blocked
            } else if let start, start > now { StateNumber.scheduled } else {
                StateNumber.available
            }
        return [
            .text(queue), .text(job.name), .integer(Int64(job.version)), .bytes(job.arguments),
            .integer(state), .integer(rank), .integer(rank), .integer(place.head + place.count),
            SQLValue(start),
            SQLValue(options.deadline?.milliseconds(now: now)),
            SQLValue(options.timeout?.milliseconds), .integer(Int64(options.retryLimit)),
            SQLValue(options.retryLimit > 0 ? BackoffText.encode(options.backoff) : nil),
            .integer(Int64(pending)), SQLValue(edges.count > JobLimits.narrowDependencies),
            SQLValue(job.uniqueKey),
            SQLValue(options.exclusiveKey), SQLValue(places.batch), SQLValue(job.trace),
        ]
    }

    /// Returns the unfinished job with the unique key of the new one. If that job has just ended,
    /// stores the row of the new job after all; the caller stores its edges.
    private static func joined(
        _ job: NewJob, _ edges: [Edge], _ queue: String, _ now: Int64,
        _ places: inout BatchPlaces, _ session: any SQLSession
    ) throws -> (id: JobID, isNew: Bool) {
        let key = SQLValue(job.uniqueKey)
        for _ in 0..<10 {
            let rows = try session.query(
                "SELECT id FROM durable_job WHERE queue = ? AND unique_key = ? AND state < 10",
                [.text(queue), key])
            if let row = rows.first { return (JobID(row.integer(0)), false) }
            let inserted = try session.query(insert, row(job, queue, now, &places, edges: edges))
            if let row = inserted.first {
                places.stored += 1
                return (JobID(row.integer(0)), true)
            }
        }
        throw JobError.unusableStore(
            store: queue, reason: "jobs with one unique key come and go too quickly")
    }

    private static func findHeads(
        _ jobs: [NewJob], _ queue: String, _ places: inout BatchPlaces, _ session: any SQLSession
    ) throws {
        let ranks = Set(jobs.map { Int64(-$0.options.priority.rawValue) })
        for rank in ranks.sorted() where places.places[rank] == nil {
            let rows = try session.query(
                "SELECT position FROM durable_job_head WHERE queue = ? AND rank = ?",
                [.text(queue), .integer(rank)])
            places.places[rank] = (rows.first?.integer(0) ?? 0, 0)
        }
    }
}

extension JobStore {
    /// Stores jobs; see ``Enqueueing``.
    package func enqueue(
        _ jobs: [NewJob], in queue: String, at places: BatchPlaces = BatchPlaces()
    ) async throws -> (ids: [JobID], places: BatchPlaces) {
        let result = try await database.transaction(.durable) { session in
            var places = places
            places.stored = 0
            let ids = try Enqueueing.enqueue(jobs, in: queue, at: &places, session)
            if let batch = places.batch {
                _ = try session.query(
                    "UPDATE durable_job_batch SET total = total + ? WHERE id = ?",
                    [.integer(places.stored), .integer(batch)])
            }
            return (ids, places)
        }
        database.announce(queue)
        return result
    }
}
#endif
