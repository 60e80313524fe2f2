#if DurableJobs
import Operations
import OperationsRuntime

/// The look of a claim for jobs: it chooses candidates without locks, and then locks those that it
/// takes. A look that locks what it reads would lock as many rows for each type as the claim wants
/// of all types together.
enum Choosing {
    /// Reads the jobs that a claim may take, by their types and an index.
    ///
    /// - Parameters:
    ///   - given: the places of the values, in the order of the columns of `statement`.
    ///   - deaths: the condition about the deaths of the job's workers, but for the limit.
    private static func look(_ given: [String], _ deaths: String) -> String {
        """
        SELECT id, rank, position, exclusive_key, slots FROM durable_job
        WHERE queue = \(given[0]) AND name = \(given[1]) AND version <= \(given[2])
            AND state = 2 AND parked = 0
            AND (rank, position, id) > (\(given[3]), \(given[4]), \(given[5]))
            AND \(deaths) \(given[6])
        """
    }

    private static let (ordinary, suspect) = ("deaths <", "deaths > 0 AND deaths >=")

    /// The statement for a database with other transactions at the same time. Its rows are the
    /// locked jobs, with 1 in the last column, and all candidates.
    ///
    /// The number of types does not change its text, so the server plans it once. The table may be
    /// small then, or new, so nothing but the primary key may serve to find a candidate again:
    /// because of the sums, the indexes of what can be claimed do not.
    static let locking = locking(ordinary)
    static let lockingSuspects = locking(suspect)

    private static func locking(_ deaths: String) -> TableStatement {
        let names = [
            "of_queue", "type", "newest", "last_rank", "last_position", "last_id", "death_limit",
        ]
        return TableStatement(
            [
                "of_queue": .text, "type": .text, "newest": .integer, "last_rank": .integer,
                "last_position": .integer, "last_id": .integer, "death_limit": .integer,
                "most": .integer, "wanted": .integer,
            ],
            """
            , chosen AS (
                SELECT found.* FROM given CROSS JOIN LATERAL (
                    \(look(names, deaths)) ORDER BY rank, position, id LIMIT most) AS found
                ORDER BY rank, position, id LIMIT (SELECT MAX(most) FROM given)),
            locked AS (
                SELECT j.id, j.rank, j.position, j.exclusive_key, j.slots
                FROM chosen JOIN durable_job j ON j.id = chosen.id
                WHERE j.state + 0 = 2 AND j.parked + 0 = 0
                ORDER BY chosen.rank, chosen.position, chosen.id
                LIMIT (SELECT MAX(wanted) FROM given) {skip_locked})
            SELECT id, rank, position, exclusive_key, slots, 1 FROM locked
            UNION ALL SELECT id, rank, position, NULL, NULL, 0 FROM chosen
            """)
    }

    /// The statement for a database without other transactions. SQLite merges the looks, and reads
    /// hardly more rows than are wanted.
    private static func merging(_ count: Int, _ deaths: String) -> String {
        let look = look(Array(repeating: "?", count: 7), deaths)
        let looks = Array(repeating: look, count: count).joined(separator: " UNION ALL ")
        return "\(looks) ORDER BY rank, position, id LIMIT ?"
    }

    /// Returns the first jobs that a claim may take, locked, in their order.
    ///
    /// - Parameter skipped: how many candidates the last look skipped.
    static func choose(
        _ exchange: Exchange, isSuspect: Bool, _ skipped: SkippedCandidates,
        _ session: any SQLSession
    ) throws -> [SQLRow] {
        guard !exchange.performed.isEmpty, exchange.wanted > 0 else { return [] }
        func given(_ from: ReadyPlace) -> [[SQLValue]] {
            exchange.performed.map { type in
                [
                    .text(exchange.queue), .text(type.name), .integer(Int64(type.version)),
                    .integer(from.rank), .integer(from.position), .integer(from.id),
                    .integer(Int64(exchange.suspectDeaths)),
                ]
            }
        }
        guard session.locksRows else {
            return try session.query(
                merging(exchange.performed.count, isSuspect ? suspect : ordinary),
                given(exchange.from).flatMap(\.self) + [.integer(Int64(exchange.wanted))])
        }
        var picked: [SQLRow] = []
        var (from, count) = (exchange.from, 0)
        while true {
            let missing = exchange.wanted - picked.count
            let most = missing + min(max(skipped.count, count), mostSkipped)
            let limits = [most, missing].map { SQLValue.integer(Int64($0)) }
            let rows = try session.query(
                isSuspect ? lockingSuspects : locking, given(from).map { $0 + limits })
            let candidates = rows.filter { !$0.flag(5) }.map(ReadyPlace.init).sorted()
            picked += rows.filter { $0.flag(5) }
            guard picked.count < exchange.wanted, candidates.count >= most,
                let last = candidates.last
            else {
                let end = picked.map(ReadyPlace.init).max()
                count += candidates.count { $0 <= end ?? .start }
                break
            }
            // Other transactions hold some of the candidates: further ones come after these.
            from = last
            count += candidates.count
        }
        if !picked.isEmpty { skipped.count = count - picked.count }
        return picked.sorted { ReadyPlace($0) < ReadyPlace($1) }
    }

    /// The most candidates of a look beyond those that it wants.
    private static let mostSkipped = 1_000
}

/// How many candidates the last look of this process skipped, because other transactions held them.
/// The next look reads as many more, so that one statement finds enough of them.
final class SkippedCandidates: Sendable {
    private let number = Locked(0)

    var count: Int {
        get { number.withLock { $0 } }
        set { number.withLock { $0 = newValue } }
    }
}

extension ReadyPlace {
    /// The place of a job in a row that begins with the job's number, rank and position.
    init(_ row: SQLRow) {
        self.init(rank: row.integer(1), position: row.integer(2), id: row.integer(0))
    }
}
#endif
