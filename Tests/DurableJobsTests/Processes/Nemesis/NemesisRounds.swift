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
@Suite(.serialized, .timeLimit(.minutes(60)))
struct NemesisRounds {
    static let environment = ProcessInfo.processInfo.environment
    static let seconds = environment["DURABLE_JOBS_NEMESIS_SECONDS"].flatMap(Int.init)
    /// A folder for what a failed round leaves.
    static let remains = environment["DURABLE_JOBS_NEMESIS_REMAINS"]

    /// Stopping and killing is more probable than what happens seldom.
    static let processFaults: [ProcessFault] = [
        .stop, .stop, .stop, .stopBeforePublishing, .stopBeforePublishing, .kill, .kill, .kill,
        .evict, .retire, .killClient, .shiftClock,
    ]
    /// In every fourth round, no worker dies, so no job may be discarded.
    static let harmlessFaults: [ProcessFault] = [
        .stop, .stop, .stopBeforePublishing, .retire, .killClient, .shiftClock,
    ]

    /// In every fourth round, there are free slots, and nothing stands still.
    static let quickFaults: [ProcessFault] = [.kill, .evict, .retire, .retire, .killClient]
    static func hasFreeSlots(_ seed: UInt64) -> Bool { seed % 4 == 2 }

    static func processFaults(_ seed: UInt64, hasHosts: Bool) -> [ProcessFault] {
        if hasFreeSlots(seed) { return quickFaults }
        let faults = seed % 4 == 1 ? harmlessFaults : processFaults
        // Hosts have outages of their own.
        return hasHosts ? faults : faults + [.outage]
    }

    /// The faults of the workers: in every third round, none fences itself.
    static func faults(_ seed: UInt64) -> String {
        seed % 3 == 0 ? "no-watchdog lose-answers pause" : "lose-answers pause"
    }

    private func round(
        _ store: String, _ storage: JobStorage, _ folder: String, lease: Duration,
        on hosts: NemesisHosts?
    ) async throws -> [String] {
        let seed = NemesisTests.seed
        let isQuiet = Self.hasFreeSlots(seed)
        let start = ContinuousClock.now
        let queue = try await JobQueue("tests", in: storage.withFiles())
        let settings = NemesisSettings(
            store: store, folder: folder, lease: lease, longestWait: 150, jobs: .max,
            awaitsResults: true, longestWaitOfLongJobs: 3 * Int(lease.milliseconds),
            pauseOfClient: isQuiet ? .milliseconds(500) : nil,
            pauseOfFaults: isQuiet ? lease * 2 : .zero,
            hasObedientJobs: true, deathLimit: NemesisTests.deathLimit(seed), isMixed: true)
        let nemesis = Nemesis(settings, faults: Self.faults(seed), seed: seed, queue, on: hosts)
        let found = try await nemesis.run(
            .time(.seconds(Self.seconds ?? 60)),
            processFaults: Self.processFaults(seed, hasHosts: hosts != nil))
        await queue.close()
        let time = (ContinuousClock.now - start).components.seconds
        let result = found.isEmpty ? "passed" : "\(found.count) findings"
        print("nemesis: \(result) in \(time) s; \(nemesis.summary)")
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
