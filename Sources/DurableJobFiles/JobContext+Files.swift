#if DurableJobs
public import DurableJobs

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The methods throw `PermanentFailure`, after which no other attempt follows, if the queue of the
/// worker was opened without ``DurableJobs/JobStorage/withFiles(attachmentLimit:)``.
extension JobContext {
    /// Returns the name of a new file for the job to write, which gets the given name when the
    /// job's success has been committed, and is deleted otherwise.
    ///
    /// The file is in the folder `.stage` of the folder of the final name. The library syncs the
    /// file to the disk before the commit. No other attempt of any worker writes the same file.
    ///
    /// - Parameter name: the path of the final file. A file of that name is replaced.
    /// - Throws: an error if the folder `.stage` cannot be made.
    public func stagedFile(for name: String) throws -> String { try files.stage(name) }

    /// The most bytes that a job may attach: 8 MiB.
    public static let largestAttachment = 8 << 20

    /// Attaches bytes to the job, in place of earlier ones. They are stored if this run succeeds,
    /// in the same transaction as its result.
    ///
    /// Attachments are for results whose final place this machine cannot write to: a program that
    /// can write there fetches the bytes with ``DurableJobs/JobQueue/attachment(of:)``, and
    /// removes them from the store afterwards with
    /// ``DurableJobs/JobQueue/removeAttachment(of:)``. Until then, a job with the same unique key
    /// joins this one. Bytes that no program has removed are deleted when the job is moved to the
    /// archive, or deleted.
    ///
    /// - Throws: `PermanentFailure`, after which no other attempt follows, if the bytes are too
    ///   many; or as ``requireRoomForAttachment()``.
    public func attach(_ bytes: Data) throws {
        guard bytes.count <= Self.largestAttachment else {
            throw PermanentFailure(
                "job \(id) cannot attach \(bytes.count) bytes; at most \(Self.largestAttachment) are "
                    + "stored: write a staged file in a folder that the workers share")
        }
        try files.attach(bytes)
    }

    /// Checks whether the queue may get further attachments. A job calls this method before it
    /// begins costly work whose result it will attach.
    ///
    /// - Throws: `Snooze` if the attachments in the queue have reached the limit of
    ///   ``DurableJobs/JobStorage/withFiles(attachmentLimit:)``.
    public func requireRoomForAttachment() throws { try files.requireRoom() }

    private var files: AttemptFiles {
        get throws {
            guard let files = part as? AttemptFiles else {
                throw PermanentFailure(
                    "job \(id) needs files, and its worker's queue '\(queue.name)' was opened "
                        + "without: write `.withFiles()` after the place of the store")
            }
            return files
        }
    }
}
#endif
