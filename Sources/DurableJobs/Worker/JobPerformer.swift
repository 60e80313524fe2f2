#if DurableJobs
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What turns claimed jobs into results: the types of jobs, and what these get. A worker and a
/// ``JobStepper`` have one each.
struct JobPerformer: Sendable {
    /// A claimed job that may run, or why it does not.
    enum Preparation {
        case ready(JobType.Prepared)
        case refused(AttemptVerdict)
    }

    private let queue: JobQueue
    private let values: JobValues
    private let types: [String: JobType]

    /// - Precondition: the types have different names.
    init(_ queue: JobQueue, _ types: [any Job.Type], _ values: JobValues) {
        (self.queue, self.values) = (queue, values)
        var table: [String: JobType] = [:]
        for type in types {
            let type = JobType(type)
            precondition(
                table[type.name] == nil, JobError.duplicateName(type.name).description)
            table[type.name] = type
        }
        self.types = table
    }

    /// The types, in the order of their names.
    var performed: [PerformedJob] {
        types.values.map { PerformedJob(name: $0.name, version: $0.version) }
            .sorted { $0.name < $1.name }
    }

    func prepare(_ record: AttemptRecord) -> Preparation {
        let job = record.job
        guard let type = types[job.name] else { return .refused(.notBegun) }
        if let deadline = job.deadline, deadline <= job.claimedAt {
            return .refused(.discarded(error: "it had not ended by its deadline"))
        }
        let context = JobContext(
            id: job.token.job, attempt: job.attempt, queue: queue, record: record, values: values,
            output: type.output)
        do {
            return .ready(try type.prepare(job, context))
        } catch {
            return .refused(.undecodable(error, of: job))
        }
    }
}

extension AttemptRecord {
    /// The verdict on an attempt that has ended without an error: nothing is to be reported but a
    /// result. Without one, the body has not ended, or never began.
    var verdict: AttemptVerdict {
        guard let result else { return returned }
        if isCompletedByProgram {
            let reason =
                "its body has returned, but the transaction in which it completed was not committed"
            return .completedByProgram(
                otherwise: .failure(reason: reason, isPermanent: false, of: job))
        }
        return .completed(result: result, addition: part?.addition)
    }

    /// The verdict on an attempt that leaves its job to other workers.
    var returned: AttemptVerdict { hasBegun ? .handedBack : .notBegun }
}
#endif
