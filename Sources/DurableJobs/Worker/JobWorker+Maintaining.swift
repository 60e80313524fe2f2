#if DurableJobs
import FoundationEssentials
import Operations

// The background steps of every worker: steps 6 and 7 of Protocol.md, wide dependents, deadlines,
// the head of the order, and history.

extension JobWorker {
    func maintain() async {
        let rescuePeriod = options.lease / 3
        var (nextRescue, nextPrune) = (Duration.zero, Machine.timeSinceBoot + .seconds(30))
        while !lease.withLock({ $0.isOver }) {
            let now = Machine.timeSinceBoot
            do {
                try await store.resolveRest()
                var addsJobs = try await store.releaseWide(in: jobs.name)
                if let span = options.ageing {
                    let count = try await store.raiseOld(in: jobs.name, span: span)
                    addsJobs = addsJobs || count > 0
                }
                if try await store.discardOverdue() > 0 { jobs.signals.jobsEnded() }
                try await recordHead()
                if now >= nextRescue {
                    nextRescue = now + rescuePeriod
                    let count = try await store.rescue(deathLimit: options.deathLimit)
                    if count > 0 { report(.rescued(count: count)) }
                    addsJobs = addsJobs || count > 0
                    try await sweep()
                }
                if addsJobs { jobsAdded() }
                if now >= nextPrune {
                    nextPrune = now + .seconds(60)
                    _ = try await store.prune(
                        endedFor: options.history, keepingFor: options.archive)
                }
            } catch {
                report(.storeFailed(JobCoding.describe(error)))
            }
            await upkeep.wait(atMost: min(.seconds(1), rescuePeriod))
        }
    }

    /// Publishes for workers that died between their commit and the rename.
    private func sweep() async throws {
        guard !Faults.noSweep else { return }
        let jobs = try await store.unpublished(for: options.lease)
        guard !jobs.isEmpty else { return }
        try await store.markPublished(Publishing.publish(jobs))
        self.jobs.signals.jobsEnded()
    }

    private func recordHead() async throws {
        guard let head = state.withLock({ $0.takeHead() }) else { return }
        try await store.recordHead(of: jobs.name, head)
    }
}
#endif
