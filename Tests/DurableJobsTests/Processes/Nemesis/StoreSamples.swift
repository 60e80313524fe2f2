#if DurableJobs && JOB_FAULTS
import Operations
import OperationsRuntime

@testable import DurableJobs

/// The jobs of a store that are ready or running at one moment, and those that are discarded.
struct StoreSample: Sendable {
    struct Job: Sendable {
        let id: JobID
        let attempt: Int
        /// The worker that has claimed the job; nil if none has.
        let worker: String?
        /// The deaths that counted for the job at its last rescue.
        let deaths: Int
    }

    let time: Duration
    let jobs: [Job]
    let discarded: Set<JobID>
}

extension [StoreSample] {
    /// The looks between which jobs were discarded.
    var discardTimes: [JobID: Span] {
        var times: [JobID: Span] = [:]
        var last = Duration.zero
        for sample in self {
            for job in sample.discarded where times[job] == nil {
                times[job] = Span(start: last, end: sample.time)
            }
            last = sample.time
        }
        return times
    }
}

/// Looks at the store again and again: no event tells that a job goes on waiting.
final class StoreSamples: Sendable {
    private static let period = Duration.milliseconds(100)

    private let queue: JobQueue
    private let all = Locked<[StoreSample]>([])
    private let isOver = Locked(false)
    private let excess = Locked<Set<String>>([])

    init(of queue: JobQueue) { self.queue = queue }

    var samples: [StoreSample] { all.withLock { $0 } }

    /// Looks at which more jobs of a key ran than one of them says.
    var findings: [String] { excess.withLock { $0.sorted() } }

    func end() { isOver.withLock { $0 = true } }

    /// - Parameter first: the jobs up to this one are history.
    func collect(after first: Int64) async {
        while !isOver.withLock({ $0 }) {
            let time = Machine.timeSinceBoot
            // A store that does not answer is no finding.
            if let sample = try? await sample(time, after: first) {
                all.withLock { $0.append(sample) }
            }
            try? await Task.sleep(for: Self.period)
        }
    }

    private func sample(_ time: Duration, after first: Int64) async throws -> StoreSample {
        let queue = SQLValue.text(queue.name)
        return try await self.queue.store.database.transaction(.reading) { session in
            let jobs = try session.query(
                """
                SELECT id, attempt, CASE WHEN state = 3 THEN worker END, deaths FROM durable_job
                WHERE queue = ? AND state IN (2, 3) AND parked = 0
                """, [queue])
            // A job with the smaller of two numbers has one of the first places.
            let excess = try session.query(
                """
                SELECT exclusive_key, COUNT(*) FROM durable_job
                WHERE queue = ? AND state = 3 AND exclusive_key IS NOT NULL
                GROUP BY exclusive_key HAVING COUNT(*) > MAX(COALESCE(slots, 1))
                """, [queue])
            for row in excess {
                let text = "\(row.integer(1)) jobs of the key \(row.text(0) ?? "") have run"
                self.excess.withLock { _ = $0.insert(text) }
            }
            let discarded = try session.query(
                "SELECT id FROM durable_job WHERE queue = ? AND state = 12 AND id > ?",
                [queue, .integer(first)])
            return StoreSample(
                time: time,
                jobs: jobs.map {
                    StoreSample.Job(
                        id: JobID($0.integer(0)), attempt: Int($0.integer(1)), worker: $0.text(2),
                        deaths: Int($0.integer(3)))
                }, discarded: Set(discarded.map { JobID($0.integer(0)) }))
        }
    }
}

/// When each process noted that it had a lease.
struct LeaseNotes {
    /// The longest time between two notes that belong together. A later one shows that a process
    /// stood still, or the store.
    static let longestGap = Duration.milliseconds(300)
    /// How long two notes are apart on a machine that has nothing else to do. What is more is the
    /// time for which a thread of the process has waited for a processor.
    private static let usualGap = Duration.milliseconds(110)

    private var notes: [Int32: [(time: Duration, isFree: Bool)]] = [:]

    init(_ entries: [RunLog.Entry]) {
        for case .leased(let process, let time, let isFree) in entries {
            notes[process, default: []].append((time, isFree))
        }
        for process in notes.keys { notes[process]?.sort { $0.time < $1.time } }
    }

    /// The processes that had a lease in all of a time span, which begins earlier by the time that
    /// the process has waited for a processor since.
    ///
    /// - Parameter isFree: whether a slot must have been free, too.
    func processes(since start: Duration, until end: Duration, isFree: Bool) -> [Int32] {
        notes.filter { _, notes in
            var lateness = Duration.zero
            var next = end
            for note in notes.reversed() where note.time <= end {
                guard next - note.time <= Self.longestGap, note.isFree || !isFree else {
                    return false
                }
                lateness += max(.zero, next - note.time - Self.usualGap)
                next = note.time
                if next <= start - lateness { return true }
            }
            return false
        }.keys.sorted()
    }
}
#endif
