#if DurableJobs
public import Operations

/// What a job knows about its run.
public struct JobContext: Sendable {
    /// The number of the job.
    public let id: JobID
    /// The number of this attempt, counted from 1. An attempt counts if it began, also one that was
    /// handed back, or if its worker died after the claim.
    public let attempt: Int
    /// The queue of the job, to enqueue further jobs.
    public let queue: JobQueue
    let record: AttemptRecord
    let values: JobValues
    /// The part of the store's extension in this attempt.
    package var part: (any AttemptExtension)? { record.part }

    /// Whether the worker has lost its lease, by the clock at the time of the question. The result
    /// of this run will be dropped; the operation is cancelled, with the reason
    /// `CancellationReason.leaseLost`.
    ///
    /// Another run of the job may have begun. A job that must not overlap with it asks before each
    /// step that counts; the lease may still end between the question and the step.
    public var isLeaseLost: Bool { record.isLeaseLost }

    /// Returns the result of a job on which this job depends, or of any other job.
    ///
    /// - Throws: as ``JobHandle/value``.
    public func value<Output>(of handle: JobHandle<Output>) async throws -> Output {
        try await queue.value(of: handle)
    }

    /// Returns a value that the worker provides; see ``JobWorker/Options/values``.
    ///
    /// - Throws: ``JobError/valueNotProvided(_:)``, after which no other attempt follows.
    public func provided<Value: Sendable>(_ type: Value.Type) throws -> Value {
        guard let value = values.value(type) else {
            throw JobError.valueNotProvided("\(type)")
        }
        return value
    }
}

extension CancellationReason {
    /// The worker could not renew its lease in time, so that another worker may run the job.
    public static var leaseLost: CancellationReason { .message("the worker lost its lease") }

    /// The worker stops, and hands the job back.
    static var workerStops: CancellationReason { .message("the worker stops") }

    /// The worker hands the job back, so that another one may begin it.
    static var notBegun: CancellationReason {
        .message("the job had not begun a second after the worker had claimed it")
    }
}
#endif
