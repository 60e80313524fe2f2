#if DurableJobs && JOB_FAULTS
import Operations

@testable import DurableJobs

/// Checks that no job waits beside a free slot: neither in the store, nor in a worker that has
/// claimed it, and whose slots are taken.
struct LivenessChecks {
    /// The jobs of a store that have not ended and are not blocked, at one moment.
    struct Sample: Sendable {
        struct Job: Sendable {
            let id: JobID
            let attempt: Int
            let isClaimed: Bool
        }

        let time: Duration
        let jobs: [Job]
        /// Whether one of the jobs must run alone, for which workers keep their slots free.
        let hasSuspects: Bool
    }

    /// A second, and two looks of either side.
    static let patience = Duration.milliseconds(1_500)
    /// The longest time between two notes that belong together. A later one shows that a process
    /// stood still, or the store.
    private static let longestGap = Duration.milliseconds(300)

    private let samples: [Sample]
    private let lease: Duration
    /// When stops of processes and outages of the store may still have effects.
    private let disturbances: [Span]
    /// When workers were killed or lost their leases.
    private var losses: [Duration] = []
    /// When each attempt began first.
    private var begun: [JobID: [Int: Duration]] = [:]
    /// When each process had a lease and a free slot.
    private var free: [Int32: [Span]] = [:]

    init(
        _ entries: [RunLog.Entry], samples: [Sample], disturbances: [Span], lease: Duration
    ) {
        (self.samples, self.lease) = (samples, lease)
        self.disturbances = disturbances.map { Span(start: $0.start, end: $0.end + lease * 2) }
        for entry in entries {
            switch entry {
            case .began(_, let job, let attempt, _, let time, _):
                let first = begun[job, default: [:]][attempt] ?? time
                begun[job, default: [:]][attempt] = min(first, time)
            case .killed(_, let time, _), .lostLease(_, let time): losses.append(time)
            case .free(let process, let time):
                var spans = free[process] ?? []
                if let last = spans.last, time - last.end <= Self.longestGap {
                    spans[spans.count - 1] = Span(start: last.start, end: time)
                } else {
                    spans.append(Span(start: time, end: time))
                }
                free[process] = spans
            default: break
            }
        }
    }

    func findings() -> [String] {
        var wrong: [JobID: String] = [:]
        var starts: [JobID: Duration] = [:]
        var last: Duration?
        for sample in samples {
            let isLate = last.map { sample.time - $0 > Self.longestGap } ?? true
            last = sample.time
            guard !isLate, !sample.hasSuspects else {
                starts = [:]
                continue
            }
            var present: [JobID: Duration] = [:]
            for job in sample.jobs where isWaiting(job, at: sample.time) {
                let start = starts[job.id] ?? sample.time
                present[job.id] = start
                guard wrong[job.id] == nil,
                    let process = freeProcess(since: start, until: sample.time)
                else { continue }
                wrong[job.id] =
                    "job \(job.id) has waited \(job.isClaimed ? "in a worker" : "in the store")"
                    + " from \(start) to \(sample.time), beside a free slot of process \(process)"
            }
            starts = present
        }
        return wrong.values.sorted()
    }

    private func isWaiting(_ job: Sample.Job, at time: Duration) -> Bool {
        guard job.isClaimed, let begin = begun[job.id]?[job.attempt] else { return true }
        return begin > time
    }

    /// A process with a free slot for as long as a job may wait.
    private func freeProcess(since start: Duration, until time: Duration) -> Int32? {
        // The worker that held the job may have died.
        let isLost = losses.contains { $0 > start - lease && $0 < time }
        let patience = Self.patience + (isLost ? lease * 4 / 3 + .seconds(1) : .zero)
        let window = Span(start: time - patience, end: time)
        guard start <= window.start,
            !disturbances.contains(where: { $0.overlap(window) > .zero })
        else { return nil }
        return free.first { _, spans in
            spans.contains {
                $0.start <= window.start && $0.end + Self.longestGap >= window.end
            }
        }?.key
    }
}
#endif
