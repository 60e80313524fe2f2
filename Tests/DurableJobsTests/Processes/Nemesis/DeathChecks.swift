#if DurableJobs && JOB_FAULTS
import Operations

@testable import DurableJobs

/// Checks that a job is discarded only if its failures or the deaths of its workers allow it, and
/// that only the ends of processes count as deaths: not a process that stood still for longer than
/// its lease, and not a store that did not answer.
struct DeathChecks {
    /// What the store knows about a job at the end of a round.
    struct Row {
        let job: JobID
        let state: JobState
        let attempt: Int
        let failures: Int
        let retryLimit: Int
        /// The workers whose deaths count for the job.
        let deadWorkers: [String]
        let error: String
    }

    /// When processes were killed, of those that were not asked to stop before.
    private var deaths: [Int32: Duration] = [:]
    /// The processes of the workers, by the first part of the workers' identifiers.
    private var processes: [String: Int32] = [:]
    /// When the jobs were found discarded, and when the last look was. The processes that live then
    /// are killed at the end of the round, and have not died for any job.
    private let discardTimes: [JobID: Duration]
    private let end: Duration
    /// The processes that began each attempt. A database that crashes may forget an attempt, and
    /// give its number again.
    private var runs: [JobID: [Int: Set<Int32>]] = [:]
    private let deathLimit: Int
    /// How many times the limit of deaths a job has that never runs alone.
    private static let limitInCompany = 3
    /// Whether a program that cannot decode the jobs was deployed.
    private var hasDeploys = false
    private var losesLease: Set<Int32> = []
    private var kills: [Int32: Duration] = [:]
    /// The bodies of each process, with the times of their ends.
    private var bodies: [Int32: [(job: JobID, start: Duration, end: Duration?)]] = [:]

    init(_ entries: [RunLog.Entry], samples: [StoreSample], deathLimit: Int) {
        self.deathLimit = deathLimit
        discardTimes = samples.discardTimes.mapValues(\.end)
        end = samples.last?.time ?? .zero
        var begun: [UInt64: (job: JobID, process: Int32, start: Duration, end: Duration?)] = [:]
        for entry in entries {
            switch entry {
            case .began(let run, let job, let attempt, let process, let time, _):
                runs[job, default: [:]][attempt, default: []].insert(process)
                begun[run] = (job, process, time, nil)
            case .ended(let run, let time, _, _, _): begun[run]?.end = time
            case .process(let identity, let process): processes[identity] = process
            case .deployed: hasDeploys = true
            case .lostLease(let process, _): losesLease.insert(process)
            case .killed(let process, let time, let wasStopping):
                if kills[process] == nil { kills[process] = time }
                if !wasStopping, deaths[process] == nil { deaths[process] = time }
            default: break
            }
        }
        for run in begun.values {
            bodies[run.process, default: []].append((run.job, run.start, run.end))
        }
    }

    /// Returns what is wrong with the deaths that count for a job.
    func findings(_ row: Row) -> [String] {
        let alive = row.deadWorkers.filter { worker in
            // A process that was killed before its first line has performed nothing.
            guard let process = processes[Self.identity(of: worker)] else { return true }
            return !hasDied(process, before: row)
        }
        var wrong = alive.map {
            "job \(row.job) (\(row.state)) has the death of \($0), which was not killed"
        }
        if Set(row.deadWorkers.map(Self.identity)).count < row.deadWorkers.count {
            wrong.append("job \(row.job) has two deaths of one process: \(row.deadWorkers)")
        }
        return wrong
    }

    /// Returns what is wrong with the failures that count for a job whose body never fails: each is
    /// an attempt whose arguments could not be decoded, so its body has not begun.
    func findings(failures row: Row) -> [String] {
        let begun = runs[row.job] ?? [:]
        let unbegun = (1...max(1, row.attempt)).count { begun[$0] == nil }
        guard row.failures > (hasDeploys ? unbegun : 0) else { return [] }
        return [
            "job \(row.job) has \(row.failures) failures, of which \(unbegun) are possible:"
                + " \(row.error)"
        ]
    }

    /// Returns why a job whose body never fails must not have been discarded.
    func findings(discarded row: Row) -> [String] {
        if row.failures > row.retryLimit { return [] }
        var wrong: [String] = []
        if row.deadWorkers.count < deathLimit {
            wrong.append(
                "job \(row.job) was discarded after \(row.deadWorkers.count) deaths and"
                    + " \(row.failures) failures: \(row.error)")
        }
        let possible = possibleDeaths(row)
        if possible < deathLimit {
            wrong.append(
                "job \(row.job) was discarded, and at most \(possible) processes can have died with"
                    + " it: \(row.error)")
        }
        if possible < deathLimit * Self.limitInCompany, let other = lastCompany(row) {
            wrong.append("job \(row.job) was discarded, and died last beside job \(other)")
        }
        return wrong
    }

    /// The attempts that a killed process began, and those that nobody began: their process may
    /// have been killed after the claim.
    private func possibleDeaths(_ row: Row) -> Int {
        let begun = runs[row.job] ?? [:]
        return (1...max(1, row.attempt)).count { attempt in
            begun[attempt].map { $0.contains { hasDied($0, before: row) } } ?? true
        }
    }

    /// Whether a process was killed before a job was found discarded, or before the last look.
    private func hasDied(_ process: Int32, before row: Row) -> Bool {
        deaths[process].map { $0 < discardTimes[row.job] ?? end } ?? false
    }

    /// Another job whose body ran in the process of a job's last attempt when that was killed; nil
    /// if there was none, or if the process may have lost the other job before.
    private func lastCompany(_ row: Row) -> JobID? {
        guard let processes = runs[row.job]?[row.attempt], processes.count == 1,
            let process = processes.first, !losesLease.contains(process),
            let kill = kills[process]
        else { return nil }
        return bodies[process]?.first {
            $0.job != row.job && $0.start < kill && $0.end.map { $0 > kill } ?? true
        }?.job
    }

    private static func identity(of worker: String) -> String { String(worker.prefix(36)) }
}
#endif
