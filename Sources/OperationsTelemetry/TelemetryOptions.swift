/// What there is to choose about a queue's telemetry, besides where it goes.
public struct TelemetryOptions: Sendable, Hashable {
    /// How long nothing has to have finished for the queue to be reported as stalled; nil for no such reports. At
    /// least a millisecond; a minute unless set.
    ///
    /// An operation that simply takes longer than this is a stall, too, if nothing else finishes meanwhile. A
    /// suspended queue is meant to stand still. See `OperationQueue.reportStalls(after:_:)`.
    public var stallLimit: Duration? = .seconds(60)

    /// Whether metrics have the dimension `operation`: the name that an operation has when it is added, or else its
    /// type; false unless set.
    ///
    /// Each name makes some twenty time series, which are kept. So this is for programs whose operations have
    /// names like "resize", and not like "resize 4711.jpg". After ``operationNameLimit`` names all others
    /// count as `other`.
    public var namesOperations = false

    /// How many names of operations metrics tell apart, for each queue; a hundred unless set.
    public var operationNameLimit = 100

    /// The defaults.
    public init() {}
}
