#if DurableJobs
public import FoundationEssentials
import Operations

extension JobContext {
    /// The most bytes that a job may attach: 8 MiB.
    public static let largestAttachment = 8 << 20

    /// Attaches bytes to the job, in place of earlier ones. They are stored if this run succeeds,
    /// in the same transaction as its result.
    ///
    /// Attachments are for results whose final place this machine cannot write to: a program that
    /// can write there fetches the bytes with ``JobQueue/attachment(of:)``, and removes them from
    /// the store afterwards with ``JobQueue/removeAttachment(of:)``. Until then, a job with the
    /// same unique key joins this one. Bytes that no program has removed are deleted when the job
    /// is moved to the archive, or deleted.
    ///
    /// - Throws: ``JobError/attachmentTooLarge(_:byteCount:)``, after which no other attempt
    ///   follows; or as ``requireRoomForAttachment()``.
    public func attach(_ bytes: Data) async throws {
        guard bytes.count <= Self.largestAttachment else {
            throw JobError.attachmentTooLarge(id, byteCount: bytes.count)
        }
        try await requireRoomForAttachment()
        attachments.add(bytes.count)
        record.attach(bytes)
    }

    /// Checks whether the queue may get further attachments. A job calls this method before it
    /// begins costly work whose result it will attach.
    ///
    /// - Throws: ``PostponedAttempt`` if the attachments in the queue have reached
    ///   ``JobWorker/Options/attachmentLimit``; an error of the store.
    public func requireRoomForAttachment() async throws {
        try await attachments.requireRoom(in: queue)
    }
}

/// The limit on the attachments of a queue, and what one worker knows about their number.
final class AttachmentLimit: Sendable {
    private struct Reading {
        var byteCount: Int64
        let time: Duration
    }

    private let limit: Int
    private let reading = Locked<Reading?>(nil)

    init(_ limit: Int) { self.limit = limit }

    /// Notes that an attachment of this worker is about to be stored.
    func add(_ byteCount: Int) { reading.withLock { $0?.byteCount += Int64(byteCount) } }

    func requireRoom(in queue: JobQueue) async throws {
        let now = Machine.timeSinceBoot
        var byteCount = reading.withLock { reading in
            reading.flatMap { now - $0.time < .seconds(1) ? $0.byteCount : nil }
        }
        if byteCount == nil {
            let stored = try await queue.store.attachmentByteCount(in: queue.name)
            reading.withLock { $0 = Reading(byteCount: stored, time: now) }
            byteCount = stored
        }
        guard (byteCount ?? 0) >= limit else { return }
        throw PostponedAttempt(
            "The queue '\(queue.name)' has attachments of \(limit) bytes or more, which is the "
                + "limit. Start a program that fetches and removes them.",
            for: .seconds(5))
    }
}
#endif
