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
    /// The type of the job's result.
    let output: Any.Type
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

    /// Completes the job in a transaction of the program on the queue's database: the job has ended
    /// if and only if the transaction is committed.
    ///
    /// ```swift
    /// func perform(in context: JobContext) async throws -> NoOutput {
    ///     try await database.write { db in
    ///         try Payment(order: order).insert(db)
    ///         try context.complete(in: .sqlite(db.sqliteConnection))
    ///     }
    ///     return NoOutput()
    /// }
    /// ```
    ///
    /// So what a job writes to the database of its queue happens exactly once, however often the
    /// job runs: a worker that was taken for dead is *fenced*, its call throws, and its transaction
    /// is rolled back. Call this method last in the transaction, and return soon after the commit.
    /// What the job returns then has no effect. If the transaction was not committed, the attempt
    /// has failed, also if it returns a result.
    ///
    /// Jobs that depend on this one, its batch, and its exclusive key follow after the commit.
    /// Attachments and staged files of the attempt (`DurableJobFiles`) are dropped, because they
    /// would be kept after the commit.
    ///
    /// - Parameters:
    ///   - output: the result of the job.
    ///   - transaction: the connection that has begun it.
    /// - Throws: ``JobError/fenced(_:)`` if another attempt has the job, or it has ended;
    ///   ``JobCancellation`` if it was cancelled; ``JobError`` if the transaction is not one on the
    ///   queue's database, or the result cannot be stored. Let the error leave the transaction, so
    ///   that it is rolled back.
    public func complete<Output: Codable & Sendable>(
        _ output: Output, in transaction: JobTransaction
    ) throws {
        guard Output.self == self.output else {
            throw JobError.unreadableResult(
                id, reason: "it is of the type \(self.output), and \(Output.self) was given")
        }
        let result = try JobCoding.result(output, of: record.job.name)
        try transaction.perform(queue.store.database, queue.name) { session in
            try Completing.complete(record.job.token, with: result, session)
        }
        record.completedByProgram()
    }

    /// Completes a job without a result in a transaction of the program on the queue's database;
    /// see ``complete(_:in:)``.
    public func complete(in transaction: JobTransaction) throws {
        try complete(NoOutput(), in: transaction)
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
