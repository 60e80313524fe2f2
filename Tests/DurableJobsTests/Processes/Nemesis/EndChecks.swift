#if DurableJobs && JOB_FAULTS
import Operations

@testable import DurableJobs

/// Checks that the discard of a job is an event in some process, and that workers stop in time.
struct EndChecks {
    /// How long a process may take until it reports what the store has recorded. It repeats the
    /// report of an attempt's end to which the store gave no answer.
    private static let reportingTime = Duration.seconds(10)
    /// The same for a job that no attempt has ended, after the first look that found it discarded:
    /// the process reports it with the answer of the store.
    private static let answerTime = Duration.milliseconds(500)
    /// How long a worker may take after its grace period, or after the last body that ignores its
    /// cancellation.
    private static let stoppingTime = Duration.seconds(1)

    private struct Stop {
        let process: Int32
        let start: Duration
        let grace: Duration
        var end: Duration?
        /// How long the process stood still meanwhile.
        var pause = Duration.zero
    }

    private var discards: Set<JobID> = []
    private var stops: [Int32: Stop] = [:]
    private var kills: [Int32: Duration] = [:]
    private var processes: [String: Int32] = [:]
    /// When the threads were blocked that resume who waits for the end of a worker.
    private var blocked: [Int32: [Span]] = [:]
    /// When processes were killed, or lost their leases and all that they had not reported.
    private var losses: [Int32: [Duration]] = [:]
    /// The looks between which jobs were discarded.
    private let discardTimes: [JobID: Span]
    /// When the store did not answer, or processes stood still.
    private let disturbances: [Span]
    /// When the bodies of a process ended that ignore cancellations; nil for one that was killed.
    private var bodies: [Int32: [Duration?]] = [:]

    /// - Parameter disturbances: when the store did not answer, or processes stood still.
    init(_ entries: [RunLog.Entry], samples: [StoreSample], disturbances: [Span]) {
        (self.disturbances, discardTimes) = (disturbances, samples.discardTimes)
        var runs: [UInt64: (process: Int32, isObedient: Bool, end: Duration?)] = [:]
        for entry in entries {
            switch entry {
            case .began(let run, _, _, let process, _, let isObedient):
                runs[run] = (process, isObedient, nil)
            case .ended(let run, let time, _, _, _): runs[run]?.end = time
            case .process(let identity, let process): processes[identity] = process
            case .killed(let process, let time, _):
                if kills[process] == nil { kills[process] = time }
                losses[process, default: []].append(time)
            case .lostLease(let process, let time): losses[process, default: []].append(time)
            case .discarded(let job): discards.insert(job)
            case .stopping(let process, let time, let grace):
                stops[process] = Stop(process: process, start: time, grace: grace)
            case .stopped(let process, let time, let pause):
                stops[process]?.end = time
                stops[process]?.pause = pause
            case .blocked(let process, let span): blocked[process, default: []].append(span)
            case .leased, .deployed: break
            }
        }
        for run in runs.values where !run.isObedient {
            bodies[run.process, default: []].append(run.end)
        }
    }

    /// Returns what is wrong with the events of discarded jobs.
    ///
    /// - Parameters:
    ///   - discarded: the jobs, with the workers that wrote their ends; nil for an end that is not
    ///     that of an attempt.
    func findings(discarded: [(job: JobID, worker: String?)]) -> [String] {
        discarded.filter { !discards.contains($0.job) && !mayBeSilent($0.job, $0.worker) }
            .map { "the discard of job \($0.job) was no event" }
    }

    /// Whether the process that wrote an end may have had no time, or no lease, to report it.
    private func mayBeSilent(_ job: JobID, _ worker: String?) -> Bool {
        // No look has found the job: it was discarded after the last one.
        guard let time = discardTimes[job] else { return true }
        let late = Span(start: time.start, end: time.end + Self.reportingTime)
        if let worker {
            guard let process = processes[String(worker.prefix(36))] else { return true }
            return losses[process, default: []].contains { late.contains($0) }
        }
        // Any process may have taken the job from one that died.
        let soon = Span(start: time.start, end: time.end + Self.answerTime)
        let isDisturbed = disturbances.contains { $0.overlap(soon) > .zero }
        let span = isDisturbed ? late : soon
        return losses.values.joined().contains { span.contains($0) }
    }

    /// Returns which workers did not stop in time.
    ///
    /// - Parameter outages: when hosts could not reach the store.
    func stopFindings(outages: [Span]) -> [String] {
        stops.values.compactMap { stop in
            guard let end = stop.end ?? kills[stop.process] else {
                return "process \(stop.process) did not stop"
            }
            // Nobody can end a body that ignores its cancellation.
            let bodies = bodies[stop.process, default: []]
            let last = bodies.compactMap { $0 }.max() ?? .zero
            let span = Span(start: stop.start, end: end)
            let blocked = self.blocked[stop.process, default: []]
                .reduce(Duration.zero) { $0 + $1.overlap(span) }
            let due =
                max(stop.start + stop.grace, min(last, end)) + Self.stoppingTime + stop.pause
                + blocked
            guard end > due, !outages.contains(where: { $0.overlap(span) > .zero }),
                stop.end != nil || !bodies.contains(nil)
            else { return nil }
            let verb = stop.end == nil ? "had not stopped" : "stopped"
            return "process \(stop.process) \(verb) \(end - stop.start) after it was asked to, with"
                + " a grace period of \(stop.grace)"
        }
    }
}
#endif
