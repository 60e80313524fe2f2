#if DurableJobs
import OperationsRuntime
import Operations

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
    public func attach(_ bytes: Data) throws {
        guard bytes.count <= Self.largestAttachment else {
            throw JobError.attachmentTooLarge(id, byteCount: bytes.count)
        }
        try requireRoomForAttachment()
        attachments.add(bytes.count)
        record.attach(bytes)
    }

    /// Checks whether the queue may get further attachments. A job calls this method before it
    /// begins costly work whose result it will attach.
    ///
    /// - Throws: ``PostponedAttempt`` if the attachments in the queue have reached
    ///   ``JobWorker/Options/attachmentLimit``.
    public func requireRoomForAttachment() throws {
        guard attachments.isReached else { return }
        throw PostponedAttempt(
            "The queue '\(queue.name)' has attachments of \(attachments.limit) bytes or more, "
                + "which is the limit. Start a program that fetches and removes them.",
            for: .seconds(5))
    }
}

/// The limit on the attachments of a queue, and what one worker knows about them.
///
/// Jobs never wait for the store here. The worker asks the store, and an answer that does not come
/// changes nothing.
final class AttachmentLimit: Sendable {
    let limit: Int
    private let byteCount = Locked(0)

    init(_ limit: Int) { self.limit = limit }

    var isReached: Bool { byteCount.withLock { $0 } >= limit }

    /// Notes that an attachment of this worker is about to be stored.
    func add(_ count: Int) { byteCount.withLock { $0 += count } }

    /// Reads how many bytes are in the queue.
    func update(from queue: JobQueue) async throws {
        let stored = try await queue.store.attachmentByteCount(in: queue.name)
        byteCount.withLock { $0 = Int(stored) }
    }
}
#endif
