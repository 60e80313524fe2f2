#if DurableJobs
/// The deaths of workers that count for a job, since an attempt of the job last ended by itself.
///
/// A row of a job lists the workers that were missing when others took the job from them. A worker
/// whose process lives says so in its own row, and so does one that was asked to stop. So nobody
/// has to find the jobs for which its death was counted. A death counts as long as the worker's row
/// exists, which is a day.
enum Deaths {
    /// The workers of a list.
    ///
    /// - Parameter count: the job's number of deaths. The end of an attempt sets it to 0, and
    ///   leaves the list.
    static func workers(_ list: String?, count: Int64) -> [String] {
        guard count > 0, let list else { return [] }
        return list.split(separator: ",").map(String.init)
    }

    static func text(_ workers: [String]) -> SQLValue {
        workers.isEmpty ? .null : .text(workers.joined(separator: ","))
    }

    /// Those of several workers without a lease whose deaths count.
    static func counting(
        _ workers: Set<String>, _ session: any SQLSession
    ) throws -> Set<String> {
        let rows = try session.batch(
            "SELECT id FROM durable_job_worker WHERE id = ? AND is_stopping = 0",
            workers.sorted().map { [.text($0)] })
        return Set(rows.joined().compactMap { $0.text(0) })
    }

    /// Counts the deaths of jobs again, so that none of them is a suspect because of a worker that
    /// has come back. A job that is locked keeps its number until its next rescue.
    static func recount(_ jobs: [JobID], _ session: any SQLSession) throws {
        let rows = try session.batch(
            """
            SELECT id, deaths, dead_workers FROM durable_job
            WHERE id = ? AND state + 0 < 10 AND deaths > 0 {skip_locked}
            """, jobs.map { [.integer($0.rawValue)] }
        ).joined()
        let lists = rows.map { workers($0.text(2), count: $0.integer(1)) }
        let known = try counting(Set(lists.joined()), session)
        _ = try session.batch(
            "UPDATE durable_job SET deaths = ?, dead_workers = ? WHERE id = ?",
            zip(rows, lists).map { row, list in
                let counted = list.filter(known.contains)
                return [.integer(Int64(counted.count)), text(counted), row.values[0]]
            })
    }
}
#endif
