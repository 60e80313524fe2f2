#if DurableJobs && JOB_FAULTS
import DurableJobFiles
import Operations

@testable import DurableJobs

/// A fault that follows one job: it strikes the worker that performs the job, and then the one that
/// has taken the job from it. So two workers lose their leases with the job, one death short of the
/// limit or none, and a protocol that counts wrongly discards the job. By faults at random that
/// would be rare.
///
/// The sleeps are part of the fault.
struct Pursuit {
    let children: ChildProcesses
    let settings: NemesisSettings
    let queue: JobQueue

    /// A worker, with its process.
    private struct Holder {
        let worker: String
        let process: Int32
    }

    /// How long a worker may take to get the job, in leases: a busy one must end others before.
    private static let patience = 6

    /// Both workers stand still at the same time, the second one for less than four leases, and
    /// come back.
    ///
    /// - Parameter pause: the time after the second one's lease has ended. A lease is enough for
    ///   others to take its jobs.
    func stopBoth(for pause: Duration) async throws -> Bool {
        let job = try await enqueue()
        guard let first = await holder(of: job) else { return false }
        children.halt(first.process)
        let second = await holder(of: job, after: first)
        if let second {
            children.halt(second.process)
            try await Task.sleep(for: settings.lease + pause)
            children.goOn(second.process)
        }
        children.goOn(first.process)
        return second != nil
    }

    /// The first worker stands still and comes back. Then the second one is killed: that is one
    /// death.
    func stopAndKill() async throws -> Bool {
        let job = try await enqueue()
        guard let first = await holder(of: job) else { return false }
        children.halt(first.process)
        let second = await holder(of: job, after: first)
        children.goOn(first.process)
        guard let second, await hasReturned(first), let present = await holder(of: job),
            present.worker == second.worker
        else { return false }
        return children.end(process: second.process)
    }

    private func enqueue() async throws -> JobID {
        let milliseconds = Int((settings.lease * 2).milliseconds)
        let name = "pursued-\(UInt64.random(in: 0 ... .max))"
        return try await queue.enqueue(
            SlowWord(
                path: "\(settings.folder)/\(name)", longestWait: milliseconds, isObedient: true,
                shortestWait: milliseconds), .priority(.veryHigh)
        ).id
    }

    /// Waits until a worker has the job; no event of this process tells that.
    private func holder(of job: JobID, after former: Holder? = nil) async -> Holder? {
        await poll {
            try $0.query(
                """
                SELECT w.id, w.process FROM durable_job j
                JOIN durable_job_worker w ON w.id = j.worker
                WHERE j.id = ? AND j.state = 3 AND w.id <> ?
                """, [.integer(job.rawValue), .text(former?.worker ?? "")]
            ).first.map {
                Holder(worker: $0.text(0) ?? "", process: Int32($0.integer(1)))
            }
        }
    }

    /// Waits until the process of a worker that stood still has a lease again.
    private func hasReturned(_ holder: Holder) async -> Bool {
        await poll {
            try $0.query(
                "SELECT 1 FROM durable_job_worker WHERE process = ? AND id <> ? AND {alive}",
                [.integer(Int64(holder.process)), .text(holder.worker)]
            ).first.map { _ in true }
        } ?? false
    }

    private func poll<Value: Sendable>(
        _ look: @escaping @Sendable (any SQLSession) throws -> Value?
    ) async -> Value? {
        let end = ContinuousClock.now + settings.lease * Self.patience
        while ContinuousClock.now < end {
            let found = try? await queue.store.database.transaction(.reading) { try look($0) }
            if let found { return found }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return nil
    }
}
#endif
