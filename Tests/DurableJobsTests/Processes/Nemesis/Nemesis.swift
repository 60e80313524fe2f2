#if DurableJobs && JOB_FAULTS
import DurableJobFiles
import OperationsRuntime
import Operations
import OperationsTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

/// Runs jobs in child processes, disturbs them and their hosts at random, and then checks what has
/// become of the jobs.
final class Nemesis: Sendable {
    /// When the faults of a round end.
    enum Length {
        /// All jobs have ended, or this time has passed.
        case untilDone(atMost: Duration)
        /// This time has passed. The client enqueues jobs as long as there are faults.
        case time(Duration)
    }

    /// The beginning of the finding that not all jobs ended in time.
    static let unfinished = "jobs are left"
    /// How long jobs may take when the faults are over. A lost connection is noticed within ten
    /// seconds, and a connection to a host that does not answer takes five.
    static let patience = Duration.seconds(60)

    private let settings: NemesisSettings
    private let faults: String
    private let seed: UInt64
    private let queue: JobQueue
    private let hosts: NemesisHosts?
    private let children: ChildProcesses
    private let areFaultsOver = Locked(false)
    private let counts = Locked<[String: Int]>([:])
    private let size = Locked((jobs: 0, runs: 0))
    private let history = Locked<[String]>([])
    /// The faults of hosts.
    private let disturbances = Locked<[Span]>([])
    /// The faults in which a process, or the store, stands still.
    private let standstills = Locked<[Span]>([])
    private let samples: StoreSamples
    /// When the queue, or the type of its jobs, was paused.
    private let pauses = Locked<[Span]>([])
    private let pauseFindings = Locked<[String]>([])
    private let historyText = Locked("")
    private let scheduleFindings = Locked<[String]>([])

    /// - Parameters:
    ///   - faults: the faults of all workers; see `Faults`.
    ///   - queue: the queue, by a connection that no fault touches.
    ///   - hosts: the hosts of the processes; nil for processes on this host.
    init(
        _ settings: NemesisSettings, faults: String, seed: UInt64, _ queue: JobQueue,
        on hosts: NemesisHosts? = nil
    ) {
        (self.settings, self.faults, self.seed) = (settings, faults, seed)
        (self.queue, self.hosts) = (queue, hosts)
        children = ChildProcesses(settings, faults: faults, on: hosts)
        samples = StoreSamples(of: queue)
    }

    /// The faults, with their times.
    var faultHistory: [String] {
        history.withLock { $0 } + (hosts?.crashes ?? []).map { "crash \($0.start) to \($0.end)" }
    }

    /// The numbers of jobs and runs, and how often each fault has struck.
    var summary: String {
        let (jobs, runs) = size.withLock { $0 }
        let faults = counts.withLock { $0 }.sorted { $0.key < $1.key }
        let texts = ["\(jobs) jobs", "\(runs) runs"] + faults.map { "\($0.value) \($0.key)" }
        return (texts + historyText.withLock { $0.isEmpty ? [] : [$0] }).joined(separator: ", ")
    }

    /// Returns what is wrong in the end; nothing if the protocol holds.
    func run(_ length: Length, processFaults: [ProcessFault]) async throws -> [String] {
        let isFile = !settings.store.hasPrefix("postgres:")
        let history = NemesisHistory(count: settings.history, in: queue)
        let first = settings.history > 0 ? try await history.store() : 0
        let checks = StoreChecks(queue: queue, folder: settings.folder, first: first)
        try await checks.logCommits(isFile: isFile)
        if settings.isMixed {
            try await checks.refuseWords(isFile: isFile)
            try await ScheduleChecks(queue: queue, settings: settings).logTimes(isFile: isFile)
        }
        let isDrained = try await withThrowingTaskGroup(of: Void.self) { group in
            for slot in ChildProcesses.slots {
                group.addTask { await self.children.keepAlive(slot) }
            }
            group.addTask { await self.samples.collect(after: first) }
            let isDrained = try await self.disturb(length, processFaults)
            samples.end()
            try await self.children.end()
            try await group.waitForAll()
            return isDrained
        }
        var wrong = try await findings(checks)
        if settings.history > 0 {
            wrong += try await history.findings(until: first)
            let moved = try await history.moved(until: first)
            historyText.withLock { $0 = "\(moved) of \(settings.history) old jobs moved" }
        }
        if !isDrained { wrong.append("\(Self.unfinished) when the time was over") }
        return wrong
    }

    /// Returns what is wrong with the jobs and the processes of the round.
    private func findings(_ checks: StoreChecks) async throws -> [String] {
        let log = RunLog.read(settings.runs)
        let samples = samples.samples
        let outages = disturbances.withLock { $0 } + (hosts?.crashes ?? [])
        let all = outages + standstills.withLock { $0 }
        let deaths = DeathChecks(log, samples: samples, deathLimit: settings.deathLimit)
        let ends = EndChecks(log, samples: samples, disturbances: all)
        let (found, attempts) = try await checks.findings(
            LineFile.read(settings.confirmed), deaths, ends)
        var wrong = found
        let runs = RunChecks(log, crashes: hosts?.crashes ?? [], lease: settings.lease)
        size.withLock { $0 = (attempts.count, runs.runs.count) }
        wrong += runs.findings(
            attempts: attempts, fencesItself: !faults.contains("no-watchdog"))
        wrong += ends.stopFindings(outages: outages)
        wrong +=
            TakeoverChecks(
                log, samples: samples, disturbances: all, lease: settings.lease,
                deathLimit: settings.deathLimit
            ).findings()
        if settings.isQuiet {
            wrong +=
                LivenessChecks(
                    log, samples: samples, disturbances: all, lease: settings.lease,
                    deathLimit: settings.deathLimit
                ).findings()
            wrong += LeaseChecks(log, disturbances: all, lease: settings.lease).findings()
        }
        if settings.isMixed {
            let (found, times) = try await ScheduleChecks(queue: queue, settings: settings)
                .findings()
            wrong += found + scheduleFindings.withLock { $0 }
            counts.withLock { $0["scheduled times"] = times }
        }
        wrong += LineFile.read(settings.problems) as [String]
        wrong += self.samples.findings
        wrong += pauseFindings.withLock { $0 }
        if !faults.contains("no-watchdog") {
            wrong += runs.findings(pauses: pauses.withLock { $0 })
        }
        wrong += children.crashes + (hosts?.failures ?? [])
        if attempts.isEmpty { wrong.append("no job was stored") }
        return wrong
    }

    // MARK: Faults

    /// Lets faults strike, and waits for the ends of all jobs.
    private func disturb(_ length: Length, _ processFaults: [ProcessFault]) async throws -> Bool {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.disturbProcesses(processFaults) }
            if settings.isQuiet { group.addTask { await self.storeGroups() } }
            if settings.isMixed {
                group.addTask { await self.pruneOtherQueue() }
                group.addTask { await self.useSchedule() }
            }
            if settings.isMixed, !settings.isQuiet { group.addTask { await self.pauseQueue() } }
            if let hosts {
                group.addTask { try await self.disturb(hosts) }
            }
            let isDrained: Bool
            switch length {
            case .untilDone(let limit):
                isDrained = try await jobsEnd(within: limit)
                areFaultsOver.withLock { $0 = true }
                try await group.waitForAll()
            case .time(let time):
                try await Task.sleep(for: time)
                areFaultsOver.withLock { $0 = true }
                try await group.waitForAll()
                try Data().write(to: URL(filePath: settings.enough))
                isDrained = try await jobsEnd(within: Self.patience, goesOn: true)
            }
            try await waitForPublications()
            if !isDrained, let hosts { await hosts.run("report \(hosts.primary)") }
            return isDrained
        }
    }

    private func disturbProcesses(_ faults: [ProcessFault]) async throws {
        var random = FaultRandom(seed: seed)
        while !areFaultsOver.withLock({ $0 }) {
            let fault = random.element(faults)
            let start = Machine.timeSinceBoot
            if try await fault.strike(children, settings, queue, &random) {
                note(fault.rawValue, start)
            } else {
                history.withLock { $0.append("\(start): no \(fault.rawValue) was possible") }
            }
            if fault.isStandstill {
                standstills.withLock {
                    $0.append(Span(start: start, end: Machine.timeSinceBoot))
                }
            }
            try await Task.sleep(
                for: .milliseconds(random.number(50..<300)) + settings.pauseOfFaults)
        }
    }

    private func disturb(_ hosts: NemesisHosts) async throws {
        var random = FaultRandom(seed: ~seed)
        while !areFaultsOver.withLock({ $0 }) {
            let fault = random.element(HostFault.allCases)
            let start = Machine.timeSinceBoot
            try await fault.strike(hosts, settings, &random)
            disturbances.withLock { $0.append(Span(start: start, end: Machine.timeSinceBoot)) }
            note(fault.rawValue, start)
            try await Task.sleep(for: random.time(settings.lease, 0...1))
        }
    }

    /// Stores, cancels and prunes jobs of another queue of the store. That concerns no other queue.
    /// The pause only spaces the calls.
    private func pruneOtherQueue() async {
        while !areFaultsOver.withLock({ $0 }) {
            // A store that does not answer is no finding.
            if let other = try? queue.queue("other"),
                let job = try? await other.enqueue(
                    SlowWord(path: "", longestWait: 0, isObedient: true))
            {
                _ = try? await other.cancel(job.id)
                _ = try? await other.prune(endedFor: .zero, archivingFor: .zero)
            }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Pauses the queue and its type of jobs again and again, and notes when nothing may begin.
    private func pauseQueue() async {
        while !areFaultsOver.withLock({ $0 }) {
            try? await Task.sleep(for: .milliseconds(Int.random(in: 500...3_000)))
            let isType = Bool.random()
            do {
                if isType {
                    try await queue.pause(SlowWord.self)
                } else {
                    try await queue.pause()
                }
                let start = Machine.timeSinceBoot
                try? await Task.sleep(for: .milliseconds(Int.random(in: 0...300)))
                let pause = Span(start: start, end: Machine.timeSinceBoot)
                pauses.withLock { $0.append(pause) }
            } catch JobError.workersStillBegin(let workers) {
                let text = "the call that pauses has waited for \(workers)"
                pauseFindings.withLock { $0.append(text) }
            } catch {
                // A store that does not answer is no finding. It may have the pause.
            }
            await untilStored { try await queue.resume() }
            await untilStored { try await queue.resume(SlowWord.self) }
        }
    }

    private func untilStored(_ body: () async throws -> Void) async {
        while true {
            do {
                return try await body()
            } catch {
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    private func useSchedule() async {
        let found = await ScheduleChecks(queue: queue, settings: settings).disturb {
            areFaultsOver.withLock { $0 }
        }
        scheduleFindings.withLock { $0 += found }
    }

    /// Stores one group after another that one worker could take alone: as many long jobs as it has
    /// slots, and short ones behind them, which must not wait while another worker is idle. Some
    /// rounds put a job between them that kills its workers.
    private func storeGroups() async {
        let long = 2 * Int(settings.lease.milliseconds)
        while !areFaultsOver.withLock({ $0 }) {
            let name = "\(settings.folder)/\(UInt64.random(in: 0 ... .max))"
            var jobs = (0..<8).map { number in
                let wait = number < 4 ? long : 0
                return SlowWord(
                    path: "\(name)-\(number)", longestWait: max(wait, 50), isObedient: true,
                    shortestWait: wait)
            }
            if settings.hasPoison {
                let poison = SlowWord(
                    path: name, longestWait: 300, isObedient: true, isPoison: true)
                jobs.insert(poison, at: 4)
            }
            // A store that does not answer is no finding.
            let stored = try? await queue.enqueue(jobs) { _ in [.priority(.high)] }.map(\.id)
            if let stored {
                note(settings.hasPoison ? "poison" : "group", Machine.timeSinceBoot)
                // Both a long job, and the one that kills its workers.
                for job in [stored[0], stored[4]] { await end(of: job) }
            }
            try? await Task.sleep(for: settings.lease)
        }
    }

    /// Waits for the end of a job, which needs no faults and may come after them.
    private func end(of job: JobID) async {
        while !areFaultsOver.withLock({ $0 }),
            (try? await queue.info(job))?.state.isEnded != true
        {
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    private func note(_ fault: String, _ start: Duration) {
        counts.withLock { $0[fault, default: 0] += 1 }
        history.withLock { $0.append("\(start) to \(Machine.timeSinceBoot): \(fault)") }
    }

    // MARK: Ends

    /// Waits until the client has done its work and all jobs have ended.
    ///
    /// - Parameter goesOn: whether the time begins anew when fewer jobs are left than ever before:
    ///   on a busy machine, many that were enqueued while faults struck are still waiting.
    private func jobsEnd(within limit: Duration, goesOn: Bool = false) async throws -> Bool {
        var end = ContinuousClock.now + limit
        var least = Int.max
        while ContinuousClock.now < end {
            if let counts = try? await queue.counts() {
                let left = counts.reduce(0) { $0 + ($1.key.isEnded ? 0 : $1.value) }
                if left == 0, children.hasClientEnded { return true }
                if goesOn, left < least {
                    least = left
                    end = ContinuousClock.now + limit
                }
            }
            // Other processes end the jobs, so there is no event to wait for.
            try await Task.sleep(for: .milliseconds(100))
        }
        return false
    }

    /// A worker that was killed last may start slowly on a busy machine. Another process publishes,
    /// so there is no event to wait for, and this asks the store again and again.
    private func waitForPublications() async throws {
        // Longer than a lease and a sweep. A broken protocol does its harm in this time; if there
        // is no harm, there is no event to wait for.
        try await Task.sleep(for: settings.lease * 2 + .seconds(1))
        let end = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < end {
            if try await queue.store.unpublished(for: .zero, in: queue.name).isEmpty { return }
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
#endif
