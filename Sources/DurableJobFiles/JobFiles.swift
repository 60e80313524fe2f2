#if DurableJobs
import DurableJobs
import Operations
import OperationsRuntime

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The extension of a store for staged files and attachments.
final class JobFiles: JobExtension {
    /// What is known about a queue.
    private struct QueueState {
        /// The bytes of attachments when the store was last asked, and those that jobs of this
        /// program have added since.
        var byteCount = 0
        /// How far the sweep has looked for ends whose files have not got their names.
        var last: UnpublishedJob?
    }

    /// The pages of one sweep, so that many jobs in unseen folders do not keep a worker busy.
    private static let pages = 10

    let attachmentLimit: Int
    private let queues = Locked<[String: QueueState]>([:])

    init(attachmentLimit: Int) { self.attachmentLimit = attachmentLimit }

    let schema = ExtensionSchema(
        name: "files", version: 1,
        statements: [
            // SQLite reads the columns before the bytes without the bytes.
            """
            CREATE TABLE IF NOT EXISTS durable_job_attachment (
                job BIGINT PRIMARY KEY, queue TEXT NOT NULL, unique_key TEXT,
                byte_count BIGINT NOT NULL, bytes {bytes} NOT NULL
            )
            """,
            """
            CREATE INDEX IF NOT EXISTS durable_job_attachment_key
                ON durable_job_attachment (queue, unique_key, byte_count)
            """,
            // A program without files may have moved jobs that one of an earlier version has
            // performed.
            """
            DELETE FROM durable_job_attachment WHERE NOT EXISTS (
                SELECT 1 FROM durable_job WHERE id = job)
            """,
        ])

    func attempt(_ job: ClaimedJob, in queue: String) -> any AttemptExtension {
        AttemptFiles(job, in: queue, of: self)
    }

    func willCommit(
        _ additions: [(job: JobID, bytes: Data)], in queue: String, _ session: any SQLSession
    ) throws {
        try AttachmentTable.add(additions, to: queue, session)
    }

    func didCommit(_ ends: [(job: JobID, outputs: String)]) -> [JobID] {
        Publishing.publish(ends)
    }

    func willRemove(_ jobs: [[SQLValue]], _ session: any SQLSession) throws {
        try AttachmentTable.remove(jobs, session)
    }

    func keptJobs(
        with keys: [String], in queue: String, _ session: any SQLSession
    ) throws -> [String: JobID] {
        try AttachmentTable.jobs(with: keys, in: queue, session)
    }

    // MARK: The limit on attachments

    // Jobs never wait for the store here. The worker asks the store, and an answer that does not
    // come changes nothing.

    func refresh(_ queue: JobQueue) async throws {
        let stored = try await queue.store.attachmentByteCount(in: queue.name)
        queues.withLock { $0[queue.name, default: QueueState()].byteCount = Int(stored) }
    }

    func isLimitReached(in queue: String) -> Bool {
        queues.withLock { $0[queue]?.byteCount ?? 0 } >= attachmentLimit
    }

    /// Notes that an attachment is about to be stored.
    func add(_ byteCount: Int, to queue: String) {
        queues.withLock { $0[queue, default: QueueState()].byteCount += byteCount }
    }

    // MARK: The sweep

    /// Publishes for workers that died between their commit and the rename. Jobs whose folder this
    /// worker does not see remain in the store. They must not hide the jobs after them, so the next
    /// call continues after the last job of this one, and begins again at the end.
    func sweep(_ queue: JobQueue, committedBefore age: Duration) async throws -> Bool {
        guard !Faults.noSweep else { return false }
        var isProgress = false
        for _ in 0..<Self.pages {
            let last = queues.withLock { $0[queue.name]?.last }
            let jobs = try await queue.store.unpublished(for: age, in: queue.name, after: last)
            let next = jobs.count == JobStore.unpublishedPage ? jobs.last : nil
            queues.withLock { $0[queue.name, default: QueueState()].last = next }
            if try await queue.store.publish(jobs.map { ($0.id, $0.outputs) }) {
                isProgress = true
            }
            if next == nil { break }
        }
        return isProgress
    }

    func sweep(_ jobs: [JobID], of store: JobStore, committedBefore age: Duration) async throws {
        let left = try await store.unpublished(for: age, among: jobs)
        try await store.publish(left.map { ($0.id, $0.outputs) })
    }
}

/// The staged files and the attachment of one attempt.
final class AttemptFiles: AttemptExtension {
    private let job: ClaimedJob
    private let queue: String
    private let files: JobFiles
    private let staged = StagedFiles()
    private let attachment = Locked<Data?>(nil)

    init(_ job: ClaimedJob, in queue: String, of files: JobFiles) {
        (self.job, self.queue, self.files) = (job, queue, files)
    }

    func stage(_ final: String) throws -> String {
        try staged.stage(final, job: job.token.job, attempt: job.attempt)
    }

    func attach(_ bytes: Data) throws {
        try requireRoom()
        files.add(bytes.count, to: queue)
        attachment.withLock { $0 = bytes }
    }

    func requireRoom() throws {
        guard files.isLimitReached(in: queue) else { return }
        throw Snooze(
            for: .seconds(5),
            because:
                "The queue '\(queue)' has attachments of \(files.attachmentLimit) bytes or more, "
                + "which is the limit. Start a program that fetches and removes them.")
    }

    func bodyReturned() throws { try staged.sync() }

    var addition: EndAddition? {
        let (outputs, bytes) = (staged.text, attachment.withLock { $0 })
        return outputs == nil && bytes == nil ? nil : EndAddition(outputs: outputs, bytes: bytes)
    }

    func didNotCommit() { staged.delete() }
}
#endif
