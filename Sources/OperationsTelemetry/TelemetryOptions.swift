#if Telemetry
/// The settings of a queue's telemetry, except its destinations.
public struct TelemetryOptions: Sendable, Hashable {
    /// For how long a queue may stand still before it is reported as stalled, although operations
    /// are ready: at least a millisecond, and a minute by default. Nil turns these reports off, and
    /// those of single operations.
    ///
    /// Operations that wait for a point in time, a token or a permit are no reason for a report,
    /// nor is a suspended queue. See `OperationQueue.reportStalls(after:_:)`.
    public var stallLimit: Duration? = .seconds(60)

    /// For how long an operation may execute without having been resumed before it is reported by
    /// itself: at least a millisecond, and five minutes by default. Nil turns these reports off.
    ///
    /// Choose a time that no operation of the queue should need. An `async` body counts as new each
    /// time it is resumed.
    public var operationLimit: Duration? = .seconds(300)

    /// How often the gauges that nothing reports by itself are set: the limit of the queue, the age
    /// of its oldest ready operation, and the numbers of worker threads; at least a millisecond,
    /// and five seconds by default. Nil turns these gauges off, and the lateness of timers.
    ///
    /// A scrape or an export finds values that are at most as old as this. One thread of the
    /// process looks at all queues. A look takes O(operations in the queue); a queue with so many
    /// operations that this takes long is looked at less often, for a twentieth of the time at
    /// most.
    public var samplingInterval: Duration? = .seconds(5)

    /// Whether metrics have the dimension `operation.name`: the name that an operation has when it
    /// is added, or else its type; false by default.
    ///
    /// Each name makes some twenty time series, which are kept. So this is for programs whose
    /// operations have names like "resize", and not like "resize 4711.jpg". After
    /// ``operationNameLimit`` names, operations with other names count as `other`.
    public var includesOperationNames = false

    /// How many names of operations the metrics of each queue distinguish; a hundred by default.
    public var operationNameLimit = 100

    /// Makes the default options.
    public init() {}
}
#endif
