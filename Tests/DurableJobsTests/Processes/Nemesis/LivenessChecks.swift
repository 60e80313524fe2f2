#if DurableJobs && JOB_FAULTS
import Operations

@testable import DurableJobs

/// Checks that no job waits beside a free slot: neither in the store, nor in a worker that has
/// claimed it, and whose slots are taken.
struct LivenessChecks {
    /// A second, and two looks of either side.
    static let patience = Duration.milliseconds(1_500)

    private let samples: [StoreSample]
    private let lease: Duration
    /// The number of deaths from which on a job must run alone, for which a worker keeps its slots
    /// free.
    private let suspectDeaths: Int
    /// When stops of processes and outages of the store may still have effects.
    private let disturbances: [Span]
    /// When processes were killed or lost their leases.
    private var losses: [Int32: [Duration]] = [:]
    private var processes: [String: Int32] = [:]
    /// When each attempt began first.
    private var begun: [JobID: [Int: Duration]] = [:]
    private let notes: LeaseNotes

    /// A job that has been waiting since a time.
    private struct Wait {
        var start: Duration
        var worker: String?
    }

    init(
        _ entries: [RunLog.Entry], samples: [StoreSample], disturbances: [Span], lease: Duration,
        deathLimit: Int
    ) {
        (self.samples, self.lease) = (samples, lease)
        suspectDeaths = max(1, deathLimit - 1)
        self.disturbances = disturbances.map { Span(start: $0.start, end: $0.end + lease * 2) }
        notes = LeaseNotes(entries)
        for entry in entries {
            switch entry {
            case .began(_, let job, let attempt, _, let time, _):
                let first = begun[job, default: [:]][attempt] ?? time
                begun[job, default: [:]][attempt] = min(first, time)
            case .process(let identity, let process): processes[identity] = process
            case .killed(let process, let time, _), .lostLease(let process, let time):
                losses[process, default: []].append(time)
            default: break
            }
        }
    }

    func findings() -> [String] {
        var wrong: [JobID: String] = [:]
        var waits: [JobID: Wait] = [:]
        var last: Duration?
        for (index, sample) in samples.enumerated() {
            let isLate = last.map { sample.time - $0 > LeaseNotes.longestGap } ?? true
            last = sample.time
            var present: [JobID: Wait] = [:]
            for job in sample.jobs where isWaiting(job, at: sample.time) {
                let wait = isLate ? nil : waits[job.id].map { goesOn($0, job, at: sample.time) }
                present[job.id] = wait ?? Wait(start: sample.time, worker: job.worker)
                guard wrong[job.id] == nil, let wait,
                    let process = freeProcess(beside: wait, at: index)
                else { continue }
                wrong[job.id] =
                    "job \(job.id) has waited \(job.worker == nil ? "in the store" : "in a worker")"
                    + " from \(wait.start) to \(sample.time), beside a free slot of process"
                    + " \(process)"
            }
            waits = present
        }
        return wrong.values.sorted()
    }

    private func isWaiting(_ job: StoreSample.Job, at time: Duration) -> Bool {
        guard job.deaths < suspectDeaths else { return false }
        guard job.worker != nil, let begin = begun[job.id]?[job.attempt] else { return true }
        return begin > time
    }

    /// A job that was taken from a worker that had died begins to wait then.
    private func goesOn(_ wait: Wait, _ job: StoreSample.Job, at time: Duration) -> Wait {
        let isTaken = job.worker != wait.worker && isLost(wait.worker, since: wait.start, time)
        return Wait(start: isTaken ? time : wait.start, worker: job.worker)
    }

    /// Whether the process of a worker was killed, or lost its lease, while it had a job.
    private func isLost(_ worker: String?, since start: Duration, _ end: Duration) -> Bool {
        guard let worker else { return false }
        // A process that was killed before its first line is not known.
        guard let process = processes[String(worker.prefix(36))] else { return true }
        return losses[process, default: []].contains { $0 > start - lease && $0 < end }
    }

    /// A process with a free slot for as long as a job may wait, which does not keep it free for a
    /// job that must run alone.
    private func freeProcess(beside wait: Wait, at index: Int) -> Int32? {
        let time = samples[index].time
        let isLost = isLost(wait.worker, since: wait.start, time)
        let patience = Self.patience + (isLost ? lease * 4 / 3 + .seconds(1) : .zero)
        let window = Span(start: time - patience, end: time)
        guard wait.start <= window.start,
            !disturbances.contains(where: { $0.overlap(window) > .zero })
        else { return nil }
        let free = notes.processes(since: window.start, until: time, isFree: true)
        return free.count > mostSuspects(until: index, since: window.start) ? free.first : nil
    }

    /// The number of workers that may have kept their slots free: one for each suspect.
    private func mostSuspects(until index: Int, since start: Duration) -> Int {
        // A worker looks at least once in this time.
        let start = start - Self.patience
        return samples[...index].reversed().prefix { $0.time >= start }
            .map { $0.jobs.count { $0.deaths >= suspectDeaths } }.max() ?? 0
    }
}
#endif
