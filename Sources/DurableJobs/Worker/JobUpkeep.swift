#if DurableJobs
import Operations

/// The background steps that make jobs of a queue ready or end them, without attempts. A worker
/// repeats them, and a ``JobStepper`` performs them before each job.
struct JobUpkeep: Sendable {
    /// What the steps have changed.
    struct Changes {
        var addsJobs = false
        var endsJobs = false
        /// The revision of the queue's pauses.
        var pauses: Int64 = 0
        /// The time until a step is due because of a schedule; nil if there is none.
        var nextStep: Duration?
        /// Why schedules were left to others.
        var unreadableSchedules: [(name: String, reason: String)] = []
    }

    let queue: JobQueue
    /// After which time a job is raised to the next priority; nil raises none.
    var aging: Duration?
    var report: @Sendable ([EndedJob]) -> Void = { _ in }

    /// Performs each step that is due.
    func performDueSteps() async throws -> Changes {
        let (store, name) = (queue.store, queue.name)
        var changes = Changes()
        let due = try await store.dueUpkeep(in: name)
        changes.pauses = due.pauses
        changes.nextStep = due.timeToNextSchedule.flatMap { $0 > .zero ? $0 : nil }
        if due.firesSchedules { try await fireSchedules(&changes) }
        if due.hasUnchecked {
            let count = try await store.checkDependents(in: name, reporting: report)
            if count > 0 { changes.addsJobs = true }
        }
        if due.hasUncounted, try await store.followCompleted(in: name) > 0 {
            // A job may have waited for an exclusive key, and a batch for its last job.
            (changes.addsJobs, changes.endsJobs) = (true, true)
        }
        if due.hasOverdue {
            changes.endsJobs = try await store.discardOverdue(in: name, reporting: report) > 0
        }
        // These steps may have found ends of jobs on which others depend.
        if due.hasUnresolved || due.hasUnchecked || due.hasUncounted || due.hasOverdue {
            try await store.resolveRest(reporting: report)
        }
        if due.hasWide, try await store.releaseWide(in: name) { changes.addsJobs = true }
        if let aging, try await store.raiseOld(in: name, span: aging) > 0 {
            changes.addsJobs = true
        }
        return changes
    }

    private func fireSchedules(_ changes: inout Changes) async throws {
        let fired = try await queue.store.fireSchedules(in: queue.name)
        changes.unreadableSchedules = fired.unreadable
        // The next time may come before the usual pause is over.
        if fired.changed > 0 { changes.nextStep = .zero }
        guard !fired.jobs.isEmpty else { return }
        changes.addsJobs = true
        queue.store.database.announce(queue.name)
    }
}
#endif
