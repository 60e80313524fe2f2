#if DurableJobs && JOB_FAULTS
import DurableJobFiles
import DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if DurableJobsPostgres
import DurableJobsPostgres
#endif

/// Rounds with all faults, for as long as `DURABLE_JOBS_NEMESIS_SECONDS` says, by the seed
/// `DURABLE_JOBS_NEMESIS_SEED`. `make jobs-nemesis` runs them; each prints its result as one line.
/// `DURABLE_JOBS_NEMESIS_HISTORY` is the number of old jobs in the rounds that have some.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct NemesisRounds {
    static let environment = ProcessInfo.processInfo.environment
    static let seconds = environment["DURABLE_JOBS_NEMESIS_SECONDS"].flatMap(Int.init)
    /// A folder for what a failed round leaves.
    static let remains = environment["DURABLE_JOBS_NEMESIS_REMAINS"]

    /// The number of old jobs in the rounds that have some.
    static let history =
        environment["DURABLE_JOBS_NEMESIS_HISTORY"].flatMap(Int.init) ?? NemesisHistory.usualCount

    private func round(
        _ store: String, _ storage: JobStorage, _ folder: String, lease: Duration,
        on hosts: NemesisHosts?
    ) async throws -> [String] {
        let seed = NemesisTests.seed
        let plan = NemesisPlan(seed: seed, hasHosts: hosts != nil)
        let start = ContinuousClock.now
        let queue = try await JobQueue("tests", in: storage.withFiles())
        let settings = NemesisSettings(
            store: store, folder: folder, lease: lease, longestWait: 150, jobs: .max,
            awaitsResults: true, longestWaitOfLongJobs: 3 * Int(lease.milliseconds),
            pauseOfClient: plan.pauseOfClient, isQuiet: plan.isQuiet,
            pauseOfFaults: plan.isQuiet ? lease * 2 : .zero,
            pauseOfRestarts: plan.isQuiet ? lease * 3 : .zero,
            hasObedientJobs: true, deathLimit: plan.deathLimit, hasPoison: plan.kind == .poison,
            hasBlockedPools: plan.hasBlockedPools,
            history: plan.hasHistory ? Self.history : 0, isMixed: true)
        let nemesis = Nemesis(settings, faults: plan.workerFaults, seed: seed, queue, on: hosts)
        let found = try await nemesis.run(
            .time(.seconds(Self.seconds ?? 60)), processFaults: plan.processFaults)
        await queue.close()
        let time = (ContinuousClock.now - start).components.seconds
        let result = found.isEmpty ? "passed" : "\(found.count) findings"
        print("nemesis: \(result) in \(time) s; \(plan.description); \(nemesis.summary)")
        if !found.isEmpty, let remains = Self.remains {
            let text = (found + nemesis.faultHistory).joined(separator: "\n")
            try Data(text.utf8).write(to: URL(filePath: "\(remains)/findings"))
            let errors = ChildProcesses.slots.map(settings.errors)
            for log in [settings.runs, settings.confirmed] + errors {
                try? Data(contentsOf: URL(filePath: log)).write(
                    to: URL(filePath: "\(remains)/\(log.split(separator: "/").last ?? "")"))
            }
        }
        return found
    }

    @Test(.enabled(if: seconds != nil)) func processesShareAFile() async throws {
        let found = try await withFolder { folder in
            let path = "\(folder)/jobs.sqlite"
            return try await round(path, .file(path), folder, lease: .seconds(1), on: nil)
        }
        #expect(found.isEmpty, "\(found.prefix(20).joined(separator: "; "))")
    }

    #if DurableJobsPostgres
    @Test(.enabled(if: seconds != nil)) func processesShareADatabase() async throws {
        let found = try await withFolder { folder in
            try await withDatabase { store in
                try await round(store, .postgres(store), folder, lease: .seconds(1), on: nil)
            }
        }
        #expect(found.isEmpty, "\(found.prefix(20).joined(separator: "; "))")
    }

    @Test(.enabled(if: seconds != nil)) func hostsShareADatabase() async throws {
        guard let hosts = try await NemesisHosts.start() else { return }
        let found: [String]
        do {
            found = try await withFolder { folder in
                try await round(
                    NemesisHosts.url, .postgres(hosts.socketURL), folder, lease: .seconds(2),
                    on: hosts)
            }
        } catch {
            await hosts.end(keepingLogs: Self.remains)
            throw error
        }
        await hosts.end(keepingLogs: found.isEmpty ? nil : Self.remains)
        #expect(found.isEmpty, "\(found.prefix(20).joined(separator: "; "))")
    }
    #endif
}
#endif
