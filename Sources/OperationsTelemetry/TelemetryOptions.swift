#if Telemetry
/// The settings of a queue's telemetry, except its destinations.
public struct TelemetryOptions: Sendable, Hashable {
    /// For how long no operation must have finished before the queue is reported as stalled: at
    /// least a millisecond, and a minute by default. Nil turns these reports off.
    ///
    /// An operation that simply takes longer than this is a stall, too, if no other operation
    /// finishes meanwhile. A suspended queue is expected to stand still. See
    /// `OperationQueue.reportStalls(after:_:)`.
    public var stallLimit: Duration? = .seconds(60)

    /// Whether metrics have the dimension `operation`: the name that an operation has when it is
    /// added, or else its type; false by default.
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
