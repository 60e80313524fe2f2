#if DurableJobs
import Operations

/// The statements that store new jobs. They are used inside of the library's transactions, and of
/// a caller's own.
package enum Enqueueing {
    /// A job's position is its place after the head of its rank, which a batch remembers.
    private static let insert = TableStatement(
        [
            "queue": .text, "name": .text, "version": .integer, "arguments": .bytes,
            "state": .integer, "rank": .integer, "place": .integer, "head": .integer,
            "run_at": .integer, "deadline": .integer, "timeout": .integer,
            "retry_limit": .integer, "backoff": .text, "pending": .integer, "is_wide": .integer,
            "unique_key": .text, "exclusive_key": .text, "batch": .integer, "trace": .text,
            "slots": .integer,
        ],
        """
        INSERT INTO durable_job (queue, name, version, arguments, state, rank, base_rank,
            position, run_at, deadline, timeout, retry_limit, backoff, pending, is_wide,
            unique_key, exclusive_key, batch, trace, slots, enqueued_at)
        SELECT queue, name, version, arguments, state, rank, rank,
            place + COALESCE(head, (
                SELECT h.position FROM durable_job_head h
                WHERE h.queue = given.queue AND h.rank = given.rank), 0),
            run_at, deadline, timeout, retry_limit, backoff, pending, is_wide,
            unique_key, exclusive_key, batch, trace, slots, {now}
        FROM given WHERE TRUE
        ON CONFLICT (queue, unique_key) WHERE unique_key IS NOT NULL AND state < 10 DO NOTHING
        RETURNING id, unique_key, position
        """)

    /// Stores jobs. Their dependencies must be stored, or come before them in the array.
    ///
    /// - Returns: the number of each job, or of the job with the same unique key that has not
    ///   ended, that the extension keeps, or that ended within the time of the trait.
    /// - Parameters:
    ///   - mayStayOpen: whether the transaction may stay open for long, because it is the
    ///     program's own. Then no transaction of a worker waits for it; see "Transactions of the
    ///     program" in Protocol.md.
    ///   - extension: that of the store.
    package static func enqueue(
        _ jobs: [NewJob], in queue: String, at places: inout BatchPlaces,
        mayStayOpen: Bool = false, extension: (any JobExtension)? = nil,
        _ session: any SQLSession
    ) throws -> [JobID] {
        let now =
            jobs.contains { $0.options.start != nil || $0.options.deadline != nil }
            ? try session.now() : 0
        let kept = try keptJobs(jobs, queue, `extension`, session).merging(
            endedJobs(jobs, queue, session)
        ) { $1 }
        // Positions are those of the array. The order of the statements is another one.
        var groups = try GroupPlaces(jobs, queue, session)
        let rows = jobs.map { row($0, queue, now, &places, &groups) }
        if kept.isEmpty, jobs.allSatisfy({ $0.dependencies.isEmpty }) {
            if places.batch == nil, !mayStayOpen, jobs.allSatisfy({ $0.uniqueKey == nil }) {
                session.endsWithNextStatement()
            }
            let ids = try insert(Array(jobs.indices), of: jobs, rows, queue, &places, session)
            places.stored += Int64(ids.count { $0.isNew })
            return ids.map(\.id)
        }
        let ids = try storeDependents(
            jobs, rows, kept, queue, mayStayOpen, &places, session)
        if mayStayOpen {
            _ = try session.batch(
                """
                UPDATE durable_job SET unchecked = 1 WHERE id = ? AND EXISTS (
                    SELECT 1 FROM durable_job_edge e
                    WHERE e.dependent = durable_job.id AND e.resolved = 0)
                """, Set(ids).sorted().map { [.integer($0.rawValue)] })
        }
        return ids
    }

    /// Inserts rows, in the order of their unique keys: a transaction waits for others that have
    /// inserted the same key, so all of them take keys in one order.
    ///
    /// - Returns: for each of the indices, the new job, or the unfinished one with the same key.
    private static func insert(
        _ indices: [Int], of jobs: [NewJob], _ rows: [[SQLValue]], _ queue: String,
        _ places: inout BatchPlaces, _ session: any SQLSession
    ) throws -> [(id: JobID, isNew: Bool)] {
        let keys = jobs.map(\.uniqueKey)
        let order = indices.indices.sorted {
            (keys[indices[$0]] ?? "", $0) < (keys[indices[$1]] ?? "", $1)
        }
        // Numbers ascend in the order of the insertions. Only rows with keys can be missing.
        var inserted = try session.query(insert, order.map { rows[indices[$0]] })
            .sorted { $0.integer(0) < $1.integer(0) }[...]
        var result = indices.map { _ in (id: JobID(0), isNew: false) }
        for place in order {
            let index = indices[place]
            if let row = inserted.first, row.text(1) == keys[index] {
                inserted.removeFirst()
                learnHead(of: rows[index], from: row.integer(2), &places)
                result[place] = (JobID(row.integer(0)), true)
            } else if let key = keys[index] {
                result[place] = try joined(key, rows[index], queue, session)
                if !jobs[index].options.change.isEmpty, !result[place].isNew {
                    try change(
                        result[place].id, to: rows[index], jobs[index].options.change, session)
                }
            } else {
                throw notReturned(queue)
            }
        }
        try withdrawRepeated(&result, indices.map { jobs[$0] }, queue, session)
        return result
    }

    /// Changes a joined job that neither runs nor has ended.
    private static func change(
        _ id: JobID, to row: [SQLValue], _ change: JobTrait.UniqueChange, _ session: any SQLSession
    ) throws {
        let isWaiting = "id = ? AND state < 10 AND state <> 3"
        let number = SQLValue.integer(id.rawValue)
        if change.contains(.replacingArguments) {
            _ = try session.query(
                "UPDATE durable_job SET version = ?, arguments = ? WHERE \(isWaiting)",
                [row[RowColumn.version], row[RowColumn.arguments], number])
        }
        if change.contains(.postponing) {
            _ = try session.query(
                """
                UPDATE durable_job SET run_at = COALESCE(?, {now}), parked = 0,
                    state = CASE WHEN state = 0 THEN 0 WHEN ? > {now} THEN 1 ELSE 2 END
                WHERE \(isWaiting)
                """, [row[RowColumn.start], row[RowColumn.start], number])
        }
    }

    /// Takes back new jobs if a job with the same key has come and ended since the first look. From
    /// the insertion on, no other can come.
    private static func withdrawRepeated(
        _ ids: inout [(id: JobID, isNew: Bool)], _ jobs: [NewJob], _ queue: String,
        _ session: any SQLSession
    ) throws {
        let new = ids.indices.filter { ids[$0].isNew }
        let ended = try endedJobs(new.map { jobs[$0] }, queue, session)
        guard !ended.isEmpty else { return }
        for index in new {
            guard let earlier = jobs[index].uniqueKey.flatMap({ ended[$0] }) else { continue }
            _ = try session.query(
                "DELETE FROM durable_job WHERE id = ?", [.integer(ids[index].id.rawValue)])
            ids[index] = (earlier, false)
        }
    }

    /// Returns the last jobs that have ended within the times of `.unique(by:for:)`, by their
    /// keys.
    private static func endedJobs(
        _ jobs: [NewJob], _ queue: String, _ session: any SQLSession
    ) throws -> [String: JobID] {
        let keys = jobs.compactMap { job in
            job.options.uniqueAge.flatMap { age in job.uniqueKey.map { (key: $0, age: age) } }
        }
        guard !keys.isEmpty else { return [:] }
        var found: [String: JobID] = [:]
        for (table, condition) in [("durable_job_archive", ""), ("durable_job", "AND state >= 10")]
        {
            let rows = try session.batch(
                """
                SELECT id FROM \(table) WHERE queue = ? AND unique_key = ?
                    AND unique_key IS NOT NULL \(condition) AND ended_at > {now} - ?
                ORDER BY ended_at DESC LIMIT 1
                """, keys.map { [.text(queue), .text($0.key), .integer($0.age.milliseconds)] })
            for (key, rows) in zip(keys, rows) {
                if let row = rows.first { found[key.key] = JobID(row.integer(0)) }
            }
        }
        return found
    }

    /// Stores jobs of which some have dependencies: first those with unique keys, which are blocked
    /// at first; then the locks of the dependencies, in the order of their numbers; then the rest.
    private static func storeDependents(
        _ jobs: [NewJob], _ rows: [[SQLValue]], _ kept: [String: JobID], _ queue: String,
        _ mayStayOpen: Bool, _ places: inout BatchPlaces, _ session: any SQLSession
    ) throws -> [JobID] {
        var ids: [Int: (id: JobID, isNew: Bool)] = [:]
        for (index, job) in jobs.enumerated() {
            guard let id = job.uniqueKey.flatMap({ kept[$0] }) else { continue }
            ids[index] = (id, false)
        }
        let withKeys = jobs.indices.filter { jobs[$0].uniqueKey != nil && ids[$0] == nil }
        let blocked = rows.map { RowColumn.blocked($0) }
        for (index, id) in zip(
            withKeys, try insert(withKeys, of: jobs, blocked, queue, &places, session))
        {
            ids[index] = id
        }
        var ends = try endsOfDependencies(jobs, joined: ids, mayStayOpen, session)
        var result: [JobID] = []
        result.reserveCapacity(jobs.count)
        for (index, job) in jobs.enumerated() {
            let edges = edges(of: job, result, ends)
            let row = RowColumn.waiting(rows[index], for: edges)
            switch ids[index] {
            case (let id, false)?: result.append(id)
            case (let id, true)?:
                places.stored += 1
                result.append(id)
                _ = try session.query(
                    "UPDATE durable_job SET state = ?, pending = ?, is_wide = ? WHERE id = ?",
                    RowColumn.changing.map { row[$0] } + [.integer(id.rawValue)])
                ends[id] = try store(edges, of: id, marking: !mayStayOpen, session)
            case nil:
                guard let inserted = try session.query(insert, [row]).first else {
                    throw notReturned(queue)
                }
                let id = JobID(inserted.integer(0))
                learnHead(of: row, from: inserted.integer(2), &places)
                places.stored += 1
                result.append(id)
                ends[id] = try store(edges, of: id, marking: !mayStayOpen, session)
            }
        }
        return result
    }

    private static func notReturned(_ queue: String) -> JobError {
        .unusableStore(store: queue, reason: "it has not returned the number of a new job")
    }

    /// Returns the completed jobs that the extension keeps, by those of their unique keys that new
    /// jobs have.
    private static func keptJobs(
        _ jobs: [NewJob], _ queue: String, _ extension: (any JobExtension)?,
        _ session: any SQLSession
    ) throws -> [String: JobID] {
        guard let `extension` else { return [:] }
        let keys = Set(jobs.compactMap(\.uniqueKey)).sorted()
        return keys.isEmpty ? [:] : try `extension`.keptJobs(with: keys, in: queue, session)
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

    private static let markDependency = TableStatement(
        ["job": .integer],
        """
        UPDATE durable_job SET has_dependents = 1 FROM given
        WHERE id = job AND has_dependents = 0
        """)

    private static let insertEdge = TableStatement(
        [
            "dependency": .integer, "dependent": .integer, "condition": .integer,
            "is_wide": .integer, "resolved": .integer,
        ],
        """
        INSERT INTO durable_job_edge (dependency, dependent, condition, is_wide, resolved)
        SELECT dependency, dependent, condition, is_wide, resolved FROM given
        """)

    private struct DependencyRow {
        let state: JobState
        let isUpstream: Bool
    }

    /// Locks the dependencies that were stored before, in the order of their numbers, and notes in
    /// each that it has dependents.
    ///
    /// - Parameter ids: the jobs that have numbers already, by their places in the array.
    private static func endsOfDependencies(
        _ jobs: [NewJob], joined ids: [Int: (id: JobID, isNew: Bool)], _ mayStayOpen: Bool,
        _ session: any SQLSession
    ) throws -> [JobID: DependencyRow] {
        var stored: Set<JobID> = []
        for job in jobs {
            for dependency in job.dependencies {
                switch dependency.job {
                case .stored(let id): stored.insert(id)
                case .new(let index):
                    if case (let id, false)? = ids[index] { stored.insert(id) }
                }
            }
        }
        guard !stored.isEmpty else { return [:] }
        let ids = stored.sorted()
        let rows = try session.batch(
            mayStayOpen
                ? "SELECT state, is_upstream FROM durable_job WHERE id = ? {keep}"
                : """
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
        _ edges: [Edge], of id: JobID, marking isMarking: Bool, _ session: any SQLSession
    ) throws -> DependencyRow? {
        guard !edges.isEmpty else { return nil }
        let isWide = edges.count > JobLimits.narrowDependencies
        if isMarking {
            // Jobs of the same transaction have no mark yet.
            _ = try session.query(
                markDependency,
                edges.filter { $0.end == nil }.map { [.integer($0.dependency.rawValue)] })
        }
        _ = try session.query(
            insertEdge,
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
        let ended = try Resolving.cancel(
            id, because: reason, isUpstream: isUpstream, session)
        try BatchCounts.add(ended.map { ($0.batch, .cancelled) }, worker: "", session)
        return DependencyRow(state: .cancelled, isUpstream: isUpstream)
    }

    // MARK: Rows

    /// Returns the row of a job that waits for no other one.
    private static func row(
        _ job: NewJob, _ queue: String, _ now: Int64, _ places: inout BatchPlaces,
        _ groups: inout GroupPlaces
    ) -> [SQLValue] {
        let options = job.options
        let rank = options.rank
        var place: (head: Int64?, count: Int64)
        if let position = groups.take(options) {
            place = (0, position)
        } else {
            place = places.places[rank] ?? (nil, 0)
            place.count += 1
            places.places[rank] = place
        }
        let start = options.start?.milliseconds(now: now)
        let isLater = start.map { $0 > now } ?? false
        return [
            .text(queue), .text(job.name), .integer(Int64(job.version)), .bytes(job.arguments),
            .integer(isLater ? StateNumber.scheduled : StateNumber.available), .integer(rank),
            .integer(place.count), SQLValue(place.head), SQLValue(start),
            SQLValue(options.deadline?.milliseconds(now: now)),
            SQLValue(options.timeout?.milliseconds), .integer(Int64(options.retryLimit)),
            SQLValue(options.storedBackoff),
            .integer(0), SQLValue(false), SQLValue(job.uniqueKey),
            SQLValue(options.exclusiveKey), SQLValue(places.batch), SQLValue(job.trace),
            SQLValue(options.places.map(Int64.init)),
        ]
    }

    /// The columns of a row that depend on the job's edges.
    private enum RowColumn {
        static let (version, arguments, state, rank, place, head) = (2, 3, 4, 5, 6, 7)
        static let (start, pending, isWide) = (8, 13, 14)
        static let changing = [state, pending, isWide]

        static func blocked(_ row: [SQLValue]) -> [SQLValue] {
            var row = row
            (row[state], row[pending]) = (.integer(StateNumber.blocked), .integer(1))
            return row
        }

        static func waiting(_ row: [SQLValue], for edges: [Edge]) -> [SQLValue] {
            var row = row
            let count = edges.count { $0.end == nil }
            if count > 0 || edges.contains(where: \.isUnmet) {
                row[state] = .integer(StateNumber.blocked)
            }
            row[pending] = .integer(Int64(count))
            row[isWide] = SQLValue(edges.count > JobLimits.narrowDependencies)
            return row
        }
    }

    /// Notes the head of a row's rank, which the store has added to the row's place.
    private static func learnHead(
        of row: [SQLValue], from position: Int64, _ places: inout BatchPlaces
    ) {
        guard case .integer(let rank) = row[RowColumn.rank], row[RowColumn.head] == .null,
            places.places[rank]?.head == nil, case .integer(let place) = row[RowColumn.place]
        else { return }
        places.places[rank]?.head = position - place
    }

    /// Returns the unfinished job with a unique key. If that job has just ended, stores the row of
    /// the new job after all.
    private static func joined(
        _ key: String, _ row: [SQLValue], _ queue: String, _ session: any SQLSession
    ) throws -> (id: JobID, isNew: Bool) {
        for _ in 0..<10 {
            let rows = try session.query(
                "SELECT id FROM durable_job WHERE queue = ? AND unique_key = ? AND state < 10",
                [.text(queue), .text(key)])
            if let row = rows.first { return (JobID(row.integer(0)), false) }
            if let row = try session.query(insert, [row]).first {
                return (JobID(row.integer(0)), true)
            }
        }
        throw JobError.unavailableStore(
            store: queue, reason: "jobs with one unique key come and go too quickly")
    }
}

extension JobStore {
    /// Returns which text of new jobs contains a character; nil if none does.
    private static func field(
        with character: String, of jobs: [NewJob], in queue: String
    ) -> String? {
        if queue.contains(character) { return "the name '\(queue)' of the queue" }
        for job in jobs {
            if job.name.contains(character) { return "the name '\(job.name)' of the job" }
            if job.trace?.contains(character) == true { return "the trace of the request" }
        }
        return nil
    }

    /// Stores jobs; see ``Enqueueing``.
    package func enqueue(
        _ jobs: [NewJob], in queue: String, at places: BatchPlaces = BatchPlaces()
    ) async throws -> (ids: [JobID], places: BatchPlaces) {
        do {
            let result = try await database.transaction(.durable) { session in
                var places = places
                places.stored = 0
                let ids = try Enqueueing.enqueue(
                    jobs, in: queue, at: &places, extension: `extension`, session)
                if let batch = places.batch {
                    _ = try session.query(
                        "UPDATE durable_job_batch SET total = total + ? WHERE id = ?",
                        [.integer(places.stored), .integer(batch)])
                }
                return (ids, places)
            }
            database.announce(queue)
            return result
        } catch JobError.unstorableText(let field, let character, let encoding) {
            throw JobError.unstorableText(
                field: Self.field(with: character, of: jobs, in: queue) ?? field,
                character: character, encoding: encoding)
        }
    }
}
#endif
