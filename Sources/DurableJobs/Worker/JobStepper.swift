#if DurableJobs
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Runs the jobs of a queue one at a time, in the calling task; for tests of users.
package final class JobStepper: Sendable {
    private let queue: JobQueue
    private let worker = JobWorker.newIdentifier()
    private let performer: JobPerformer

    package init(
        _ queue: JobQueue, performing types: [any Job.Type], providing values: JobValues
    ) async throws {
        self.queue = queue
        performer = JobPerformer(queue, types, values)
        try await queue.store.register(
            worker, queue: queue.name, host: Machine.host, process: Machine.process,
            lease: .seconds(100 * 365 * 86_400), performing: performer.performed,
            // It learns the pauses before each claim, and begins one job at a time.
            obeying: .max)
    }

    /// Runs the first job that is due.
    ///
    /// - Returns: the job; nil if none is due.
    package func runOne() async throws -> JobID? {
        let store = queue.store
        _ = try await JobUpkeep(queue: queue).performDueSteps()
        _ = try await store.releaseParked(in: queue.name)
        try await store.extension?.refresh(queue)
        var exchange = Exchange(worker: worker, queue: queue.name)
        exchange.wanted = 1
        let pauses = try await store.pauses(in: queue.name)
        exchange.pauses = pauses.revision
        exchange.performed = pauses.unpaused(performer.performed)
        guard let job = try await store.exchange(exchange).claimed.first else { return nil }
        let record = AttemptRecord(
            job, generation: 0, part: store.extension?.attempt(job, in: queue.name))
        let verdict = await verdict(on: record)
        exchange.wanted = 0
        exchange.ended = [EndedAttempt(job.token, verdict)]
        let answer = try await store.exchange(exchange)
        if answer.verdicts != [.accepted(.completed)] {
            record.part?.didNotCommit()
        } else if let outputs = verdict.addition?.outputs {
            try await store.publish([(job.token.job, outputs)])
        }
        return job.token.job
    }

    private func verdict(on record: AttemptRecord) async -> AttemptVerdict {
        switch performer.prepare(record) {
        case .refused(let verdict): return verdict
        case .ready(let job):
            do {
                _ = record.begin(at: Machine.timeSinceBoot)
                try await record.run(job.perform)
                return record.verdict
            } catch {
                return .failure(error, of: record.job)
            }
        }
    }
}

extension JobQueue {
    /// Returns the arguments of the jobs of a type that have not ended.
    package func unfinished<J: Job>(_ type: J.Type) async throws -> [J] {
        try await store.unfinishedArguments(of: J.name, in: name).map {
            try J.decode($0.arguments, version: $0.version)
        }
    }
}
#endif
