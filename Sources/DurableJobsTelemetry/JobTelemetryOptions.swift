#if DurableJobs && Telemetry
/// The settings of a job queue's telemetry, except its destinations.
public struct JobTelemetryOptions: Sendable, Hashable {
    /// How often the store is asked for the number of unfinished jobs and for the age of the oldest
    /// one that is ready: at least a millisecond, and 15 s by default. Nil turns these gauges off.
    ///
    /// All processes that ask get the same answer, so one of them is enough. While an answer takes
    /// long, because millions of jobs are unfinished, the store is asked less often: answers take
    /// at most a fiftieth of the time.
    public var samplingInterval: Duration? = .seconds(15)

    /// How many names of jobs the metrics of each queue distinguish; a hundred by default. Jobs
    /// with other names count as `other`.
    public var jobNameLimit = 100

    /// Makes the default options.
    public init() {}
}
#endif
