#if DurableJobs && Configuration
public import Configuration
public import DurableJobs

extension JobStorage {
    /// As ``DurableJobs/JobStorage/withFiles(attachmentLimit:)``, with the limit from
    /// swift-configuration.
    ///
    /// ```swift
    /// let config = ConfigReader(provider: EnvironmentVariablesProvider())
    /// // JOBS_ATTACHMENT_LIMIT_BYTES=1000000000
    /// let storage = try JobStorage.file("jobs.sqlite")
    ///     .withFiles(config: config.scoped(to: "jobs"))
    /// ```
    ///
    /// The key is `attachmentLimitBytes`, 0 or more. Without a value, the limit is 2 GiB.
    ///
    /// - Throws: `JobConfigurationError` for a value that is no number, or not in its range.
    public func withFiles(config: ConfigReader) throws -> JobStorage {
        let limit = try ConfiguredValues(config: config).int("attachmentLimitBytes")
        return limit.map { withFiles(attachmentLimit: $0) } ?? withFiles()
    }
}
#endif
