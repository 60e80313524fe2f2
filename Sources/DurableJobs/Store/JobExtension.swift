#if DurableJobs
#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// What an extension leaves with the success of an attempt. The store keeps it only if it accepts
/// the success.
package struct EndAddition: Sendable {
    /// What is left to do after the commit, in the extension's own words; nil if nothing is.
    ///
    /// Until it is done, the end of the job is not *published*: waits for the job go on, and the
    /// job's row stays where it is.
    package var outputs: String?
    /// Bytes for ``JobExtension/willCommit(_:in:_:)``.
    package var bytes: Data?

    package init(outputs: String? = nil, bytes: Data? = nil) {
        (self.outputs, self.bytes) = (outputs, bytes)
    }
}

/// The part of an extension in one attempt.
package protocol AttemptExtension: Sendable {
    /// The body has returned without an error. Called in the task of the attempt; an error is that
    /// of the attempt.
    func bodyReturned() throws

    /// What is left with the success of the attempt; nil if it is nothing.
    var addition: EndAddition? { get }

    /// The success of the attempt was not committed, and never will be.
    func didNotCommit()
}

/// A module that takes part in the attempts of a store's jobs. A store has at most one, which is
/// given to the ``JobStorage``.
///
/// A success takes these steps. A process may die between any two of them; the store then has what
/// the steps before have left.
///
/// 1. ``AttemptExtension/bodyReturned()``.
/// 2. In one transaction, the store fences the attempt, ends the job, stores
///    ``EndAddition/outputs`` in the job's row, and calls ``willCommit(_:in:_:)``. If the answer is
///    lost, the transaction is repeated, and has no effect the second time.
/// 3. ``didCommit(_:)``, or ``AttemptExtension/didNotCommit()`` if the store has refused the
///    success.
/// 4. The store publishes the ends that `didCommit` returns.
///
/// For a process that has died after step 2, others perform ``sweep(_:committedBefore:)``.
package protocol JobExtension: Sendable {
    var schema: ExtensionSchema { get }

    /// A worker has claimed a job of a queue, and is about to perform it.
    func attempt(_ job: ClaimedJob, in queue: String) -> any AttemptExtension

    /// Stores the bytes of additions whose jobs this transaction has completed.
    func willCommit(
        _ additions: [(job: JobID, bytes: Data)], in queue: String, _ session: any SQLSession)
        throws

    /// Does what is left of committed ends. May be called again for the same ends, by any process.
    ///
    /// - Returns: the jobs of which nothing is left, because of this call or of an earlier one.
    func didCommit(_ ends: [(job: JobID, outputs: String)]) -> [JobID]

    /// Deletes the extension's rows of jobs, given by number, that this transaction moves to the
    /// archive or deletes.
    func willRemove(_ jobs: [[SQLValue]], _ session: any SQLSession) throws

    /// Returns completed jobs that new ones with the same unique keys join, by these keys.
    func keptJobs(
        with keys: [String], in queue: String, _ session: any SQLSession
    ) throws -> [String: JobID]

    /// A background step of each worker: once before it claims jobs, and then about once a second.
    func refresh(_ queue: JobQueue) async throws

    /// A background step of each worker, three times in each lease: does what is left of the ends
    /// of a queue that were committed some time ago.
    ///
    /// - Returns: whether an end was published.
    func sweep(_ queue: JobQueue, committedBefore age: Duration) async throws -> Bool

    /// Does what is left of the ends of these jobs, if they were committed some time ago.
    func sweep(_ jobs: [JobID], of store: JobStore, committedBefore age: Duration) async throws
}

/// The tables of an extension.
package struct ExtensionSchema: Sendable {
    /// The name that the store keeps.
    package let name: String
    package let version: Int
    /// The statements that make the tables. Each may be executed again.
    package let statements: [String]

    package init(name: String, version: Int, statements: [String]) {
        (self.name, self.version, self.statements) = (name, version, statements)
    }

    /// The statements that make the tables, and write their version.
    package var migration: [String] {
        statements + [
            """
            INSERT INTO durable_job_extension (name, version) VALUES ('\(name)', \(version))
            ON CONFLICT (name) DO UPDATE SET version = excluded.version
            """
        ]
    }
}

extension JobStore {
    /// Lets the extension do what is left of committed ends, and publishes those of which nothing
    /// is left.
    ///
    /// - Returns: whether there is such an end.
    @discardableResult
    package func publish(_ ends: [(job: JobID, outputs: String)]) async throws -> Bool {
        guard let published = `extension`?.didCommit(ends), !published.isEmpty else {
            return false
        }
        try await database.transaction(.relaxed) { try markPublished(published, $0) }
        return true
    }

    /// Publishes the ends of jobs: waits for the jobs end.
    func markPublished(_ ids: some Sequence<JobID>, _ session: any SQLSession) throws {
        _ = try session.batch(
            "UPDATE durable_job SET unpublished = 0 WHERE id = ?",
            ids.sorted().map { [.integer($0.rawValue)] })
    }

    /// Whether the store has had no extension but that of this program.
    func knowsExtensions(_ session: any SQLSession) throws -> Bool {
        try session.query(
            "SELECT 1 FROM durable_job_extension WHERE name <> ? LIMIT 1",
            [.text(`extension`?.schema.name ?? "")]
        ).isEmpty
    }
}
#endif
