#if DurableJobs
/// Why the library refused something, or could not do it.
public enum JobError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The arguments have this many bytes of JSON, and most of them are in the named field.
    case argumentsTooLarge(job: String, byteCount: Int, field: String?)
    /// The result has this many bytes of JSON.
    case resultTooLarge(job: String, byteCount: Int)
    /// The named trait has a value that makes no sense.
    case invalidTrait(String)
    /// A schedule makes no sense, for the reason given: its cron text, time zone, period or name of
    /// a time, or what it is combined with.
    case invalidSchedule(String)
    /// The queue has a schedule with this name and revision that differs in what is given.
    case scheduleConflict(String, revision: Int, difference: String)
    /// The queue has no schedule with this name.
    case unknownSchedule(String, queue: String)
    /// A name of a job or of a queue that cannot be stored.
    case invalidName(String)
    /// The store does not know these jobs.
    case unknownJobs([JobID])
    /// The jobs of a graph wait for each other.
    case dependencyCycle([String])
    /// A handle that was decoded has no queue to ask.
    case noQueue(JobID)
    /// Two of a worker's types have the same name.
    case duplicateName(String)
    /// The result of the job is not of the type that was asked for.
    case unreadableResult(JobID, reason: String)
    /// A newer version of the library made the store's tables.
    case newerSchema(store: String, found: Int, supported: Int)
    /// The store cannot be used until somebody changes it, its rights or its address, for the
    /// reason given.
    case unusableStore(store: String, reason: String)
    /// The store cannot be reached, or cannot do what was asked at this moment, for the reason
    /// given. The same call may succeed later.
    case unavailableStore(store: String, reason: String)
    /// The store has no batch with this number.
    case unknownBatch(Int64, store: String)
    /// The connection of a ``JobTransaction`` cannot store jobs of the queue, for the reason given:
    /// it is to another database, or in no transaction. Nothing was changed.
    case wrongTransaction(store: String, reason: String)
    /// The attempt cannot complete its job: the worker has lost its lease and the job belongs to
    /// another attempt, or the job has ended already. Nothing was changed.
    case fenced(JobID)
    /// Another transaction has kept a row or a key locked for too long, such as one of the program
    /// that stays open. Nothing was changed.
    case locked(store: String, reason: String)
    /// The store refuses what was to be written. Nothing was changed.
    case refused(store: String, reason: String)
    /// The text, of the named kind, has a character that the encoding of the database cannot hold.
    /// Nothing was changed.
    case unstorableText(field: String, character: String, encoding: String)
    /// The program that enqueued the jobs of the batch has died before it had enqueued all. Those
    /// that it has enqueued have ended.
    case abandonedBatch(Int64)
    /// The queue or the type of jobs is paused, but these workers may still begin jobs, because
    /// they have not answered in time.
    case workersStillBegin([String])
    /// A job needs a value of this type, and its worker provides none.
    case valueNotProvided(String)
    /// The store has been closed.
    case closed

    /// A message that says what happened and how to correct it.
    public var description: String {
        switch self {
        case .argumentsTooLarge(let job, let count, let field):
            "the arguments of '\(job)' take \(count) bytes"
                + (field.map { ", most of them in '\($0)'" } ?? "")
                + "; at most \(JobLimits.argumentBytes) are stored: store a reference to large data"
        case .resultTooLarge(let job, let count):
            "the result of '\(job)' takes \(count) bytes; at most \(JobLimits.resultBytes) are "
                + "stored: write a file, as DurableJobFiles helps to, and return its name"
        case .invalidTrait(let text): "a job cannot have the trait \(text)"
        case .invalidSchedule(let text): text
        case .scheduleConflict(let name, let revision, let difference):
            "the schedule '\(name)' has the revision \(revision) with \(difference): give a changed "
                + "schedule a higher revision, and another schedule another name"
        case .unknownSchedule(let name, let queue):
            "the queue '\(queue)' has no schedule '\(name)'"
        case .invalidName(let name):
            "'\(name)' is no name: use 1 to 200 bytes of text without NUL characters"
        case .unknownJobs(let ids):
            "the store has no job \(ids.map(\.description).joined(separator: ", ")): it was never "
                + "enqueued there, or was deleted"
        case .dependencyCycle(let names):
            "jobs wait for each other: \(names.map { "'\($0)'" }.joined(separator: " → "))"
        case .noQueue(let id):
            "the handle of job \(id) was decoded and knows no queue: write context.value(of:) in a "
                + "job, or queue.handle(of:id:)"
        case .duplicateName(let name):
            "two types of jobs have the name '\(name)': give each its own"
        case .unreadableResult(let id, let reason):
            "the result of job \(id) is not of the expected type: \(reason)"
        case .newerSchema(let store, let found, let supported):
            "\(store) has the schema \(found) of a newer version of the library, and this version "
                + "supports \(supported): update this program"
        case .unusableStore(let store, let reason): "\(store) cannot be used: \(reason)"
        case .unavailableStore(let store, let reason): "\(store) cannot be used now: \(reason)"
        case .unknownBatch(let id, let store): "\(store) has no batch \(id)"
        case .wrongTransaction(let store, let reason):
            "the transaction cannot store jobs in \(store): \(reason)"
        case .fenced(let id):
            "this attempt cannot complete job \(id): another attempt has it, or it has ended; roll "
                + "the transaction back"
        case .locked(let store, let reason):
            "\(store): another transaction keeps what this one needs: \(reason); end transactions "
                + "soon"
        case .refused(let store, let reason): "\(store) refuses a value: \(reason)"
        case .unstorableText(let field, let character, let encoding):
            "the database has the encoding \(encoding), which cannot hold '\(character)' in "
                + "\(field): use another text, or a database with the encoding UTF8"
        case .abandonedBatch(let id):
            "the program that enqueued batch \(id) gives no sign, and has not enqueued all of its "
                + "jobs: add the rest with enqueue(each:into:), or call close() on the batch"
        case .workersStillBegin(let workers):
            "the pause is stored, but \(workers.joined(separator: ", ")) may still begin jobs: a "
                + "worker of an earlier version of the library knows no pauses, so stop it; call "
                + "pause again to wait for others"
        case .valueNotProvided(let type):
            "the worker provides no value of the type \(type): add one to its options"
        case .closed: "the store has been closed"
        }
    }
}

extension JobError {
    /// What the error does to the attempt of a job that throws it.
    enum Effect {
        /// No other attempt follows, because each would end in the same way.
        case permanent
        /// The attempt counts as a failure, and another one follows if retries are left.
        case failure
        /// Another attempt follows, and this one does not count: the job is not the cause.
        case postponement
    }

    var effect: Effect {
        switch self {
        case .argumentsTooLarge, .resultTooLarge, .invalidTrait, .invalidSchedule,
            .scheduleConflict, .unknownSchedule, .invalidName, .unknownJobs, .unknownBatch,
            .dependencyCycle, .noQueue, .duplicateName,
            .wrongTransaction, .refused, .unstorableText, .valueNotProvided:
            .permanent
        case .unusableStore, .newerSchema, .unreadableResult, .abandonedBatch, .fenced,
            .workersStillBegin:
            .failure
        case .unavailableStore, .locked, .closed: .postponement
        }
    }
}

/// A job that was discarded, in place of its result.
public struct JobFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The job.
    public let id: JobID
    /// Why the last attempt failed, as text, because the error may be of another process.
    public let reason: String

    /// A message for people.
    public var description: String { "job \(id) failed: \(reason)" }
}

/// A job that was cancelled, in place of its result.
public struct JobCancellation: Error, Sendable, Hashable, CustomStringConvertible {
    /// The job.
    public let id: JobID
    /// Why it was cancelled.
    public let reason: String

    /// A message for people.
    public var description: String { "job \(id) was cancelled: \(reason)" }
}

/// The limits of what is stored.
enum JobLimits {
    static let argumentBytes = 1 << 20
    static let resultBytes = 8 << 20
    static let nameBytes = 200
    static let errorBytes = 10_000
    /// A job with more dependencies is released by the background step.
    static let narrowDependencies = 64
}
#endif
