#if DurableJobs
public import DurableJobs

extension JobStorage {
    /// The same place, for jobs that write staged files and attach bytes.
    ///
    /// ```swift
    /// let jobs = try await JobQueue("photos", in: .file("jobs.sqlite").withFiles())
    /// ```
    ///
    /// The first program that opens a queue in this way makes the table of attachments. From then
    /// on, the store is opened by all programs in this way: without it, opening throws
    /// `JobError.unusableStore`, which says so.
    ///
    /// - Parameter attachmentLimit: the bytes of attachments in a queue, 2 GiB unless set, from
    ///   which on this program's jobs with an attachment are postponed until programs have removed
    ///   some; see ``DurableJobs/JobContext/attach(_:)``. A worker asks the store once a second,
    ///   and knows nothing of other programs meanwhile. So the limit may be exceeded by what runs
    ///   at that moment.
    public func withFiles(attachmentLimit: Int = 2 << 30) -> JobStorage {
        with(JobFiles(attachmentLimit: attachmentLimit))
    }
}
#endif
