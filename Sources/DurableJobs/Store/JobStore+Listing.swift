#if DurableJobs
// Pages of lists, which read a limited number of rows, however many jobs the queue has.

/// Which jobs a list has, and in which order.
package struct JobSelection: Sendable {
    /// All states if empty.
    package var states: Set<JobState> = []
    package var name: String?
    /// A part of the error.
    package var error: String?
    package var batch: Int64?
    /// The stored form of the unique key.
    package var uniqueKey: String?
    /// Milliseconds since 1970.
    package var since: Int64?
    package var isNewestFirst = false
    /// The place before the page.
    package var after: JobID?
    package var limit = 100

    package init() {}

    /// Whether rows that an index has found may have to be left out.
    fileprivate var looksAtRows: Bool { error != nil || batch != nil || since != nil }
}

/// A part of a list.
package struct StoredPage: Sendable {
    package var jobs: [StoredJob]
    /// The place before the next page; nil if there is none.
    package var next: JobID?
}

extension JobStore {
    /// The number of jobs that a page looks at, if it leaves some of them out.
    static let looksOfAPage = 1_000

    /// Returns a page of a queue's jobs in the order of their numbers, without archived ones.
    package func jobs(in queue: String, _ selection: JobSelection) async throws -> StoredPage {
        try await database.transaction(.reading) { session in
            if let key = selection.uniqueKey {
                return try Self.page(with: key, in: queue, selection, session)
            }
            let lowest = try Self.lowestNumber(of: selection, session)
            let count = selection.looksAtRows ? Self.looksOfAPage : selection.limit
            // One more, to know whether there is another page.
            let found = try Self.numbers(count + 1, in: queue, lowest, selection, session)
            let looked = found.prefix(count)
            var rest = found.count > count ? looked.last.map { JobID($0) } : nil
            var ids = Array(looked)
            if selection.looksAtRows {
                let matching = Set(try Self.matching(ids, selection, session))
                ids = ids.filter(matching.contains)
                if ids.count > selection.limit {
                    ids.removeSubrange(selection.limit...)
                    rest = ids.last.map { JobID($0) } ?? selection.after
                }
            }
            return StoredPage(jobs: try Self.jobs(ids, selection, session), next: rest)
        }
    }

    /// The jobs with one key, of which there are few.
    private static func page(
        with key: String, in queue: String, _ selection: JobSelection, _ session: any SQLSession
    ) throws -> StoredPage {
        let ids = try ["state < 10", "state >= 10"].flatMap { condition in
            try session.query(
                """
                SELECT id FROM durable_job WHERE queue = ? AND unique_key = ?
                    AND unique_key IS NOT NULL AND \(condition)
                """, [.text(queue), .text(key)]
            ).map { $0.integer(0) }
        }
        let matching =
            selection.looksAtRows ? try Self.matching(ids, selection, session) : ids
        let jobs = try Self.jobs(matching, selection, session).filter { job in
            (selection.states.isEmpty || selection.states.contains(job.state))
                && selection.after.map { selection.isNewestFirst ? job.id < $0 : job.id > $0 }
                    ?? true
        }
        let page = Array(jobs.prefix(selection.limit))
        return StoredPage(
            jobs: page, next: page.count < jobs.count ? page.last?.id ?? selection.after : nil)
    }

    private static func jobs(
        _ ids: [Int64], _ selection: JobSelection, _ session: any SQLSession
    ) throws -> [StoredJob] {
        let jobs = try session.query(numbered, ids.sorted().map { [.integer($0)] }).map(job)
        return jobs.sorted { selection.isNewestFirst ? $0.id > $1.id : $0.id < $1.id }
    }

    private static let numbered = TableStatement(
        ["job": .integer],
        """
        SELECT \(columns) FROM given JOIN durable_job j ON j.id = job
        LEFT JOIN durable_job_worker w ON w.id = j.worker AND j.state = 3
        """)

    // MARK: Numbers by indexes

    /// Returns the first numbers of a page, in its order.
    private static func numbers(
        _ count: Int, in queue: String, _ lowest: Int64, _ selection: JobSelection,
        _ session: any SQLSession
    ) throws -> [Int64] {
        guard selection.limit > 0 else { return [] }
        let isNewestFirst = selection.isNewestFirst
        let (first, last) =
            isNewestFirst
            ? (lowest, selection.after.map { $0.rawValue - 1 } ?? .max)
            : (max(lowest, selection.after.map { $0.rawValue + 1 } ?? .min), .max)
        // The index has the order of the numbers for each state and name apart.
        let states = selection.states.isEmpty ? Set(JobState.allCases) : selection.states
        let start = SQLValue.integer(isNewestFirst ? last : first)
        var groups: [[SQLValue]] = []
        for state in states where state != .running {
            let names = try selection.name.map { [$0] } ?? names(of: state, in: queue, session)
            groups += names.map { name in
                [
                    .text(queue), .integer(Int64(state.rawValue)), .text(name), .text(name), start,
                    .integer(Int64(count)),
                ]
            }
        }
        var ids = try session.batch(
            listed(isNewestFirst: isNewestFirst, session.locksRows), groups
        ).joined().map { $0.integer(0) }
        if isNewestFirst { ids.removeAll { $0 < first } }
        if states.contains(.running) {
            // Without the sum PostgreSQL may read all jobs in the order of their numbers.
            ids += try session.query(
                """
                SELECT id FROM durable_job WHERE queue = ? AND state = 3
                    AND id + 0 >= ? AND id + 0 <= ? \(selection.name == nil ? "" : "AND name = ?")
                """,
                [.text(queue), .integer(first), .integer(last)]
                    + (selection.name.map { [.text($0)] } ?? [])
            ).map { $0.integer(0) }
        }
        return Array(ids.sorted(by: isNewestFirst ? (>) : (<)).prefix(count))
    }

    /// The statement for the numbers of one state and name, which an index has in their order.
    ///
    /// With four equations PostgreSQL might take another index with the order of the numbers, and
    /// read all jobs before the first one that it looks for. It begins at the row that is compared,
    /// and ends with the name. SQLite would begin at the name.
    static func listed(isNewestFirst: Bool, _ comparesRows: Bool) -> String {
        let (bound, end, order) = isNewestFirst ? ("<=", ">=", " DESC") : (">=", "<=", "")
        let place =
            comparesRows
            ? "name \(end) ? AND (name, id) \(bound) (?, ?)"
            : "name = ? AND name = ? AND id \(bound) ?"
        return """
            SELECT id FROM durable_job WHERE queue = ? AND state = ? AND \(place) AND state <> 3
            ORDER BY name\(order), id\(order) LIMIT ?
            """
    }

    // MARK: Rows

    private static let matchingRows = TableStatement(
        [
            "job": .integer, "some_error": .text, "some_batch": .integer, "some_time": .integer,
        ],
        """
        SELECT j.id FROM given JOIN durable_job j ON j.id = job
        WHERE (some_error IS NULL OR j.error LIKE some_error ESCAPE '!')
            AND (some_batch IS NULL OR j.batch = some_batch)
            AND (some_time IS NULL OR j.enqueued_at >= some_time)
        """)

    private static func matching(
        _ ids: [Int64], _ selection: JobSelection, _ session: any SQLSession
    ) throws -> [Int64] {
        var pattern: String?
        if let error = selection.error {
            var text = error
            for character in ["!", "%", "_"] {
                text = text.replacing(character, with: "!\(character)")
            }
            pattern = "%\(text)%"
        }
        return try session.query(
            matchingRows,
            ids.map {
                [
                    .integer($0), SQLValue(pattern), SQLValue(selection.batch),
                    SQLValue(selection.since),
                ]
            }
        ).map { $0.integer(0) }
    }

    // MARK: The beginning

    /// Jobs get their numbers in the order of time, but for transactions at the same time.
    private static let disorder: Int64 = 15_000

    /// The lowest number that a job of the page may have, by the time since which it was enqueued,
    /// or at which its batch began.
    private static func lowestNumber(
        of selection: JobSelection, _ session: any SQLSession
    ) throws -> Int64 {
        var since = selection.since
        if let batch = selection.batch {
            let start = try session.query(
                "SELECT created_at FROM durable_job_batch WHERE id = ?", [.integer(batch)]
            ).first?.integer(0)
            since = max(since ?? .min, start ?? .min)
        }
        guard let since, since > .min else { return .min }
        let ends = try session.query(
            "SELECT (SELECT MIN(id) FROM durable_job), (SELECT MAX(id) FROM durable_job)"
        ).first
        guard var low = ends?.optionalInteger(0), var high = ends?.optionalInteger(1) else {
            return .min
        }
        // All jobs before the lower number are too old, and the higher one is the first that is
        // not, or comes after it.
        high += 1
        while low < high {
            let middle = low + (high - low) / 2
            let row = try session.query(
                "SELECT id, enqueued_at FROM durable_job WHERE id >= ? ORDER BY id LIMIT 1",
                [.integer(middle)]
            ).first
            if let row, row.integer(1) < since - disorder {
                low = row.integer(0) + 1
            } else {
                high = middle
            }
        }
        return low
    }
}
#endif
