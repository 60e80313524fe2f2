#if DurableJobsPostgres
import DurableJobs

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension PostgresDatabase {
    func statement(
        _ job: NewJob, _ arguments: [Data], isArray: Bool, in queue: String
    ) throws -> JobStatement {
        let options = job.options
        var writer = StatementWriter(sign: "$")
        func time(_ moment: JobOptions.Moment) -> String {
            switch moment {
            case .at(let time): "to_timestamp(\(writer.add("\(time)"))::float8 / 1000)"
            case .after(let duration): "statement_timestamp() + \(interval(duration))"
            }
        }
        func interval(_ duration: Duration) -> String {
            "\(writer.add("\(duration.milliseconds) milliseconds"))::interval"
        }
        func number(_ value: Int) -> String { "\(writer.add("\(value)"))::bigint" }
        func text(_ value: String) -> String { "\(writer.add(value))::text" }

        var call: [(String, String)] = [
            ("queue", text(queue)), ("name", text(job.name)), ("arguments", ""),
            ("version", number(job.version)),
        ]
        let json = "\(writer.add(arguments, isArray: isArray))::jsonb"
        call[2].1 = isArray ? "job.value" : json
        if let start = options.start { call.append(("run_at", time(start))) }
        if let deadline = options.deadline { call.append(("deadline", time(deadline))) }
        if let timeout = options.timeout { call.append(("timeout", interval(timeout))) }
        if options.retryLimit > 0 { call.append(("retries", number(options.retryLimit))) }
        if let backoff = options.storedBackoff { call.append(("backoff", text(backoff))) }
        if options.rank != 0 { call.append(("priority", number(Int(-options.rank)))) }
        let keys = [
            ("unique_key", options.uniqueKey), ("exclusive_key", options.exclusiveKey),
            ("group_key", options.group),
        ]
        for case (let name, let key?) in keys { call.append((name, text(key))) }
        if keys.contains(where: { $0.1 != nil }) { call.append(("has_digests", "true")) }
        if let places = options.places { call.append(("exclusive_places", number(places))) }
        if let age = options.uniqueAge { call.append(("unique_for", interval(age))) }
        if options.change.contains(.replacingArguments) {
            call.append(("replacing_arguments", "true"))
        }
        if options.change.contains(.postponing) { call.append(("postponing", "true")) }
        if let trace = job.trace { call.append(("trace", text(trace))) }

        let list = call.map { "\($0.0) => \($0.1)" }.joined(separator: ", ")
        let rows = isArray ? " FROM jsonb_array_elements(\(json)) AS job(value)" : ""
        return JobStatement(
            text: translations["SELECT durable_job_enqueue(\(list))\(rows)"],
            parameters: writer.parameters)
    }
}
#endif
