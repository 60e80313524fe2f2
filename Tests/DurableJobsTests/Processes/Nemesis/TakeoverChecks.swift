#if DurableJobs && JOB_FAULTS
import Operations

@testable import DurableJobs

/// Checks that what a killed worker held is taken from it within the promised time, whatever else
/// the workers have to do.
struct TakeoverChecks {
    /// What a look of a worker that rescues jobs takes beside the third of a lease between two.
    private static let lookingTime = Duration.seconds(1)

    private let samples: [StoreSample]
    private let lease: Duration
    private let deathLimit: Int
    private let disturbances: [Span]
    private var kills: [Int32: Duration] = [:]
    private var processes: [String: Int32] = [:]
    private let notes: LeaseNotes

    /// - Parameter disturbances: when processes or the store stood still.
    init(
        _ entries: [RunLog.Entry], samples: [StoreSample], disturbances: [Span], lease: Duration,
        deathLimit: Int
    ) {
        (self.samples, self.lease, self.deathLimit) = (samples, lease, deathLimit)
        self.disturbances = disturbances.map { Span(start: $0.start, end: $0.end + lease) }
        notes = LeaseNotes(entries)
        for entry in entries {
            switch entry {
            case .killed(let process, let time, _):
                if kills[process] == nil { kills[process] = time }
            case .process(let identity, let process): processes[identity] = process
            default: break
            }
        }
    }

    func findings() -> [String] {
        var wrong: [JobID: String] = [:]
        for sample in samples {
            for job in sample.jobs where wrong[job.id] == nil {
                wrong[job.id] = finding(job, at: sample.time)
            }
        }
        return wrong.values.sorted()
    }

    /// Any worker with a lease takes the job: so one must have had a lease for the promised time
    /// since that of the killed worker ended.
    private func finding(_ job: StoreSample.Job, at time: Duration) -> String? {
        guard let worker = job.worker, let process = processes[String(worker.prefix(36))],
            let kill = kills[process]
        else { return nil }
        let end = kill + lease
        var due = lease / 3 + Self.lookingTime
        if job.deaths + 1 >= deathLimit {
            // This death may discard the job, which stays with the worker until it counts as dead.
            due += lease * MissingWorkers.patience + lease / 3 + Self.lookingTime
        }
        let window = Span(start: time - due, end: time)
        guard window.start >= end,
            !disturbances.contains(where: { $0.overlap(window) > .zero }),
            let other = notes.processes(since: window.start, until: time, isFree: false).first
        else { return nil }
        return "job \(job.id) is with process \(process) \(time - kill) after its death, beside"
            + " process \(other)"
    }
}
#endif
