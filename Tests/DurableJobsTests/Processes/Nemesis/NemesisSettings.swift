#if DurableJobs && JOB_FAULTS
import DurableJobFiles
import DurableJobs

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if DurableJobsPostgres
import DurableJobsPostgres
#endif

/// What the driver of a round tells its child processes, through their environment.
struct NemesisSettings: Codable, Sendable {
    static let variable = "DURABLE_JOBS_NEMESIS"
    /// The settings of this process, if it is a child.
    static let present = ProcessInfo.processInfo.environment[variable].flatMap {
        try? JSONDecoder().decode(Self.self, from: Data($0.utf8))
    }

    enum Role: String, Codable { case worker, client }

    var role = Role.worker
    /// The process that makes the settings.
    var driver = ProcessInfo.processInfo.processIdentifier
    /// The path of a file, or a URL.
    var store: String
    /// The folder of the files and logs, which all processes see.
    var folder: String
    var lease: Duration
    /// The longest of each of a job's two waits, in milliseconds.
    var longestWait: Int
    /// How many jobs the client enqueues at most.
    var jobs: Int
    /// Whether the client waits for the results of its jobs. The client then also publishes files
    /// that a worker has left.
    var awaitsResults: Bool
    /// The longest of each of the two waits of every tenth job, in milliseconds; nil if those are
    /// like the others.
    var longestWaitOfLongJobs: Int?
    /// The time between two groups of the client's jobs, so that slots are free; nil for none.
    var pauseOfClient: Duration?
    /// Whether slots are free, and hardly anything stands still, so that no job may wait.
    var isQuiet = false
    /// A time between two faults, beside a short one at random.
    var pauseOfFaults = Duration.zero
    /// How long a worker is missing after its end, so that others have to take its jobs.
    var pauseOfRestarts = Duration.zero
    /// Whether some bodies end when they are cancelled.
    var hasObedientJobs: Bool
    /// After how many deaths of its workers a job is discarded.
    var deathLimit = Int.max
    /// Whether there are jobs that kill their workers.
    var hasPoison = false
    /// Whether the programs of the workers block the threads of Swift's own pool.
    var hasBlockedPools = false
    /// The number of jobs that ended long ago.
    var history = 0
    /// Whether the processes also use the store as in ``NemesisMixture``.
    var isMixed = false

    var runs: String { "\(folder)/runs.log" }
    var confirmed: String { "\(folder)/client.log" }
    /// What the processes have found wrong themselves.
    var problems: String { "\(folder)/problems.log" }
    /// The messages of the processes of a slot.
    func errors(_ slot: Int) -> String { "\(folder)/errors-\(slot)" }
    /// Workers that start while this file exists cannot decode the jobs.
    var deployed: String { "\(folder)/deployed" }
    /// The client enqueues no more jobs when this file exists.
    var enough: String { "\(folder)/enough" }

    var text: String {
        String(decoding: (try? JSONEncoder().encode(self)) ?? Data(), as: UTF8.self)
    }

    static func storage(_ store: String) -> JobStorage {
        #if DurableJobsPostgres
        if store.hasPrefix("postgres:") { return .postgres(store).withFiles() }
        #endif
        return .file(store).withFiles()
    }
}
#endif
