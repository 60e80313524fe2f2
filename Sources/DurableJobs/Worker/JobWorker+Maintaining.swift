#if DurableJobs
import Operations
import OperationsRuntime

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The background steps of every worker: steps 6 and 7 of Protocol.md, wide dependents, deadlines,
// the head of the order, and history.

/// How far a worker has looked for files of other workers that have not got their final names.
private struct Sweep {
    /// The pages of one call, so that many jobs in unseen folders do not keep the worker busy.
    static let pages = 10
    var last: UnpublishedJob?
}

extension JobWorker {
    func maintain() async {
        let rescuePeriod = options.lease / 3
        var (nextRescue, nextPrune) = (Duration.zero, Machine.timeSinceBoot + .seconds(30))
        var nextReading = Machine.timeSinceBoot + .seconds(1)
        var sweep = Sweep()
        while !lease.withLock({ $0.isOver }) {
            let now = Machine.timeSinceBoot
            var pause = min(.seconds(1), rescuePeriod)
            do {
                let due = try await store.dueUpkeep(in: jobs.name)
                var addsJobs = false
                if due.hasUnchecked {
                    addsJobs =
                        try await store.checkDependents(
                            in: jobs.name, reporting: report) > 0
                }
                if due.hasUnresolved { try await store.resolveRest(reporting: report) }
                if due.hasWide, try await store.releaseWide(in: jobs.name) { addsJobs = true }
                if let span = options.aging {
                    let count = try await store.raiseOld(in: jobs.name, span: span)
                    addsJobs = addsJobs || count > 0
                }
                if due.hasOverdue {
                    let count = try await store.discardOverdue(
                        in: jobs.name, reporting: report)
                    if count > 0 { jobs.signals.jobsEnded() }
                }
                try await recordHead()
                if now >= nextReading {
                    nextReading = now + .seconds(1)
                    try await attachments.update(from: jobs)
                }
                if now >= nextRescue {
                    nextRescue = now + rescuePeriod
                    let count = try await store.rescue(
                        in: jobs.name, deathLimit: options.deathLimit, reporting: report)
                    if count > 0 { report(.rescued(count: count)) }
                    let released = try await store.releaseParked(in: jobs.name)
                    addsJobs = addsJobs || count > 0 || released > 0
                    try await publishLeftFiles(&sweep)
                }
                if addsJobs { jobsAdded() }
                if now >= nextPrune {
                    if try await moveHistory() {
                        nextPrune = now + .seconds(60)
                    } else {
                        // The next turn begins at once.
                        pause = .zero
                    }
                }
            } catch {
                report(.storeFailed(JobCoding.describe(error)))
            }
            await upkeep.wait(atMost: pause)
        }
    }

    /// The most transactions of one turn that move history. The other steps must not wait for long:
    /// on them depends when the jobs of a dead worker start again.
    static let historyPortions = 5

    /// Moves some of the jobs that are old enough; none when the worker is about to leave.
    ///
    /// - Returns: whether no such job is left.
    func moveHistory() async throws -> Bool {
        try await store.prune(
            in: jobs.name, endedFor: options.history, keepingFor: options.archive,
            portions: Self.historyPortions, until: { lease.withLock { $0.isOver } }
        ).isDone
    }

    /// Publishes for workers that died between their commit and the rename. Jobs whose folder this
    /// worker does not see remain in the store. They must not hide the jobs after them, so the next
    /// call continues after the last job of this one, and begins again at the end.
    private func publishLeftFiles(_ sweep: inout Sweep) async throws {
        guard !Faults.noSweep else { return }
        for _ in 0..<Sweep.pages {
            let jobs = try await store.unpublished(
                for: options.lease, in: self.jobs.name, after: sweep.last)
            sweep.last = jobs.count == JobStore.unpublishedPage ? jobs.last : nil
            if try await store.publish(jobs.map { ($0.id, $0.outputs) }) {
                self.jobs.signals.jobsEnded()
            }
            if sweep.last == nil { return }
        }
    }

    private func recordHead() async throws {
        guard let head = state.withLock({ $0.takeHead() }) else { return }
        try await store.recordHead(of: jobs.name, head)
    }
}
#endif
