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

/// Faults at random, in processes that are stopped and killed. `DURABLE_JOBS_NEMESIS_JOBS` sets the
/// number of jobs, and `DURABLE_JOBS_NEMESIS_SEED` repeats the faults of a run.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct NemesisTests {
    static let environment = ProcessInfo.processInfo.environment
    static let jobs = environment["DURABLE_JOBS_NEMESIS_JOBS"].flatMap(Int.init) ?? 600
    static let seed =
        environment["DURABLE_JOBS_NEMESIS_SEED"].flatMap(UInt64.init)
        ?? UInt64.random(in: 0..<1_000_000)

    /// The faults of all runs: the protocol must hold although a worker does not fence itself,
    /// answers to transactions are lost, and workers die between a commit and its publication.
    static let always = "no-watchdog lose-answers pause"
    static let broken = ["unguarded", "running", "no-repeat", "direct", "no-sweep"]
    static let processFaults =
        Array(repeating: ProcessFault.stop, count: 5) + Array(repeating: .kill, count: 4)

    /// Small, so that a wrong death discards a job.
    static func deathLimit(_ seed: UInt64) -> Int { 2 + Int(seed % 2) }

    /// - Parameter longestWait: how long a job takes at most in each of its two waits, in
    ///   milliseconds.
    private func findings(
        _ kind: StoreKind, _ faults: String, longestWait: Int = 80, seed: UInt64 = seed,
        deathLimit: Int = .max, jobs: Int = jobs,
        length: Nemesis.Length = .untilDone(atMost: .seconds(120)),
        _ processFaults: [ProcessFault] = Self.processFaults
    ) async throws -> [String] {
        print("The seed of the faults is \(seed).")
        return try await withFolder { folder in
            let run = { (store: String, storage: JobStorage) in
                let queue = try await JobQueue("tests", in: storage.withFiles())
                let settings = NemesisSettings(
                    store: store, folder: folder, lease: .seconds(1), longestWait: longestWait,
                    jobs: jobs, awaitsResults: false, hasObedientJobs: false,
                    deathLimit: deathLimit)
                let nemesis = Nemesis(settings, faults: faults, seed: seed, queue)
                let findings = try await nemesis.run(length, processFaults: processFaults)
                print("The round had \(nemesis.summary).")
                await queue.close()
                return findings
            }
            switch kind {
            case .file:
                let path = "\(folder)/jobs.sqlite"
                return try await run(path, .file(path))
            #if DurableJobsPostgres
            case .postgres: return try await withDatabase { try await run($0, .postgres($0)) }
            #endif
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func theProtocolHolds(_ kind: StoreKind) async throws {
        let findings = try await findings(
            kind, Self.always, deathLimit: Self.deathLimit(Self.seed))
        #expect(findings.isEmpty, "\(findings.prefix(20).joined(separator: "; "))")
    }

    /// Workers that are killed after they were asked to end say nothing about their jobs: each of
    /// them may be evicted many times.
    @Test(arguments: StoreKind.allCases)
    func evictionsDiscardNoJob(_ kind: StoreKind) async throws {
        let findings = try await findings(
            kind, "pause", longestWait: 250, deathLimit: 1, jobs: Self.jobs / 3, [.evict])
        #expect(findings.isEmpty, "\(findings.prefix(20).joined(separator: "; "))")
    }

    /// Stores that do not answer for longer than a lease, and processes that stand still for as
    /// long, again and again while a job runs. The rounds have such outages, too.
    @Test(
        .enabled(if: environment["OPERATIONS_NIGHT"] == "1", "takes half a minute"),
        arguments: StoreKind.allCases)
    func outagesDiscardNoJob(_ kind: StoreKind) async throws {
        let findings = try await findings(
            kind, "pause", longestWait: 1_500, deathLimit: 2, jobs: 24,
            length: .time(.seconds(6)), [.outage, .outage, .stop])
        #expect(findings.isEmpty, "\(findings.prefix(20).joined(separator: "; "))")
    }

    /// Of the workers of one job, two lose their leases, and at most one is killed. The rounds have
    /// such faults, too.
    @Test(
        .enabled(if: environment["OPERATIONS_NIGHT"] == "1", "takes half a minute"),
        arguments: StoreKind.allCases)
    func pursuitsDiscardNoJob(_ kind: StoreKind) async throws {
        let findings = try await findings(
            kind, "pause", longestWait: 250, deathLimit: 2, jobs: 24, length: .time(.seconds(6)),
            [.pursue, .pursueToDeath])
        #expect(findings.isEmpty, "\(findings.prefix(20).joined(separator: "; "))")
    }

    /// Shows that the checks can fail: one protocol of the model's broken ones, by the seed.
    @Test func brokenProtocolIsFound() async throws {
        let chosen = Self.environment["DURABLE_JOBS_NEMESIS_BROKEN"].map {
            $0.split(separator: " ").map(String.init)
        }
        for name in chosen ?? [Self.broken[Int(Self.seed % UInt64(Self.broken.count))]] {
            var found: [String] = []
            var round: UInt64 = 0
            // The longer a job takes, the more probable it is that a worker that lost its lease
            // wakes while another one performs the job.
            let end = ContinuousClock.now + .seconds(240)
            while found.isEmpty, ContinuousClock.now < end {
                found = try await findings(
                    .file, "\(Self.always) \(name)", longestWait: 250, seed: Self.seed &+ round)
                // That is no harm done by the broken protocol.
                found.removeAll { $0.hasPrefix(Nemesis.unfinished) }
                round += 1
            }
            #expect(!found.isEmpty, "the broken protocol '\(name)' was not found")
            print("'\(name)': \(found.count) findings, such as: \(found.first ?? "")")
        }
    }
}
#endif
