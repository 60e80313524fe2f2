#if DurableJobs && JOB_FAULTS
import DurableJobs
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A time span of one round.
struct Span: Codable, Sendable {
    let start: Duration
    let end: Duration

    func contains(_ time: Duration) -> Bool { time >= start && time <= end }

    /// How long both spans last at the same time.
    func overlap(_ other: Span) -> Duration {
        max(.zero, min(end, other.end) - max(start, other.start))
    }
}

/// Checks the log of all runs: what no look at the store can find afterwards.
struct RunChecks {
    /// How long a body may run after the end of its lease: a second, and one poll.
    static let fencingTime = Duration.seconds(2)

    struct Run {
        let job: JobID
        let attempt: Int
        let process: Int32
        let isObedient: Bool
        let start: Duration
        /// Nil if the run was killed.
        var end: Duration?
        var lease: Duration?
        var pauses: [Span] = []
        var isCancelled = false

        /// How long the body ran in a time span.
        func runningTime(in span: Span) -> Duration {
            max(.zero, span.end - span.start)
                - pauses.reduce(Duration.zero) { $0 + $1.overlap(span) }
        }
    }

    let runs: [Run]
    /// The times in which the database lost transactions that it had not synced.
    let crashes: [Span]
    let lease: Duration
    /// When processes were killed, or lost their leases.
    private var losses: [Int32: [Duration]] = [:]
    /// When processes were asked to stop.
    private var stops: [Int32: Duration] = [:]

    init(_ entries: [RunLog.Entry], crashes: [Span], lease: Duration) {
        var runs: [UInt64: Run] = [:]
        for entry in entries {
            switch entry {
            case .began(let number, let job, let attempt, let process, let time, let isObedient):
                runs[number] = Run(
                    job: job, attempt: attempt, process: process, isObedient: isObedient,
                    start: time)
            case .ended(let number, let time, let lease, let pauses, let isCancelled):
                runs[number]?.end = time
                runs[number]?.lease = lease
                runs[number]?.pauses = pauses
                runs[number]?.isCancelled = isCancelled
            case .stopping(let process, let time, _): stops[process] = time
            case .lostLease(let process, let time), .killed(let process, let time, _):
                losses[process, default: []].append(time)
            default: break
            }
        }
        self.runs = runs.values.sorted { ($0.attempt, $0.start) < ($1.attempt, $1.start) }
        (self.crashes, self.lease) = (crashes, lease)
    }

    /// - Parameters:
    ///   - attempts: the number of attempts of each job, from the store.
    ///   - fencesItself: whether the workers end runs whose lease has ended.
    func findings(attempts: [JobID: Int], fencesItself: Bool) -> [String] {
        var wrong: [String] = []
        if fencesItself { wrong += runs.compactMap(lateEnd) }
        wrong += runs.compactMap(causelessCancellation)
        for (job, runs) in Dictionary(grouping: runs, by: \.job) {
            guard let count = attempts[job] else {
                // A store that has crashed may have lost the job before it was confirmed.
                continue
            }
            wrong += runs.compactMap { run in
                guard run.attempt > count, !hasCrash(between: claim(run), .seconds(1 << 40))
                else { return nil }
                return "job \(job) ran as attempt \(run.attempt) of \(count)"
            }
            for (first, second) in zip(runs, runs.dropFirst()) {
                wrong += findings(first, second, fencesItself)
            }
        }
        return wrong
    }

    /// - Parameter pauses: the times in which no job may begin.
    func findings(pauses: [Span]) -> [String] {
        runs.compactMap { run in
            guard pauses.contains(where: { $0.contains(run.start) }) else { return nil }
            // A process that is stopped between the decision to begin and the note of it has lost
            // its lease meanwhile, or is killed.
            let isLost = (losses[run.process] ?? []).contains {
                $0 >= run.start - lease && $0 <= run.start + lease
            }
            return isLost
                ? nil : "attempt \(run.attempt) of job \(run.job) began while the queue was paused"
        }
    }

    private func lateEnd(_ run: Run) -> String? {
        guard run.isObedient, let end = run.end, let lease = run.lease, end > lease else {
            return nil
        }
        let time = run.runningTime(in: Span(start: lease, end: end))
        guard time > Self.fencingTime else { return nil }
        return "attempt \(run.attempt) of job \(run.job) ran for \(time) after its lease"
    }

    /// Nobody cancels the jobs of a round. So a body is asked to end only because its worker stops,
    /// or has lost its lease; not because of other jobs, or other workers.
    private func causelessCancellation(_ run: Run) -> String? {
        guard run.isCancelled, let end = run.end, !hasCrash(between: claim(run), end) else {
            return nil
        }
        // The loss of a lease is reported by another thread.
        let isLost = losses[run.process, default: []].contains {
            $0 >= run.start && $0 <= end + Self.fencingTime
        }
        guard !isLost, stops[run.process].map({ $0 > end }) ?? true else { return nil }
        return "attempt \(run.attempt) of job \(run.job) was cancelled, and process"
            + " \(run.process) had its lease"
    }

    private func hasCrash(between start: Duration, _ end: Duration) -> Bool {
        crashes.contains { $0.end >= start && $0.start <= end }
    }

    /// The earliest time of a run's claim. A worker that was stopped may begin a run late.
    private func claim(_ run: Run) -> Duration { run.start - lease - Self.fencingTime }

    /// Checks two runs of one job whose attempts follow each other.
    private func findings(_ first: Run, _ second: Run, _ fencesItself: Bool) -> [String] {
        let start = max(first.start, second.start)
        // A claim that the store has lost is given again, with the same number.
        guard !hasCrash(between: min(claim(first), claim(second)), start) else { return [] }
        guard first.attempt < second.attempt else {
            return ["attempt \(first.attempt) of job \(first.job) ran twice"]
        }
        guard fencesItself, first.isObedient, let end = first.end, end > start else { return [] }
        let both = Span(start: start, end: min(end, second.end ?? end))
        let time = first.runningTime(in: both)
        guard time > Self.fencingTime else { return [] }
        return ["attempts \(first.attempt) and \(second.attempt) of job \(first.job) ran at once"]
    }
}
#endif
