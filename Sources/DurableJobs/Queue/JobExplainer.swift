#if DurableJobs
import Operations
import OperationsRuntime

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Finds out why a job does not run. Each question to the store is a transaction of its own, so the
/// answer may mix moments.
struct JobExplainer {
    let store: JobStore
    /// The store's time in milliseconds since 1970.
    let now: Int64

    func explain(_ job: StoredJob) async throws -> String {
        let label = "job \(job.id) ('\(job.name)')"
        switch job.state {
        case .blocked: return "\(label) \(try await blockers(of: job.id))"
        case .scheduled: return "\(label) starts \(until(job.runAt))"
        case .retryable:
            let reason = job.error.map { ": \($0)" } ?? ""
            guard job.failures > 0 else {
                return "\(label) was postponed, and is tried again \(until(job.runAt))\(reason)"
            }
            return "\(label) failed \(times(job.failures)), and is tried again "
                + "\(until(job.runAt))\(reason)"
        case .available: return "\(label) \(try await whyReady(job))"
        case .running:
            let suffix = job.isCancelRequested ? ", and is asked to stop" : ""
            return "\(label) is \(running(job)): it runs, or waits for a slot there\(suffix)"
        case .completed: return "\(label) completed \(ago(job.endedAt)), in attempt \(job.attempt)"
        case .cancelled: return "\(label) was cancelled \(ago(job.endedAt)): \(job.error ?? "")"
        case .discarded:
            return "\(label) was discarded \(ago(job.endedAt)), after \(job.attempt) "
                + "\(job.attempt == 1 ? "attempt" : "attempts"): \(job.error ?? "")"
        }
    }

    // MARK: Blocked jobs

    private func blockers(of id: JobID) async throws -> String {
        let all = try await store.dependencies(of: id)
        let open = all.filter { !$0.isResolved }.map(\.job)
        guard !open.isEmpty else { return "is about to become available" }
        let shown = open.prefix(5).map { "\($0.id)" }.joined(separator: ", ")
        let more = open.count > 5 ? ", …" : ""
        let count = all.count == 1 ? "" : "\(open.count) of \(all.count) "
        return "waits for \(count)(\(shown)\(more)), \(states(of: open))"
    }

    private func states(of jobs: [StoredJob]) -> String {
        let kinds = Dictionary(grouping: jobs, by: \.state)
        if jobs.count == 1 { return phrase(jobs[0]) }
        guard kinds.count == 1, let first = jobs.first else {
            return kinds.sorted { $0.key.rawValue < $1.key.rawValue }
                .map { "\($0.value.count) \($0.key)" }.joined(separator: ", ")
        }
        let all = jobs.count == 2 ? "both" : "all"
        let isSameHost = jobs.allSatisfy { $0.host == first.host }
        guard first.state == .running, isSameHost else { return "\(all) \(first.state)" }
        let oldest = jobs.compactMap(\.startedAt).min()
        return "\(all) with a worker on \(first.host ?? "a host") for \(time(since: oldest))"
    }

    private func phrase(_ job: StoredJob) -> String {
        switch job.state {
        case .running: "which is \(running(job))"
        case .scheduled, .retryable: "which is \(job.state) and starts \(until(job.runAt))"
        default: "which is \(job.state)"
        }
    }

    private func running(_ job: StoredJob) -> String {
        let place = job.host.map { " on \($0) (process \(job.process ?? 0))" } ?? ""
        return "with a worker\(place) for \(time(since: job.startedAt)), in attempt \(job.attempt)"
    }

    // MARK: Available jobs

    private func whyReady(_ job: StoredJob) async throws -> String {
        let pauses = try await store.pauses(in: job.queue)
        if let reason = pauses.queueReason {
            return "is available, but the queue is paused: \(reason)"
        }
        if let reason = pauses.reasons[job.name] {
            return "is available, but '\(job.name)' is paused: \(reason)"
        }
        let version = try await store.performedVersion(of: job.name, in: job.queue)
        guard let version else {
            return "is available, but no worker performs '\(job.name)'"
        }
        guard version >= job.version else {
            return
                "is available, but its version is \(job.version), and the newest worker performs "
                + "version \(version)"
        }
        let holders = job.isExclusive ? try await store.holders(ofKeyOf: job.id) : []
        if let holder = holders.first, holders.count >= job.places {
            guard job.places > 1 else {
                return "waits for the exclusive key that job \(holder.id) has: it is "
                    + "\(running(holder))"
            }
            let shown = holders.prefix(5).map { "\($0.id)" }.joined(separator: ", ")
            let more = holders.count > 5 ? ", …" : ""
            return "waits for one of the \(job.places) places of its key, which jobs "
                + "\(shown)\(more) have"
        }
        let limit = 10_000
        let count = try await store.readyJobs(before: job.id, upTo: limit)
        return switch count {
        case 0: "is the next to start when a worker has a free slot"
        case limit...: "is available, behind \(limit) jobs or more"
        default: "is available, behind \(count) \(count == 1 ? "job" : "jobs")"
        }
    }

    // MARK: Times

    private func time(since start: Int64?) -> String {
        duration(now - (start ?? now))
    }

    private func ago(_ time: Int64?) -> String { "\(duration(now - (time ?? now))) ago" }

    private func until(_ time: Int64?) -> String {
        guard let time, time > now else { return "now" }
        return "in \(duration(time - now))"
    }

    private func times(_ count: Int) -> String { count == 1 ? "once" : "\(count) times" }

    private func duration(_ milliseconds: Int64) -> String {
        Duration.milliseconds(max(0, milliseconds)).text
    }
}
#endif
