#if DurableJobs
#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

extension SQLiteDatabase {
    /// The connection of another client has none of the library's functions.
    private static let now = "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"

    package func statement(
        _ job: NewJob, _ arguments: [Data], isArray: Bool, in queue: String
    ) throws -> JobStatement {
        let options = job.options
        for (isUsed, trait) in [
            (options.uniqueAge != nil, "unique(by:for:)"), (!options.change.isEmpty, "joining(_:)"),
            (options.group != nil, "group(_:)"),
        ] where isUsed {
            throw JobError.invalidTrait(
                "\(trait) in a statement for SQLite, which cannot do that alone: write "
                    + "enqueue(_:in: .sqlite(connection))")
        }
        var writer = StatementWriter(sign: "?")
        func number(_ value: Int64?) -> String {
            "CAST(\(writer.add(value.map { "\($0)" })) AS INTEGER)"
        }
        func time(_ moment: JobOptions.Moment?) -> String {
            switch moment {
            case nil: "NULL"
            case .at(let time): number(time)
            case .after(let duration): "\(Self.now) + \(number(duration.milliseconds))"
            }
        }
        let name = writer.add(queue)
        let rank = number(options.rank)
        let start = time(options.start)
        let text = """
            INSERT INTO durable_job (queue, name, version, arguments, state, rank, base_rank,
                position, run_at, deadline, timeout, retry_limit, backoff, pending, is_wide,
                unique_key, exclusive_key, slots, trace, enqueued_at)
            SELECT \(name), \(writer.add(job.name)), \(number(Int64(job.version))),
                CAST(value AS BLOB), CASE WHEN \(start) > \(Self.now) THEN 1 ELSE 2 END,
                \(rank), \(rank), 1 + key + COALESCE((
                    SELECT h.position FROM durable_job_head h
                    WHERE h.queue = \(name) AND h.rank = \(rank)), 0),
                \(start), \(time(options.deadline)), \(number(options.timeout?.milliseconds)),
                \(number(Int64(options.retryLimit))), \(writer.add(options.storedBackoff)), 0, 0,
                \(writer.add(job.uniqueKey)), \(writer.add(options.exclusiveKey)),
                \(number(options.places.map(Int64.init))), \(writer.add(job.trace)), \(Self.now)
            FROM json_each(\(writer.add(arguments, isArray: true))) WHERE TRUE ORDER BY key
            ON CONFLICT (queue, unique_key) WHERE unique_key IS NOT NULL AND state < 10
            DO UPDATE SET unique_key = excluded.unique_key RETURNING id
            """
        return JobStatement(text: text, parameters: writer.parameters)
    }
}
#endif
