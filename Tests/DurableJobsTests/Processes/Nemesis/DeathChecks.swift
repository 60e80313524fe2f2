#if DurableJobs && JOB_FAULTS
import Operations

@testable import DurableJobs

/// Checks that only the ends of processes count as deaths of a job's workers: not a process that
/// stood still for longer than its lease, and not a store that did not answer.
struct DeathChecks {
    /// What the store knows about a job at the end of a round.
    struct Row {
        let job: JobID
        let state: JobState
        let attempt: Int
        /// The workers whose deaths count for the job.
        let deadWorkers: [String]
        let error: String
    }

    /// The processes that were killed before they were asked to stop.
    private let killed: Set<Int32>
    /// The processes of the workers, by the first part of the workers' identifiers.
    private let processes: [String: Int32]
    /// The processes that began each attempt. A database that crashes may forget an attempt, and
    /// give its number again.
    private var runs: [JobID: [Int: Set<Int32>]] = [:]
    private let deathLimit: Int

    init(_ entries: [RunLog.Entry], deathLimit: Int) {
        var killed: Set<Int32> = []
        var processes: [String: Int32] = [:]
        for entry in entries {
            switch entry {
            case .began(_, let job, let attempt, let process, _, _):
                runs[job, default: [:]][attempt, default: []].insert(process)
            case .process(let identity, let process): processes[identity] = process
            case .killed(let process, _, let wasStopping):
                if !wasStopping { killed.insert(process) }
            default: break
            }
        }
        (self.killed, self.processes, self.deathLimit) = (killed, processes, deathLimit)
    }

    /// Returns what is wrong with the deaths that count for a job.
    func findings(_ row: Row) -> [String] {
        let alive = row.deadWorkers.filter { worker in
            // A process that was killed before its first line has performed nothing.
            guard let process = processes[Self.identity(of: worker)] else { return true }
            return !killed.contains(process)
        }
        var wrong = alive.map { "job \(row.job) has the death of \($0), which was not killed" }
        if Set(row.deadWorkers.map(Self.identity)).count < row.deadWorkers.count {
            wrong.append("job \(row.job) has two deaths of one process: \(row.deadWorkers)")
        }
        return wrong
    }

    /// Returns why a job whose body never fails must not have been discarded.
    func findings(discarded row: Row) -> [String] {
        var wrong: [String] = []
        if row.deadWorkers.count < deathLimit {
            wrong.append(
                "job \(row.job) was discarded after \(row.deadWorkers.count) deaths: \(row.error)")
        }
        let possible = possibleDeaths(row)
        if possible < deathLimit {
            wrong.append(
                "job \(row.job) was discarded, and at most \(possible) processes can have died with"
                    + " it: \(row.error)")
        }
        return wrong
    }

    /// The attempts that a killed process began, and those that nobody began: their process may
    /// have been killed after the claim.
    private func possibleDeaths(_ row: Row) -> Int {
        let begun = runs[row.job] ?? [:]
        return (1...max(1, row.attempt)).count { attempt in
            begun[attempt].map { !$0.isDisjoint(with: killed) } ?? true
        }
    }

    private static func identity(of worker: String) -> String { String(worker.prefix(36)) }
}
#endif
