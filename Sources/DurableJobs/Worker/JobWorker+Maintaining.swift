#if DurableJobs
import Operations
import OperationsRuntime

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The background steps of every worker: steps 6 and 7 of Protocol.md, those of `JobUpkeep`, the
// head of the order, and history.

/// When a worker performs the background steps that come less often than others. Pure.
struct MaintenanceSchedule: Sendable {
    /// Short leases are those of tests.
    private static let longestPrunePeriod = Duration.seconds(60)

    private let rescuePeriod: Duration
    private let prunePeriod: Duration
    private var nextRescue = Duration.zero
    private var nextRefresh: Duration
    private var nextPrune: Duration
    private var nextComplaint = Duration.zero

    init(lease: Duration, now: Duration) {
        rescuePeriod = lease / 3
        prunePeriod = min(Self.longestPrunePeriod, lease * 4)
        (nextRefresh, nextPrune) = (now + .seconds(1), now + prunePeriod / 2)
    }

    /// The pause between two turns.
    var pause: Duration { min(.seconds(1), rescuePeriod) }

    /// Whether this turn refreshes the store's extension.
    mutating func takesRefresh(now: Duration) -> Bool {
        Self.take(&nextRefresh, every: .seconds(1), now)
    }

    /// Whether this turn looks for what workers that died have left.
    mutating func takesRescue(now: Duration) -> Bool {
        Self.take(&nextRescue, every: rescuePeriod, now)
    }

    /// Whether this turn reports schedules that this process cannot read.
    mutating func takesComplaint(now: Duration) -> Bool {
        Self.take(&nextComplaint, every: .seconds(60), now)
    }

    /// Whether this turn moves history.
    func takesPruning(now: Duration) -> Bool { now >= nextPrune }

    mutating func pruned(now: Duration) { nextPrune = now + prunePeriod }

    private static func take(
        _ next: inout Duration, every period: Duration, _ now: Duration
    ) -> Bool {
        guard now >= next else { return false }
        next = now + period
        return true
    }
}

/// The revision of the pauses that a worker's row has.
private struct ObeyedPauses: Equatable {
    var worker = ""
    var revision: Int64 = 0
}

extension JobWorker {
    func maintain() async {
        var schedule = MaintenanceSchedule(lease: options.lease, now: Machine.timeSinceBoot)
        var missing = MissingWorkers(lease: options.lease)
        var obeyed = ObeyedPauses()
        while !lease.withLock({ $0.isOver }) {
            var pause = schedule.pause
            do {
                let rest = try await performTurn(&schedule, &missing, &obeyed)
                storeAnswered(in: .maintenance)
                if let rest { pause = min(pause, rest) }
            } catch {
                missing.lookFailed()
                storeFailed(error, in: .maintenance)
            }
            await upkeep.wait(atMost: pause)
        }
    }

    /// - Returns: the time until the next turn, which is zero if something is left for it now; nil
    ///   if only the usual pause counts.
    private func performTurn(
        _ schedule: inout MaintenanceSchedule, _ missing: inout MissingWorkers,
        _ obeyed: inout ObeyedPauses
    ) async throws -> Duration? {
        let now = Machine.timeSinceBoot
        let steps = JobUpkeep(queue: jobs, aging: options.aging) { [weak self] in self?.report($0) }
        var changes = try await steps.performDueSteps()
        if changes.endsJobs { jobs.signals.jobsEnded() }
        try await obeyPauses(changes.pauses, &obeyed)
        if !changes.unreadableSchedules.isEmpty, schedule.takesComplaint(now: now) {
            for (name, reason) in changes.unreadableSchedules {
                reportElsewhere(.unreadableSchedule(name: name, reason: reason))
            }
        }
        try await recordHead()
        if let `extension` = store.extension, schedule.takesRefresh(now: now) {
            try await `extension`.refresh(jobs)
        }
        if schedule.takesRescue(now: now) {
            if try await rescue(&missing) { changes.addsJobs = true }
            if try await store.extension?.sweep(jobs, committedBefore: options.lease) == true {
                jobs.signals.jobsEnded()
            }
        }
        if changes.addsJobs { jobsAdded() }
        guard schedule.takesPruning(now: now) else { return changes.nextStep }
        guard try await moveHistory() else { return .zero }
        schedule.pruned(now: now)
        return changes.nextStep
    }

    /// Learns the pauses of the queue, if the store has another revision than the worker knows; and
    /// says so in the worker's row, also after a new lease. From then on the worker begins no job
    /// that is paused.
    private func obeyPauses(_ revision: Int64, _ obeyed: inout ObeyedPauses) async throws {
        if revision != state.withLock({ $0.pauses.revision }) {
            let pauses = try await store.pauses(in: jobs.name)
            let now = Machine.timeSinceBoot
            let waiting = state.withLock { $0.pausesChanged(pauses, now: now) }
            for running in waiting { running.operation.cancel(because: .notBegun) }
            wakeUp.signal()
        }
        let present = state.withLock {
            ObeyedPauses(worker: $0.worker, revision: $0.pauses.revision)
        }
        guard present != obeyed, present.revision > 0 else { return }
        try await store.obeyPauses(present.revision, present.worker)
        obeyed = present
    }

    /// Takes the jobs of workers that died.
    ///
    /// - Returns: whether jobs became ready.
    private func rescue(_ missing: inout MissingWorkers) async throws -> Bool {
        let dead = missing.dead(now: Machine.timeSinceBoot)
        let (count, stillMissing) = try await store.rescue(
            in: jobs.name, deathLimit: options.deathLimit, isDead: dead.contains,
            reporting: report)
        missing.found(stillMissing, now: Machine.timeSinceBoot)
        if count > 0 { report(.rescued(count: count)) }
        return try await store.releaseParked(in: jobs.name) > 0 || count > 0
    }

    /// The most transactions of one turn that move history. The other steps must not wait for long:
    /// on them depends when the jobs of a dead worker start again.
    static let historyPortions = 5

    /// Moves some of the jobs that are old enough; none when the worker is about to leave.
    ///
    /// - Returns: whether no such job is left.
    func moveHistory() async throws -> Bool {
        try await store.prune(
            in: jobs.name, endedFor: options.history, discardedFor: options.discardedHistory,
            keepingFor: options.archive, portions: Self.historyPortions,
            until: { lease.withLock { $0.isOver } }
        ).isDone
    }

    private func recordHead() async throws {
        guard let head = state.withLock({ $0.takeHead() }) else { return }
        try await store.recordHead(of: jobs.name, head)
    }
}
#endif
