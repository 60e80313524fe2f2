#if DurableJobs
extension JobSchema {
    /// The statements that make the table of schedules, and what lists of workers show.
    ///
    /// `zone` is null for a period, and `next_at` for a paused schedule. `computed_at` is the time
    /// at which `next_at` was written.
    static let schedules = [
        """
        CREATE TABLE durable_job_schedule (
            queue TEXT NOT NULL, name TEXT NOT NULL, revision BIGINT NOT NULL,
            spec TEXT NOT NULL, zone TEXT,
            job TEXT NOT NULL, version BIGINT NOT NULL, arguments {bytes} NOT NULL,
            options TEXT NOT NULL, missed TEXT NOT NULL, overlap TEXT NOT NULL,
            next_at BIGINT, last_at BIGINT, last_job BIGINT,
            computed_at BIGINT NOT NULL, paused_at BIGINT,
            PRIMARY KEY (queue, name)
        )
        """,
        """
        CREATE INDEX durable_job_schedule_next ON durable_job_schedule (queue, next_at)
            WHERE next_at IS NOT NULL
        """,
        "ALTER TABLE durable_job_worker ADD COLUMN width BIGINT NOT NULL DEFAULT 0",
    ]
}
#endif
