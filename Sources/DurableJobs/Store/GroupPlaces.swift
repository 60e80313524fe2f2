#if DurableJobs
import Operations

/// The positions that new jobs with groups get; see "The order of claims" in Protocol.md.
///
/// The row of a group has the position of its last job. New jobs come behind it, or behind the head
/// of the ready order if that has gone on meanwhile.
struct GroupPlaces {
    private struct Group: Hashable, Comparable {
        let name: String
        let rank: Int64

        static func < (a: Group, b: Group) -> Bool { (a.name, a.rank) < (b.name, b.rank) }
    }

    private static let take = """
        INSERT INTO durable_job_group (queue, name, rank, position)
        VALUES (?, ?, ?, ? + COALESCE((
            SELECT h.position FROM durable_job_head h WHERE h.queue = ? AND h.rank = ?), 0))
        ON CONFLICT (queue, name, rank) DO UPDATE SET position = CASE
            WHEN durable_job_group.position > excluded.position - ?
            THEN durable_job_group.position + ? ELSE excluded.position END
        RETURNING position
        """

    /// The next position of each group.
    private var next: [Group: Int64] = [:]

    /// Takes positions for all of the jobs, and locks the rows of their groups, in their order.
    init(_ jobs: [NewJob], _ queue: String, _ session: any SQLSession) throws {
        var counts: [Group: Int64] = [:]
        for job in jobs {
            if let name = job.options.group {
                counts[Group(name: name, rank: job.options.rank), default: 0] += 1
            }
        }
        guard !counts.isEmpty else { return }
        let groups = counts.sorted { $0.key < $1.key }
        let rows = try session.batch(
            Self.take,
            groups.map { group, count in
                let (rank, count) = (SQLValue.integer(group.rank), SQLValue.integer(count))
                return [
                    .text(queue), .text(group.name), rank, count, .text(queue), rank, count, count,
                ]
            })
        for ((group, count), rows) in zip(groups, rows) {
            next[group] = (rows.first?.integer(0) ?? count) - count + 1
        }
    }

    /// Returns the position of the next job; nil if it is in no group.
    mutating func take(_ options: JobOptions) -> Int64? {
        guard let name = options.group else { return nil }
        let group = Group(name: name, rank: options.rank)
        guard let position = next[group] else { return nil }
        next[group] = position + 1
        return position
    }
}

extension JobStore {
    /// Deletes the rows of groups whose jobs were all claimed: a new job of theirs comes behind the
    /// head in any case.
    ///
    /// - Returns: the number of groups.
    func pruneGroups(of queue: String) async throws -> Int {
        try await database.transaction(.relaxed) { session in
            let rows = try session.query(
                """
                SELECT name, rank FROM durable_job_group g WHERE queue = ? AND position <= (
                    SELECT h.position FROM durable_job_head h
                    WHERE h.queue = g.queue AND h.rank = g.rank)
                ORDER BY name, rank LIMIT \(Self.prunedPortion) {delete_skip_locked}
                """, [.text(queue)])
            _ = try session.batch(
                "DELETE FROM durable_job_group WHERE queue = ? AND name = ? AND rank = ?",
                rows.map { [.text(queue)] + $0.values })
            return rows.count
        }
    }
}
#endif
