#if DurableJobs
import Operations

/// The conditions of a ``JobFilter``, as statements have them.
package struct StoredFilter: Sendable {
    package let name: String?
    package let states: Set<JobState>
    /// The stored form of the key.
    package let key: String?
    package let batch: Int64?
    package let error: String?

    /// The condition, and its arguments.
    fileprivate var condition: (sql: String, arguments: [SQLValue]) {
        let numbers = states.map { "\($0.rawValue)" }.sorted().joined(separator: ", ")
        var sql = "state IN (\(numbers))"
        var arguments: [SQLValue] = []
        if let name {
            sql += " AND name = ?"
            arguments.append(.text(name))
        }
        if let key {
            sql += " AND (exclusive_key = ? OR unique_key = name || ' ' || ?)"
            arguments += [.text(key), .text(key)]
        }
        if let batch {
            sql += " AND batch = ?"
            arguments.append(.integer(batch))
        }
        if let error {
            // In both databases, with the case of the letters.
            sql += " AND replace(error, ?, '') <> error"
            arguments.append(.text(error))
        }
        return (sql, arguments)
    }
}

/// How far a call has come that changes the jobs of a filter.
package struct FilterPlace: Sendable {
    /// The job before the next one.
    fileprivate var last: Int64 = 0
    /// The last job that the call is about.
    fileprivate let end: Int64

    package var isEnd: Bool { last >= end }
}

extension JobStore {
    /// The most jobs that one transaction changes, and how many numbers of jobs it looks at.
    private static let (mostFiltered, filterWidth): (Int64, Int64) = (200, 20_000)

    /// The place before the first job, for the jobs that are stored now.
    package func firstFilterPlace() async throws -> FilterPlace {
        try await database.transaction(.reading) { session in
            let row = try session.query("SELECT MIN(id), MAX(id) FROM durable_job").first
            guard let first = row?.optionalInteger(0) else { return FilterPlace(end: 0) }
            return FilterPlace(last: first - 1, end: row?.integer(1) ?? 0)
        }
    }

    /// Returns the next jobs of a filter, locked, and moves the place behind them.
    private static func next(
        _ filter: StoredFilter, in queue: String, _ place: inout FilterPlace,
        _ session: any SQLSession
    ) throws -> [JobID] {
        guard !filter.states.isEmpty else {
            place.last = place.end
            return []
        }
        let last = min(place.last + filterWidth, place.end)
        let (sql, arguments) = filter.condition
        let ids = try session.query(
            """
            SELECT id FROM durable_job WHERE id > ? AND id <= ? AND queue = ? AND \(sql)
            ORDER BY id LIMIT \(mostFiltered) {lock}
            """, [.integer(place.last), .integer(last), .text(queue)] + arguments
        ).map { JobID($0.integer(0)) }
        place.last = last
        if ids.count == mostFiltered, let id = ids.last { place.last = id.rawValue }
        guard ids.isEmpty, !place.isEnd else { return ids }
        // The numbers of jobs have gaps.
        let next = try session.query(
            "SELECT MIN(id) FROM durable_job WHERE id > ?", [.integer(last)])
        place.last = next.first?.optionalInteger(0).map { $0 - 1 } ?? place.end
        return []
    }

    /// Cancels the next jobs of a filter.
    ///
    /// - Parameters:
    ///   - place: moves behind these jobs.
    ///   - report: is called after each transaction that has ended jobs.
    /// - Returns: the number of jobs that were cancelled, or marked.
    package func cancel(
        where filter: StoredFilter, in queue: String, _ place: inout FilterPlace,
        because reason: String, reporting report: ([EndedJob]) -> Void = { _ in }
    ) async throws -> Int {
        let present = place
        let (states, ended, next) = try await database.transaction(.durable) { session in
            var place = present
            let ids = try Self.next(filter, in: queue, &place, session)
            let (states, ended) = try Self.cancel(ids, because: reason, session)
            return (states, ended, place)
        }
        place = next
        report(ended)
        if !ended.isEmpty { try await resolveRest(reporting: report) }
        return states.count
    }

    /// Retries the next jobs of a filter.
    ///
    /// - Returns: the number of jobs that were retried.
    package func retry(
        where filter: StoredFilter, in queue: String, _ place: inout FilterPlace
    ) async throws -> Int {
        let present = place
        let (count, next) = try await database.transaction(.durable) { session in
            var place = present
            let ids = try Self.next(filter, in: queue, &place, session)
            return (try Self.retry(ids, session).retried.count, place)
        }
        place = next
        if count > 0 { database.announce(queue) }
        return count
    }
}
#endif
