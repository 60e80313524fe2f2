#if DurableJobs
public import Operations

/// A job that another job can depend on: a ``JobHandle``, or a handle with a condition.
public protocol JobReference: Sendable {
    /// The job.
    var id: JobID { get }
    /// How that job must end for the dependent to run.
    var condition: DependencyCondition { get }
}

/// A job that was enqueued, with the type of its result.
///
/// A handle is valid in every process that opens the same store. It is `Codable`, so a job can keep
/// the handles of the jobs that it depends on among its arguments, and read their results with
/// ``JobContext/value(of:)``.
public struct JobHandle<Output: Codable & Sendable>: JobReference, Codable, Hashable {
    /// The number of the job in its store.
    public let id: JobID
    /// The queue that made the handle; nil for a decoded handle.
    let queue: JobQueue?

    init(_ id: JobID, in queue: JobQueue?) { (self.id, self.queue) = (id, queue) }

    /// `success`: a dependent runs only if this job has succeeded.
    public var condition: DependencyCondition { .success }

    /// Returns the job as a dependency with another condition.
    public func on(_ condition: DependencyCondition) -> JobDependency {
        JobDependency(id: id, condition: condition)
    }

    /// The result, once the job has ended; suspends the calling task until then.
    ///
    /// Cancelling the task ends the wait with `CancellationError`, and not the job.
    ///
    /// - Throws: ``JobFailure`` if the job was discarded; ``JobCancellation`` if it was cancelled;
    ///   ``JobError`` if the store cannot be asked, does not know the job any more, or if the
    ///   result is of another type.
    public var value: Output {
        get async throws {
            guard let queue else { throw JobError.noQueue(id) }
            return try await queue.value(of: self)
        }
    }

    /// Decodes the number of the job.
    public init(from decoder: any Decoder) throws {
        id = try JobID(from: decoder)
        queue = nil
    }

    /// Encodes the number of the job.
    public func encode(to encoder: any Encoder) throws { try id.encode(to: encoder) }

    /// Whether two handles are of the same job.
    public static func == (a: JobHandle, b: JobHandle) -> Bool { a.id == b.id }

    /// Hashes the number of the job.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// A dependency with a condition; see ``JobHandle/on(_:)``.
public struct JobDependency: JobReference, Hashable {
    /// The job to wait for.
    public let id: JobID
    /// How that job must end for the dependent to run.
    public let condition: DependencyCondition

    /// Makes a dependency on a job of the same store.
    public init(id: JobID, condition: DependencyCondition) {
        (self.id, self.condition) = (id, condition)
    }
}
#endif
