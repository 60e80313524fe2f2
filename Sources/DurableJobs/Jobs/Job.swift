#if DurableJobs
public import Operations

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A unit of work that is stored before it runs, and that any worker of the store can run.
///
/// ```swift
/// struct Thumbnail: Job {
///     static let name = "thumbnail"
///     var photo: String
///     var size: Int
///
///     func perform(in context: JobContext) async throws -> Picture { … }
/// }
/// ```
///
/// The properties are the job's arguments: they are stored as JSON, at most 1 MiB. A job may run
/// more than once, because a worker may die before it commits. Only one of these runs is committed.
/// So work outside of the store should be repeatable, or go to a staged file of the module
/// `DurableJobFiles`.
public protocol Job: Codable, Sendable {
    /// The type of the result; ``NoOutput`` if there is none. Stored as JSON, at most 8 MiB.
    associatedtype Output: Codable & Sendable

    /// The name under which jobs of this type are stored. The type itself may be renamed.
    static var name: String { get }

    /// The version of the arguments; 1 unless declared. A worker leaves jobs of a newer version to
    /// newer workers.
    static var version: Int { get }

    /// Decodes stored arguments; override this method to upgrade arguments of an older version.
    ///
    /// - Parameters:
    ///   - arguments: JSON.
    ///   - version: the version of the type that enqueued the job, at most `version`.
    /// - Throws: any error: the attempt then fails with it, and the job is retried after its
    ///   back-off, because a worker of another version may decode the arguments.
    static func decode(_ arguments: Data, version: Int) throws -> Self

    /// The settings of all jobs of this type, such as `[.retry(3)]`; none unless declared, so that
    /// a job is discarded at its first failure. The traits of `enqueue` come after these.
    static var defaultTraits: [JobTrait] { get }

    /// Returns settings of the operation that runs the job in a worker, such as a cost or a limit.
    /// They concern this worker only. None unless declared.
    ///
    /// - Precondition: none of the traits retries or repeats the operation: that is the store's
    ///   task.
    static func traits(for job: Self) -> [OperationTrait]

    /// Performs the work; called on a worker thread of `Operations`, as the body of an operation.
    ///
    /// - Throws: any error: the attempt has failed, and another one follows if the job has retries
    ///   left; it has none unless ``JobTrait/retry(_:backoff:)`` says so. After a
    ///   ``PermanentFailure``, or a ``JobError`` that is about the job itself, no attempt follows.
    ///   An attempt whose calls of a queue throw ``JobError/unavailableStore(store:reason:)``,
    ///   ``JobError/locked(store:reason:)`` or ``JobError/closed`` is postponed: the job is not the
    ///   cause.
    func perform(in context: JobContext) async throws -> Output
}

extension Job {
    /// 1.
    public static var version: Int { 1 }

    /// Decodes JSON, whatever its version.
    public static func decode(_ arguments: Data, version: Int) throws -> Self {
        try JSONDecoder().decode(Self.self, from: arguments)
    }

    /// No traits.
    public static var defaultTraits: [JobTrait] { [] }

    /// No traits.
    public static func traits(for job: Self) -> [OperationTrait] { [] }
}

/// The result of a job that has none.
public struct NoOutput: Codable, Sendable, Hashable {
    /// Makes the result.
    public init() {}
}

/// The error of an attempt that is to be made later: by this worker, or by another one that can
/// carry it out.
///
/// ```swift
/// guard let report = try await download() else { throw Snooze(for: .seconds(60)) }
/// ```
///
/// The job becomes `retryable` with the reason, and may be claimed again after the time, by any
/// worker. The attempt counts neither as a failure nor in ``JobInfo/attempt``, so a job may snooze
/// any number of times. Its dependents go on waiting, and its exclusive key is free meanwhile.
public struct Snooze: Error, Sendable, CustomStringConvertible {
    /// Why the attempt was not carried out, for people.
    public let description: String
    /// The time until the job may be claimed again.
    public let delay: Duration

    /// Makes an error to throw from ``Job/perform(in:)``.
    ///
    /// - Parameters:
    ///   - delay: the time until the job may be claimed again, from zero to a hundred years. With
    ///     any other time the attempt fails, and the reason of the failure says so.
    ///   - reason: a text for people, which ``JobQueue/explain(_:)`` shows.
    public init(for delay: Duration, because reason: String = "it asked to run later") {
        (self.delay, description) = (delay, reason)
    }

    /// Why the time makes no sense; nil if it does.
    var refusal: String? {
        guard delay != delay.limitedForStore else { return nil }
        return "Snooze(for: \(delay)): write a time from zero to a hundred years"
    }
}

/// The earlier name of ``Snooze``.
@available(*, unavailable, renamed: "Snooze", message: "write Snooze(for: delay, because: reason)")
public typealias PostponedAttempt = Snooze

/// The error of an attempt after which no other one makes sense: the job is discarded at once.
public struct PermanentFailure: Error, Sendable, CustomStringConvertible {
    /// A message for people.
    public let description: String

    /// Makes an error from a message.
    public init(_ description: String) { self.description = description }
}
#endif
