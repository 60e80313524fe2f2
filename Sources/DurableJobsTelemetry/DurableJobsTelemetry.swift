// DurableJobsTelemetry: reports durable jobs to swift-metrics, swift-log and
// swift-distributed-tracing.
//
//   JobQueue.reportTelemetry     the call that users make
//            │ installs
//   JobTelemetry                 the observer of a queue object; knows the three backends
//            │
//   JobMetrics  JobLog           reports of the events of workers, and samples of the store
//   AttemptTelemetry             one for each attempt of a job; has its span
//   TraceText                    the trace context as text, which the store keeps with a job
//
// The input is a package interface of DurableJobs (`JobQueueObserver`), which knows nothing of this
// module. This module is empty unless the package's traits `DurableJobs` and `Telemetry` are both
// enabled: the compiler's error for a call names the missing trait.

#if DurableJobs && !Telemetry
public import DurableJobs

extension JobQueue {
    /// Needs the package traits `DurableJobs` and `Telemetry` of swift-operations.
    @available(
        *, unavailable,
        message: "enable the package's trait: .package(url: …, traits: [\"Telemetry\"])"
    )
    public final func reportTelemetry(
        logger: Any? = nil, metrics: Any? = nil, tracer: Any? = nil, options: Any? = nil
    ) {}
}
#endif
