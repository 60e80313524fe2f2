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
    private let types: [String: JobType]
    private let worker = JobWorker.newIdentifier()
    private let values: JobValues
    private let attachments = AttachmentLimit(JobWorker.Options().attachmentLimit)

    package init(
        _ queue: JobQueue, performing types: [any Job.Type], providing values: JobValues
    ) async throws {
        (self.queue, self.values) = (queue, values)
        var table: [String: JobType] = [:]
        for type in types {
            let type = JobType(type)
            table[type.name] = type
        }
        self.types = table
        try await queue.store.register(
            worker, queue: queue.name, host: Machine.host, process: Machine.process,
            lease: .seconds(100 * 365 * 86_400), performing: performed)
    }

    private var performed: [PerformedJob] {
        types.values.map { PerformedJob(name: $0.name, version: $0.version) }
    }

    /// Runs the first job that is due.
    ///
    /// - Returns: the job; nil if none is due.
    package func runOne() async throws -> JobID? {
        let store = queue.store
        try await store.checkDependents(in: queue.name)
        _ = try await store.releaseParked(in: queue.name)
        try await store.resolveRest()
        _ = try await store.releaseWide(in: queue.name)
        _ = try await store.discardOverdue(in: queue.name)
        var exchange = Exchange(worker: worker, queue: queue.name)
        exchange.wanted = 1
        exchange.performed = performed
        guard let job = try await store.exchange(exchange).claimed.first else { return nil }
        let record = AttemptRecord(job, generation: 0)
        let verdict = await run(job, record)
        exchange.wanted = 0
        exchange.ended = [EndedAttempt(job.token, verdict)]
        let answer = try await store.exchange(exchange)
        if answer.verdicts == [.accepted(.completed)], let outputs = record.files.text {
            try await store.publish([(job.token.job, outputs)])
        } else {
            record.files.delete()
        }
        try await store.resolveRest()
        return job.token.job
    }

    private func run(_ job: ClaimedJob, _ record: AttemptRecord) async -> AttemptVerdict {
        guard let type = types[job.name] else { return .notBegun }
        let context = JobContext(
            id: job.token.job, attempt: job.attempt, queue: queue, record: record,
            values: values, attachments: attachments)
        let prepared: JobType.Prepared
        do {
            prepared = try type.prepare(job, context)
        } catch {
            return .undecodable(error, of: job)
        }
        do {
            let result = try await prepared.perform()
            try record.files.sync()
            return .completed(
                result: result, outputs: record.files.text, attachment: record.attachment)
        } catch {
            return .failure(error, of: job)
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
